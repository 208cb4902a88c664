// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <string>

#include "offload/pci/path.h"

namespace pktpit::offload {
namespace {

/// Drivers that leave a device to user space, or only keep others away.
bool is_pass_through(const std::string& driver) {
    return driver.empty() || driver == "vfio-pci" || driver == "pci-stub" || driver == "uio_pci_generic" ||
           driver == "igb_uio";
}

std::string interfaces_text(const PciFunction& function) {
    std::string text;
    for (const std::string& name : function.interfaces)
        text.append(text.empty() ? " (" : ", ").append(name);
    return text.empty() ? "" : text + ")";
}

std::string size_text(uint64_t bytes) {
    if (bytes >= 1 << 20 && bytes % (1 << 20) == 0) return std::to_string(bytes >> 20) + " MiB";
    if (bytes >= 1 << 10 && bytes % (1 << 10) == 0) return std::to_string(bytes >> 10) + " KiB";
    return std::to_string(bytes) + " B";
}

std::string hex_text(uint64_t value) {
    char text[24];
    std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
    return text;
}

void add_bar_findings(Findings& findings, const PciTree& tree, const PciFunction& memory, const PciBar& bar,
                      uint64_t bytes) {
    const std::string where = memory.address.to_string();
    const std::string name = "BAR " + std::to_string(bar.index);
    if (!bar.memory) {
        findings.push_back({"bar_io", Severity::blocker, where, name + " is I/O ports", "a memory BAR", ""});
        return;
    }
    if (bar.bytes < bytes)
        findings.push_back({"bar_small", Severity::blocker, where, name + " has " + size_text(bar.bytes),
                            "at least " + size_text(bytes), "fewer or smaller slots, or another memory"});
    if (bar.start == 0)
        findings.push_back({"bar_unassigned", Severity::blocker, where, name + " has been given no address",
                            "a bus address",
                            "boot with pci=realloc, or allow \"above 4G decoding\" in the BIOS setup"});
    if (!bar.is_64bit)
        findings.push_back({"bar_32bit", Severity::note, where,
                            name + " is 32 bits wide, so it shares the first 4 GiB with all other devices",
                            "64 bits", ""});
    if (!memory.memory_enabled)
        findings.push_back(
            {"memory_disabled", Severity::note, where,
             "does not answer at its BARs yet (memory decoding off)", "on",
             "nothing: pktpitd switches it on; by hand: echo 1 > /sys/bus/pci/devices/" + where + "/enable"});
    for (const PciFunction* bridge : tree.ancestors(memory)) {
        if (!bridge->bridge || bar.start == 0) continue;
        if (bridge->bridge->memory.contains(bar.start, bar.bytes) ||
            bridge->bridge->prefetchable.contains(bar.start, bar.bytes))
            continue;
        findings.push_back({"bar_outside_window", Severity::blocker, bridge->address.to_string(),
                            std::string("its windows do not cover ")
                                .append(name)
                                .append(" of ")
                                .append(where)
                                .append(" at ")
                                .append(hex_text(bar.start))
                                .append(": requests do not reach it"),
                            "a window that does", "boot with pci=realloc"});
    }
}

}  // namespace

Findings examine_nic(const PciFunction& nic) {
    Findings findings;
    const std::string where = nic.address.to_string();
    if (!is_pass_through(nic.driver))
        findings.push_back(
            {"kernel_driver", Severity::note, where,
             "is bound to the kernel's " + nic.driver + interfaces_text(nic), "vfio-pci",
             "nothing: pktpitd takes it over when it starts with it as a port of the vfio dataplane, "
             "and its interface goes away then"});
    if (!nic.bus_master)
        findings.push_back({"bus_master", Severity::note, where,
                            "may send no requests yet (bus mastering off)", "on",
                            "nothing: the router's driver switches it on"});
    return findings;
}

Findings examine_memory(const PciTree& tree, const PciFunction& memory, std::optional<unsigned> bar,
                        uint64_t bytes) {
    Findings findings;
    const std::string where = memory.address.to_string();
    const PciBar* chosen = bar ? memory.bar(*bar) : memory.payload_bar();
    if (!chosen) {
        findings.push_back({"no_bar", Severity::blocker, where,
                            bar ? "has no BAR " + std::to_string(*bar) : "has no memory BAR of 1 MiB or more",
                            "a BAR that payload fits in",
                            "an NVMe needs a controller memory buffer; see the device's BARs with lspci -v"});
    } else {
        add_bar_findings(findings, tree, memory, *chosen, bytes);
    }
    if (is_pass_through(memory.driver)) return findings;
    if (memory.p2pmem)
        findings.push_back({"memory_driver", Severity::note, where,
                            "is bound to the kernel's " + memory.driver + ", which lends out " +
                                size_text(memory.p2pmem->bytes) + " of its memory (p2pmem)",
                            "", "nothing, with \"kind\": \"p2pmem\" in the configuration"});
    else
        findings.push_back({"memory_driver", Severity::hindrance, where,
                            "is bound to the kernel's " + memory.driver +
                                ", which may use the same memory: pktpitd does not take it like this",
                            "no driver",
                            "echo " + where + " > /sys/bus/pci/drivers/" + memory.driver + "/unbind"});
    return findings;
}

Findings examine_groups(const PciTree& tree, const std::vector<PciAddress>& taken) {
    Findings findings;
    std::vector<unsigned> groups;
    for (const PciAddress address : taken) {
        const PciFunction* function = tree.find(address);
        if (function && function->iommu_group) groups.push_back(*function->iommu_group);
    }
    std::sort(groups.begin(), groups.end());
    groups.erase(std::unique(groups.begin(), groups.end()), groups.end());
    for (const unsigned group : groups) {
        for (const PciFunction* member : tree.in_group(group)) {
            // VFIO does not mind bridges: their drivers send no requests of their own.
            const bool ours = std::find(taken.begin(), taken.end(), member->address) != taken.end();
            if (ours || member->is_bridge() || is_pass_through(member->driver)) continue;
            findings.push_back({"group_shared", Severity::blocker, "IOMMU group " + std::to_string(group),
                                "also holds " + member->address.to_string() +
                                    ", which is bound to the kernel's " + member->driver +
                                    interfaces_text(*member) + ": VFIO hands out whole groups only",
                                "nothing else in the group, or unbound",
                                "unbind it, or give it to the router, or put it into another slot"});
        }
    }
    return findings;
}

}  // namespace pktpit::offload
