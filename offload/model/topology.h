// SPDX-License-Identifier: BSD-3-Clause
/// A topology: what hangs below which root port, by what links. Read from JSON, whose bytes are not trusted,
/// or made from a machine's PCI tree. Plain values; any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "offload/model/json_document.h"
#include "offload/model/wire_format.h"
#include "offload/pci/tree.h"

namespace pktpit::model {

struct TopologyDevice {
    enum class Kind : uint8_t { switch_chip, nic, memory };
    enum class Redirect : uint8_t { off, requests, all };
    std::string name;
    Kind kind = Kind::nic;
    offload::PcieLink link{8, 8};
    Redirect acs_redirect = Redirect::off;
    double latency_ns = -1;      ///< of a switch; negative: the profile's
    std::vector<double> gbps{};  ///< of a NIC's ports
    unsigned mib = 16;           ///< of a memory
    bool cxl = false;            ///< a memory that speaks CXL.mem
    std::vector<TopologyDevice> below{};
};

struct Topology {
    std::string name;
    std::string about;
    bool iommu = false;
    bool ats = false;  ///< devices ask for translations, keep them, and go straight to peers with them
    bool peer_to_peer = true;
    unsigned mps = 256;
    unsigned mrrs = 512;
    unsigned rcb = 64;
    bool ecrc = false;
    std::optional<offload::Completions> completions;  ///< none: the profile's rule
    DataLink data_link = DataLink::share;
    bool memory_below_4g = false;
    std::vector<TopologyDevice> root_ports;

    static constexpr size_t most_devices = 250;

    /// Errors: read_document()'s; names used twice, NICs without ports, devices below what is no switch, too
    /// many.
    static tl::expected<Topology, Errors> parse(std::string_view json_text);
    /// One that comes with the program ("two-nics"), or a file's path.
    static tl::expected<Topology, Errors> open(const std::string& name_or_path);
    [[nodiscard]] std::string to_json_text() const;
    [[nodiscard]] size_t nics() const;
};

/// A machine's root ports, switches, NICs and payload memories, those whose links are known. Line rates are
/// not in configuration space: `gbps` is what all ports get. Errors: no root port has a NIC or a memory below
/// it.
Result<Topology> import_topology(const offload::PciTree& tree, double gbps);

}  // namespace pktpit::model
