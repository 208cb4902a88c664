// SPDX-License-Identifier: BSD-3-Clause
/// A machine's PCI functions as sysfs tells them, before anybody has made sense of it: read from the live
/// /sys, or from a recording of another machine's. A recording holds just what was read. Reads nothing but
/// attributes: no device is touched, nothing is written. One thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pktpit::offload {

struct SnapshotFunction {
    /// Below /sys/devices: "pci0000:00/0000:00:01.0/0000:01:00.0". The last word is the address, those before
    /// it are the bridges above.
    std::string path;
    std::string config;  ///< raw configuration space; 64 bytes where not read by root
    /// Attribute → text without the last line's end. Links ("driver", "iommu_group", "physfn") hold the last
    /// word of where they point, folders ("net") the names in them.
    std::map<std::string, std::string> attributes;
    bool operator==(const SnapshotFunction&) const = default;
};

struct PciSnapshot {
    std::string about;  ///< which machine, and how it was recorded
    std::vector<SnapshotFunction> functions;
    bool operator==(const PciSnapshot&) const = default;
};

/// `sysfs`: where sysfs is mounted. A machine without PCI has no functions. Functions that go away while
/// they are read are left out. Errors: `sysfs` is no directory.
Result<PciSnapshot> read_snapshot(const std::string& sysfs = "/sys");

/// A recording's text (JSON). Errors: no JSON, another form, too many functions.
Result<PciSnapshot> parse_snapshot(std::string_view json_text);
std::string to_json_text(const PciSnapshot& snapshot);

}  // namespace pktpit::offload
