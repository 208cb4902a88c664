// SPDX-License-Identifier: BSD-3-Clause
/// What `pktpit doctor` finds out, and how it tells it. Pure but for commands_doctor.cpp, which reads the
/// machine; one thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>
#include <vector>

#include "offload/pci/path.h"
#include "offload/pci/path_links.h"
#include "router/cli/commands.h"

namespace pktpit::router::cli {

struct DoctorMemory {
    offload::PciAddress address;
    std::optional<unsigned> bar;  ///< absent: its largest
    uint64_t bytes_needed = 1 << 20;
    bool operator==(const DoctorMemory&) const = default;
};

/// What is asked about.
struct DoctorQuestion {
    std::vector<offload::PciAddress> nics;
    std::vector<DoctorMemory> memories;
    bool whole_machine = false;  ///< nobody named NICs and memories: these are what was found
    bool configured = false;     ///< these are a configuration's ports: the vfio dataplane shall drive them
    offload::Findings findings;  ///< of the configuration itself
};

/// The exit status.
enum class DoctorVerdict : uint8_t { direct = 0, hindered = 1, impossible = 2 };

/// A NIC and the payload memory it writes to and reads from.
struct DoctorPair {
    DoctorMemory memory;
    offload::PciPath path;
    std::optional<offload::PathRate> rate;
    offload::Findings findings;  ///< of the path, of both ends and of the NIC's IOMMU group
    DoctorVerdict verdict = DoctorVerdict::direct;
};

/// Two NICs, whatever memory there is: the worse of both directions.
struct DoctorNeighbours {
    offload::PciAddress one;
    offload::PciAddress other;
    offload::P2pWay way = offload::P2pWay::none;
};

struct DoctorReport {
    DoctorQuestion question;
    std::vector<DoctorPair> pairs;             ///< by memory, then NIC
    std::vector<DoctorNeighbours> neighbours;  ///< every two NICs once
    /// Of all pairs, each once; those that differ in nothing but the place have a list of places.
    offload::Findings findings;
    /// Whole machine only: the memory that suits the NICs best. The verdict is about it.
    std::optional<offload::PciAddress> best_memory;
    DoctorVerdict verdict = DoctorVerdict::direct;
    std::string summary;  ///< one sentence
};

/// All Ethernet NICs, virtual functions left out, and all memories that payload could wait in.
DoctorQuestion whole_machine(const offload::PciTree& tree);
DoctorReport examine(const offload::PciTree& tree, DoctorQuestion question);

/// The part of the tree that the report is about, drawn.
std::string doctor_tree(const offload::PciTree& tree, const DoctorReport& report, const Terminal& terminal);
std::string doctor_text(const offload::PciTree& tree, const DoctorReport& report, const Terminal& terminal);
nlohmann::json doctor_json(const offload::PciTree& tree, const DoctorReport& report);

std::string finding_text(const offload::Finding& finding, const Terminal& terminal);
nlohmann::json findings_json(const offload::Findings& findings);

}  // namespace pktpit::router::cli
