// SPDX-License-Identifier: BSD-3-Clause
/// The PCIe links that a path passes, and what they carry. Pure; any thread.
#pragma once

#include <optional>
#include <vector>

#include "offload/pci/bandwidth.h"
#include "offload/pci/path.h"

namespace pktpit::offload {

struct PathLink {
    PciAddress above;   ///< root port or downstream port
    PciAddress below;   ///< what hangs there
    PcieLink link;      ///< as trained
    PcieLink possible;  ///< the best that both ends can
    bool operator==(const PathLink&) const = default;
};

/// Each link once, in the order of the path; links of unknown speed are in it too.
std::vector<PathLink> links_of(const PciTree& tree, const PciPath& path);

/// What to expect of payload, at most: the path's narrowest link.
struct PathRate {
    double write_bytes_per_second = 0;  ///< `from` writes
    double read_bytes_per_second = 0;   ///< `from` reads
    PathLink narrowest;
    unsigned write_mps = 0;  ///< largest payload of a write: `from`'s setting, bytes
    unsigned read_mps = 0;   ///< of a completion: `to`'s; 128 where it tells none
    unsigned mrrs = 0;       ///< `from`'s
    bool operator==(const PathRate&) const = default;
};

/// For transfers of `bytes` of payload each. Nothing where no link's speed is known: conventional PCI,
/// integrated devices, not read by root.
std::optional<PathRate> expected_rate(const PciTree& tree, const PciPath& path, uint64_t bytes = 4096,
                                      const PcieAssumptions& assumptions = {});

}  // namespace pktpit::offload
