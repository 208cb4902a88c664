// SPDX-License-Identifier: BSD-3-Clause
// A machine's PCI tree put together by hand: functions with configuration spaces as hardware has them, turned
// into a snapshot. For topologies that no emulator has, above all switches with ACS.
#pragma once

#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "offload/pci/path.h"

namespace pktpit::offload::test {

inline PciAddress at(const std::string& text) {
    return PciAddress::parse(text).value();
}

/// A configuration space, written a register at a time.
class ConfigBytes {
  public:
    explicit ConfigBytes(size_t size = 4096) : bytes_(size, '\0') {}

    ConfigBytes& set(size_t offset, uint64_t value, size_t width) {
        for (size_t i = 0; i < width; i++)
            bytes_.at(offset + i) = static_cast<char>(value >> 8 * i);
        return *this;
    }
    ConfigBytes& command(uint16_t value) { return set(0x04, value, 2); }
    /// A capability at `offset`, before those that are there.
    ConfigBytes& capability(size_t offset, uint8_t id) {
        const auto next = static_cast<uint8_t>(bytes_[0x34]);
        return set(0x06, 0x10, 2).set(0x34, offset, 1).set(offset, id | next << 8, 2);
    }
    /// The next extended capability, at 0x100, 0x180, …
    size_t extended(uint16_t id) {
        const size_t offset = 0x100 + 0x80 * extended_++;
        if (offset > 0x100) set(offset - 0x80 + 2, 1 | offset << 4, 2);
        set(offset, id, 2).set(offset + 2, 1, 2);
        return offset;
    }
    ConfigBytes& acs(uint16_t supported, uint16_t enabled, uint32_t vector = 0) {
        const size_t offset = extended(0x000d);
        return set(offset + 4, supported, 2).set(offset + 6, enabled, 2).set(offset + 8, vector, 4);
    }
    ConfigBytes& ats(bool on) {
        const size_t offset = extended(0x000f);
        return set(offset + 6, on ? 0x8000 : 0, 2);
    }
    [[nodiscard]] const std::string& bytes() const { return bytes_; }

  private:
    std::string bytes_;
    size_t extended_ = 0;
};

/// What of a function matters to paths. Defaults: Gen3 x16, 256 of 512 B payload, everything on.
struct Part {
    PcieType type = PcieType::endpoint;
    unsigned speed = 3, lanes = 16, max_speed = 3, max_lanes = 16;
    unsigned mps = 1, mps_supported = 1, mrrs = 2;  ///< codes: 128 << code
    unsigned port = 0;
    bool pcie = true, bus_master = true, memory_on = true;
    std::optional<uint16_t> acs = std::nullopt;  ///< enabled bits
    uint32_t egress_vector = 0;
    std::optional<bool> ats = std::nullopt;
    std::string driver = {}, group = "1", class_code = "0x020000", net = {};
    uint64_t bar = 0;  ///< size of a 64-bit prefetchable BAR 2; 0: none
    uint64_t bar_at = 0x4000000000;
    std::string bar_flags = "0x000000000014220c";
    uint64_t window_base = 0x4000000000, window_limit = 0x4fffffffff;
};

inline std::string hex(uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%016llx", static_cast<unsigned long long>(value));
    return text;
}

inline bool is_port(PcieType type) {
    return type == PcieType::root_port || type == PcieType::upstream_port ||
           type == PcieType::downstream_port || type == PcieType::pcie_to_pci;
}

inline SnapshotFunction function(const std::string& path, const Part& part) {
    ConfigBytes config(part.pcie ? 4096 : 256);
    config.command(static_cast<uint16_t>((part.memory_on ? 2 : 0) | (part.bus_master ? 4 : 0)));
    if (is_port(part.type)) {
        const uint64_t base = part.window_base >> 16 & 0xfff0;
        const uint64_t limit = part.window_limit >> 16 & 0xfff0;
        config.set(0x0e, 1, 1).set(0x20, 0x0000fff0, 4).set(0x24, base | 1 | (limit | 1) << 16, 4);
        config.set(0x28, part.window_base >> 32, 4).set(0x2c, part.window_limit >> 32, 4);
    }
    if (part.pcie) {
        config.capability(0x60, 0x10).set(0x62, 2 | static_cast<unsigned>(part.type) << 4, 2);
        config.set(0x64, part.mps_supported, 4).set(0x68, part.mps << 5 | part.mrrs << 12, 2);
        config.set(0x6c, part.max_speed | part.max_lanes << 4 | part.port << 24, 4);
        config.set(0x72, part.speed | part.lanes << 4, 2);
    }
    if (part.acs) config.acs(0x7f, *part.acs, part.egress_vector);
    if (part.ats) config.ats(*part.ats);
    SnapshotFunction made{path, config.bytes(), {}};
    made.attributes = {{"vendor", "0x8086"}, {"device", "0x10d3"}};
    made.attributes["class"] = is_port(part.type) ? "0x060400" : part.class_code;
    if (!part.driver.empty()) made.attributes["driver"] = part.driver;
    if (!part.group.empty()) made.attributes["iommu_group"] = part.group;
    if (!part.net.empty()) made.attributes["net"] = part.net;
    if (part.bar)
        made.attributes["resource"] = hex(0) + " " + hex(0) + " " + hex(0) + "\n" + hex(0) + " " + hex(0) +
                                      " " + hex(0) + "\n" + hex(part.bar_at) + " " +
                                      hex(part.bar_at + part.bar - 1) + " " + part.bar_flags;
    return made;
}

/// A root port, a switch with two downstream ports, a NIC and a memory; each may be changed before tree().
struct SwitchMachine {
    const PciAddress nic_at = at("0000:04:00.0");
    const PciAddress memory_at = at("0000:05:00.0");

    Part root{.type = PcieType::root_port};
    Part upstream{.type = PcieType::upstream_port};
    Part nic_port{.type = PcieType::downstream_port, .port = 1};
    Part memory_port{.type = PcieType::downstream_port, .port = 2};
    Part nic;
    Part memory{.class_code = "0x050000", .bar = 64 << 20};

    /// On the root bus, beside: vendor, device, class.
    std::vector<std::array<std::string, 3>> beside;

    [[nodiscard]] PciTree tree() const { return PciTree(snapshot()); }
    [[nodiscard]] PciSnapshot snapshot() const {
        const std::string top = "pci0000:00/0000:01:00.0";
        const std::string up = top + "/0000:02:00.0";
        PciSnapshot made{
            "",
            {function(top, root), function(up, upstream), function(up + "/0000:03:00.0", nic_port),
             function(up + "/0000:03:01.0", memory_port), function(up + "/0000:03:00.0/0000:04:00.0", nic),
             function(up + "/0000:03:01.0/0000:05:00.0", memory)}};
        for (const auto& [vendor, device, class_code] : beside) {
            auto one = function("pci0000:00/0000:00:0" + std::to_string(made.functions.size()) + ".0",
                                {.group = ""});
            one.attributes["vendor"] = vendor;
            one.attributes["device"] = device;
            one.attributes["class"] = class_code;
            made.functions.push_back(std::move(one));
        }
        return made;
    }
};

inline const Finding* find(const Findings& findings, std::string_view code) {
    for (const Finding& finding : findings)
        if (finding.code == code) return &finding;
    return nullptr;
}

}  // namespace pktpit::offload::test
