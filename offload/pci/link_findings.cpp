// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>

#include "offload/pci/path_findings.h"

namespace pktpit::offload {
namespace {

constexpr uint64_t large_transfer = 4096;

std::string number_text(const char* format, double value) {
    char text[32];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

std::string bytes_text(unsigned bytes) {
    return std::to_string(bytes) + " B";
}

/// What a better setting would gain. Below a hundredth it is not worth anybody's while.
struct Gain {
    double before = 0;  ///< payload bytes a second
    double after = 0;
    [[nodiscard]] bool matters() const { return after > before * 1.01; }
    [[nodiscard]] std::string text() const {
        return number_text("%.3g instead of ", before * 8e-9) + number_text("%.3g Gbit/s", after * 8e-9);
    }
};

std::vector<const PciFunction*> pcie_hops(const PciTree& tree, const PciPath& path) {
    std::vector<const PciFunction*> found;
    for (const PciAddress hop : path.hops) {
        const PciFunction* function = tree.find(hop);
        if (function && function->pcie) found.push_back(function);
    }
    return found;
}

/// A TLP that is larger than a port on its way is set to take is malformed there, a fatal error (PCIe Base
/// 5.0, section 2.2.2).
void add_mismatch(PciPath& path, const PciFunction& sender, const std::vector<const PciFunction*>& hops,
                  const char* tlps) {
    const auto smallest = std::min_element(
        hops.begin(), hops.end(), [](const auto* a, const auto* b) { return a->pcie->mps < b->pcie->mps; });
    if (smallest == hops.end() || (*smallest)->pcie->mps >= sender.pcie->mps) return;
    path.findings.push_back({"mps_mismatch", Severity::blocker, sender.address.to_string(),
                             "sends " + std::string(tlps) + " of up to " + bytes_text(sender.pcie->mps) +
                                 ", but " + (*smallest)->address.to_string() + " on the way takes " +
                                 bytes_text((*smallest)->pcie->mps) + ": larger ones are errors there",
                             "one Max_Payload_Size on the whole way",
                             "boot with pci=pcie_bus_safe (the largest that all can) or "
                             "pci=pcie_bus_peer2peer (128 B everywhere)"});
}

void add_low_mps(const PciTree& tree, PciPath& path, const PciFunction& from, const PciFunction& to,
                 const std::vector<const PciFunction*>& hops) {
    unsigned common = 4096;
    for (const PciFunction* hop : hops)
        common = std::min(common, hop->pcie->mps_supported);
    const unsigned set = std::min(from.pcie->mps, to.pcie->mps);
    if (set >= common) return;
    const auto rate = expected_rate(tree, path);
    const PcieLink link = rate ? rate->narrowest.link : PcieLink{};
    const Gain gain{write_rate(link, set, large_transfer), write_rate(link, common, large_transfer)};
    path.findings.push_back(
        {"mps_low", Severity::hindrance, (from.pcie->mps == set ? from : to).address.to_string(),
         "Max_Payload_Size is " + bytes_text(set) + ", and all on the way can " + bytes_text(common) +
             (rate ? ": writes of " + gain.text() : ""),
         bytes_text(common), "raise it in the BIOS setup, or boot with pci=pcie_bus_safe"});
}

void add_low_mrrs(const PciTree& tree, PciPath& path, const PciFunction& from, const PciFunction& to) {
    constexpr unsigned usual_mrrs = 512;
    if (from.pcie->mrrs >= usual_mrrs) return;
    const auto rate = expected_rate(tree, path);
    if (!rate) return;
    const PcieLink link = rate->narrowest.link;
    const Gain gain{read_rate(link, to.pcie->mps, from.pcie->mrrs, large_transfer),
                    read_rate(link, to.pcie->mps, usual_mrrs, large_transfer)};
    if (!gain.matters()) return;
    path.findings.push_back({"mrrs_low", Severity::hindrance, from.address.to_string(),
                             "Max_Read_Request_Size is " + bytes_text(from.pcie->mrrs) +
                                 ": more requests, and shorter answers, reads of " + gain.text(),
                             bytes_text(usual_mrrs) + " or more",
                             "setpci -s " + from.address.to_string() + " CAP_EXP+8.w=2000:7000"});
}

}  // namespace

void add_link_findings(const PciTree& tree, PciPath& path) {
    for (const PathLink& link : links_of(tree, path)) {
        if (!link.link.known() || !link.possible.known()) continue;
        const bool slow = link.link.gigatransfers < link.possible.gigatransfers;
        const bool narrow = link.link.lanes < link.possible.lanes;
        if (!slow && !narrow) continue;
        const auto text = [](const PcieLink& l) {
            return number_text("%g GT/s x", l.gigatransfers) + std::to_string(l.lanes);
        };
        path.findings.push_back(
            {"link_degraded", Severity::hindrance, link.below.to_string(),
             "its link to " + link.above.to_string() + " runs at " + text(link.link),
             text(link.possible) + ", which both ends can",
             "reseat the card, look at the slot's wiring and the BIOS's link speed limit"});
    }
}

void add_payload_findings(const PciTree& tree, PciPath& path) {
    // Inside one device nothing goes over a link.
    if (path.way == P2pWay::same_device) return;
    const PciFunction* from = tree.find(path.from);
    const PciFunction* to = tree.find(path.to);
    const auto hops = pcie_hops(tree, path);
    if (!from || !to || !from->pcie || !to->pcie) return;
    add_mismatch(path, *from, hops, "writes");
    add_mismatch(path, *to, hops, "completions");
    add_low_mps(tree, path, *from, *to, hops);
    add_low_mrrs(tree, path, *from, *to);
}

}  // namespace pktpit::offload
