// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/path.h"

#include <algorithm>

#include "offload/pci/path_findings.h"

namespace pktpit::offload {
namespace {

using Chain = std::vector<const PciFunction*>;

Chain chain_of(const PciTree& tree, const PciFunction& function) {
    Chain chain = tree.ancestors(function);
    chain.insert(chain.begin(), &function);
    return chain;
}

bool is_one_device(const PciFunction& a, const PciFunction& b) {
    const PciAddress x = a.physical.value_or(a.address);
    const PciAddress y = b.physical.value_or(b.address);
    if (x.domain == y.domain && x.bus == y.bus && x.device == y.device) return true;
    // A root port or a downstream port has one device below it; with ARI its functions have any number.
    return false;
}

/// What a function's ACS does with a request to the peer of this port number (PCIe Base 5.0, section 6.12.3,
/// interaction of request redirect, egress control and direct translated P2P).
enum class Treatment : uint8_t { direct, redirected, blocked };
Treatment treatment(const std::optional<AcsCapability>& acs, unsigned target_port, bool translated) {
    if (!acs) return Treatment::direct;
    const bool redirects = acs->is_on(AcsCapability::request_redirect);
    if (acs->is_on(AcsCapability::egress_control)) {
        const bool listed = target_port >= 32 || (acs->egress_vector >> target_port & 1);
        if (!listed) return Treatment::direct;
        if (!redirects) return Treatment::blocked;
    }
    if (!redirects) return Treatment::direct;
    return translated && acs->is_on(AcsCapability::direct_translated) ? Treatment::direct
                                                                      : Treatment::redirected;
}

struct Ends {
    const PciFunction& from;
    const PciFunction& to;
    Chain up;              ///< from `from` to its root
    Chain down;            ///< from `to` to its root
    size_t up_turn = 0;    ///< index of the common bridge in `up`; up.size(): none
    size_t down_turn = 0;  ///< the same in `down`
    [[nodiscard]] const PciFunction* turn() const { return up_turn < up.size() ? up[up_turn] : nullptr; }
    /// The last functions before the turn.
    [[nodiscard]] const PciFunction& below_from() const { return *up[up_turn > 0 ? up_turn - 1 : 0]; }
    [[nodiscard]] const PciFunction& below_to() const { return *down[down_turn > 0 ? down_turn - 1 : 0]; }
};

Ends ends_of(const PciTree& tree, const PciFunction& from, const PciFunction& to) {
    Ends ends{from, to, chain_of(tree, from), chain_of(tree, to)};
    ends.up_turn = ends.up.size();
    ends.down_turn = ends.down.size();
    for (size_t i = 0; i < ends.up.size(); i++) {
        const auto found = std::find(ends.down.begin(), ends.down.end(), ends.up[i]);
        if (found == ends.down.end()) continue;
        ends.up_turn = i;
        ends.down_turn = static_cast<size_t>(found - ends.down.begin());
        break;
    }
    return ends;
}

/// As if no ACS were there.
P2pWay way_by_place(const Ends& ends) {
    if (is_one_device(ends.from, ends.to)) return P2pWay::same_device;
    const PciFunction* turn = ends.turn();
    if (!turn)
        return ends.from.host_bridge == ends.to.host_bridge ? P2pWay::root_complex : P2pWay::host_bridges;
    const bool port_with_one_device =
        turn->is_type(PcieType::root_port) || turn->is_type(PcieType::downstream_port);
    if (port_with_one_device) {
        // One device hangs below a port. Its functions are numbered freely with ARI (section 6.13), so two
        // endpoints there are one device; but a request between two switches there leaves both.
        const bool endpoints = ends.up_turn == 1 && ends.down_turn == 1;
        return endpoints ? P2pWay::same_device : P2pWay::root_port;
    }
    if (turn->is_type(PcieType::upstream_port)) return P2pWay::same_switch;
    return P2pWay::same_bus;
}

void add_hops(PciPath& path, const Ends& ends, bool to_the_root) {
    const size_t up_end = to_the_root ? ends.up.size() : std::min(ends.up_turn + 1, ends.up.size());
    for (size_t i = 0; i < up_end; i++)
        path.hops.push_back(ends.up[i]->address);
    size_t down = to_the_root ? ends.down.size() : ends.down_turn;
    const bool root_shared = to_the_root && ends.turn() && down > 0;
    if (root_shared) down--;
    while (down-- > 0)
        path.hops.push_back(ends.down[down]->address);
}

std::string redirect_text(const PciPath& path, const PciFunction& port) {
    return port.address.to_string() + " redirects requests to peers (ACS): up to " +
           (path.turn ? "root port " + path.turn->to_string() : "the root complex") + " and down again";
}

std::string way_text(const PciPath& path, const Ends& ends, bool mapped) {
    const std::string turn = path.turn ? path.turn->to_string() : "";
    const std::string unmapped = "; without an IOMMU that maps it this is not assumed to work";
    switch (path.way) {
        case P2pWay::same_device:
            return "both are functions of one device";
        case P2pWay::same_switch:
            return "both hang below the switch at " + turn + ", and no port on the way redirects requests";
        case P2pWay::same_bus:
            return "both are on the conventional PCI bus below " + turn;
        case P2pWay::root_port:
            return (path.redirected ? redirect_text(path, ends.below_from())
                                    : "up to root port " + turn + ", above both, and down again") +
                   (mapped ? "" : unmapped);
        case P2pWay::root_complex:
            return (path.redirected
                        ? redirect_text(path, ends.below_from())
                        : "through the root complex, under one host bridge (" + ends.from.host_bridge + ")") +
                   (mapped ? "; no register says whether it passes requests between its ports" : unmapped);
        case P2pWay::host_bridges:
            return "under different host bridges (" + ends.from.host_bridge + ", " + ends.to.host_bridge +
                   "): requests between them are not assumed to pass";
        case P2pWay::none:
            break;
    }
    return "no way";
}

}  // namespace

std::string_view to_string(P2pWay way) {
    switch (way) {
        case P2pWay::none:
            return "none";
        case P2pWay::host_bridges:
            return "between host bridges";
        case P2pWay::root_complex:
            return "root complex";
        case P2pWay::root_port:
            return "root port";
        case P2pWay::same_bus:
            return "same bus";
        case P2pWay::same_switch:
            return "same switch";
        case P2pWay::same_device:
            return "same device";
    }
    return "unknown";
}

PciPath find_path(const PciTree& tree, PciAddress from, PciAddress to) {
    PciPath path;
    path.from = from;
    path.to = to;
    const PciFunction* a = tree.find(from);
    const PciFunction* b = tree.find(to);
    for (const auto& [function, address] : {std::pair(a, from), std::pair(b, to)}) {
        if (function) continue;
        if (path.why.empty()) path.why = "there is no " + address.to_string();
        path.findings.push_back({"absent", Severity::blocker, address.to_string(), "there is no such device",
                                 "a PCI address of this machine", "lspci -D lists them"});
    }
    if (!a || !b) return path;

    const Ends ends = ends_of(tree, *a, *b);
    path.way = way_by_place(ends);
    const bool turns_early = path.way >= P2pWay::same_switch;
    const PciFunction& gate = path.way == P2pWay::same_device ? *a : ends.below_from();
    const bool alone = from == to;
    const Treatment treated = turns_early && !alone
                                  ? treatment(gate.acs,
                                              path.way == P2pWay::same_device ? b->address.function
                                              : ends.below_to().pcie ? ends.below_to().pcie->port_number
                                                                     : 0,
                                              a->ats && a->ats->enabled)
                                  : Treatment::direct;
    if (treated == Treatment::redirected) {
        path.redirected = true;
        path.way = ends.up.back()->is_type(PcieType::root_port) ? P2pWay::root_port : P2pWay::root_complex;
        if (path.way == P2pWay::root_port) path.turn = ends.up.back()->address;
    } else if (const PciFunction* turn = ends.turn(); turn && path.way != P2pWay::same_device) {
        path.turn = turn->address;
    }
    if (path.way == P2pWay::same_device)
        path.hops = alone ? std::vector{from} : std::vector{from, to};
    else
        add_hops(path, ends, path.redirected);

    const bool mapped = a->iommu_group.has_value();
    const bool through_root = path.way == P2pWay::root_port || path.way == P2pWay::root_complex;
    path.possible = path.direct() || (through_root && mapped);
    path.why = way_text(path, ends, mapped);
    if (treated == Treatment::blocked) {
        path.possible = false;
        path.why = gate.address.to_string() + " blocks requests to this peer (ACS egress control)";
    }
    add_way_findings(path, gate, ends.below_to(), treated == Treatment::blocked);
    add_iommu_findings(tree, path, *a);
    add_bridge_findings(tree, path);
    add_link_findings(tree, path);
    add_payload_findings(tree, path);
    if (any_of(path.findings, Severity::blocker)) path.possible = false;
    return path;
}

P2pVerdict p2p_verdict(const PciTree& tree, PciAddress nic, PciAddress memory, unsigned bar) {
    PciPath path = find_path(tree, nic, memory);
    if (const PciFunction* function = tree.find(memory)) {
        Findings more = examine_memory(tree, *function, bar);
        path.findings.insert(path.findings.end(), more.begin(), more.end());
    }
    P2pVerdict verdict{path.way, path.possible, path.direct(), path.why};
    const auto blocker = std::find_if(path.findings.begin(), path.findings.end(), [](const Finding& finding) {
        return finding.severity == Severity::blocker;
    });
    if (blocker != path.findings.end()) {
        verdict.possible = false;
        if (path.possible || path.way != P2pWay::none) verdict.why = blocker->where + ": " + blocker->what;
    }
    return verdict;
}

}  // namespace pktpit::offload
