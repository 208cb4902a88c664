// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/path_findings.h"

#include <algorithm>

namespace pktpit::offload {
namespace {

bool hangs_at_port(const PciTree& tree, const PciFunction& function) {
    const PciFunction* parent = function.parent ? tree.find(*function.parent) : nullptr;
    return parent && (parent->is_type(PcieType::root_port) || parent->is_type(PcieType::downstream_port));
}

}  // namespace

void add_way_findings(PciPath& path, const PciFunction& gate, const PciFunction& far_gate, bool blocked) {
    const std::string port = gate.address.to_string();
    const std::string unredirect =
        "switch ACS off in the BIOS setup, or boot with pci=disable_acs_redir=" + port +
        "; devices below that switch are then no longer isolated from each other";
    if (blocked)
        path.findings.push_back({"acs_egress_control", Severity::blocker, port,
                                 "ACS egress control blocks requests to this peer", "egress control off",
                                 unredirect});
    if (path.redirected)
        path.findings.push_back({"acs_redirect", Severity::hindrance, port,
                                 "ACS redirects requests to peers up to the root (RR on)", "RR off",
                                 unredirect});
    // Answers come the other way; only a switch has a say in them.
    if (path.way == P2pWay::same_switch && far_gate.acs &&
        far_gate.acs->is_on(AcsCapability::completion_redirect))
        path.findings.push_back(
            {"acs_completion_redirect", Severity::hindrance, far_gate.address.to_string(),
             "ACS redirects completions up to the root (CR on): reads take the long way back", "CR off",
             "boot with pci=disable_acs_redir=" + far_gate.address.to_string()});
    if (path.way == P2pWay::root_complex || path.way == P2pWay::root_port) {
        if (!path.redirected)
            path.findings.push_back({"not_in_switch", Severity::hindrance, path.to.to_string(),
                                     "shares no PCIe switch with " + path.from.to_string() +
                                         ": P2P goes through the root complex, which passes it on slowly or "
                                         "not at all",
                                     "both below one PCIe switch", "move the card, or use another memory"});
    } else if (path.way == P2pWay::host_bridges) {
        path.findings.push_back({"host_bridges", Severity::blocker, path.to.to_string(),
                                 "is under another host bridge than " + path.from.to_string(),
                                 "both below one PCIe switch",
                                 "move the card to a slot of the same processor, best of the same switch"});
    }
}

namespace {

bool is_virtio_iommu(const PciFunction& function) {
    return function.vendor == 0x1af4 && function.device == 0x1057;  // Virtio 1.2, 4.1.2.1 and 5.16
}

bool has_virtio_iommu(const PciTree& tree) {
    return std::ranges::any_of(tree.functions(),
                               [](const auto* function) { return is_virtio_iommu(*function); });
}

// AMD's is a PCI function of class 08, subclass 06; Intel's is none, but its host bridge says whose machine
// it is.
std::string how_to_have_an_iommu(const PciTree& tree) {
    constexpr uint16_t amd = 0x1022, intel = 0x8086;
    constexpr uint32_t iommu = 0x0806, host_bridge = 0x0600;
    if (has_virtio_iommu(tree)) return "load the driver of the machine's virtio-iommu: modprobe virtio_iommu";
    bool by_amd = false, by_intel = false;
    for (const PciFunction* function : tree.functions()) {
        by_amd |= function->vendor == amd &&
                  (function->class_code >> 8 == iommu || function->class_code >> 8 == host_bridge);
        by_intel |= function->vendor == intel && function->class_code >> 8 == host_bridge;
    }
    // An emulated machine may have AMD's IOMMU and an Intel host bridge.
    if (by_amd)
        return "switch AMD-Vi (IOMMU) on in the BIOS setup; the kernel then uses it, unless amd_iommu=off is "
               "on its "
               "command line";
    if (by_intel) return "switch VT-d on in the BIOS setup, and boot with intel_iommu=on";
    return "switch VT-d or AMD-Vi on in the BIOS setup, and boot with intel_iommu=on (Intel)";
}

}  // namespace

void add_iommu_findings(const PciTree& tree, PciPath& path, const PciFunction& from) {
    if (!from.iommu_group) {
        path.findings.push_back({"no_iommu", Severity::blocker, from.address.to_string(),
                                 "has no IOMMU group: VFIO cannot hand it to the router",
                                 "an IOMMU that is on", how_to_have_an_iommu(tree)});
        return;
    }
    if (has_virtio_iommu(tree))
        path.findings.push_back(
            {"no_interrupt_remapping", Severity::hindrance, from.address.to_string(),
             "is behind a virtio-iommu, which remaps no interrupts: VFIO refuses the device by default",
             "an IOMMU that remaps interrupts",
             "modprobe vfio_iommu_type1 allow_unsafe_interrupts=1, where every device is trusted not to "
             "forge "
             "interrupts"});
    if (!path.direct() || path.way == P2pWay::same_device) return;
    if (from.ats && from.ats->enabled)
        path.findings.push_back({"ats", Severity::note, from.address.to_string(),
                                 "translates addresses itself (ATS on) and may send translated requests", "",
                                 ""});
    else
        path.findings.push_back({"identity_iova", Severity::note, path.to.to_string(),
                                 "what lies below the root routes by the address that the NIC sends, before "
                                 "the IOMMU sees it: the "
                                 "memory's IOVA must be its bus address",
                                 "identity IOVA", "nothing: Pktpit maps it so by default"});
}

void add_bridge_findings(const PciTree& tree, PciPath& path) {
    for (const PciAddress hop : path.hops) {
        const PciFunction* function = tree.find(hop);
        if (!function) continue;
        const std::string where = hop.to_string();
        if (!function->config_complete) {
            path.findings.push_back(
                {"config_unreadable", Severity::hindrance, where,
                 "only the header of its configuration space can be read: ACS and payload "
                 "sizes are unknown",
                 "4096 bytes", "run as root"});
        } else if (!function->pcie && hangs_at_port(tree, *function)) {
            path.findings.push_back(
                {"no_pcie_capability", Severity::note, where,
                 "is in a PCIe slot without a PCIe capability, as emulated devices are: its "
                 "payload size is taken for 128 B",
                 "", ""});
        } else if (!function->pcie || function->is_type(PcieType::pcie_to_pci)) {
            path.findings.push_back({"conventional_pci", Severity::hindrance, where,
                                     "conventional PCI: one request at a time on a shared bus, no ACS, one "
                                     "IOMMU identity for all behind the bridge",
                                     "PCI Express", "use a PCIe card in a PCIe slot"});
        }
        if (function->is_bridge() && !function->bus_master)
            path.findings.push_back({"bridge_bus_master", Severity::note, where,
                                     "the bridge passes no requests up yet (bus mastering off)", "on",
                                     "nothing: opening a device below it switches it on"});
    }
}

}  // namespace pktpit::offload
