// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/path_links.h"

#include <algorithm>

namespace pktpit::offload {
namespace {

PcieLink slower_of(const PcieLink& a, const PcieLink& b) {
    if (!a.known()) return b;
    if (!b.known()) return a;
    return {std::min(a.gigatransfers, b.gigatransfers), std::min(a.lanes, b.lanes)};
}

bool has_link_below(const PciFunction& function) {
    return function.is_type(PcieType::root_port) || function.is_type(PcieType::downstream_port);
}

}  // namespace

std::vector<PathLink> links_of(const PciTree& tree, const PciPath& path) {
    std::vector<PathLink> links;
    for (size_t i = 1; i < path.hops.size(); i++) {
        const PciFunction* above = tree.find(path.hops[i - 1]);
        const PciFunction* below = tree.find(path.hops[i]);
        if (above && below && above->parent == below->address) std::swap(above, below);
        if (!above || !below || below->parent != above->address || !has_link_below(*above)) continue;
        const PcieCapability& port = *above->pcie;
        const PcieCapability device = below->pcie.value_or(PcieCapability{});
        const PathLink link{above->address, below->address, device.link.known() ? device.link : port.link,
                            slower_of(port.max_link, device.max_link)};
        if (std::find(links.begin(), links.end(), link) == links.end()) links.push_back(link);
    }
    return links;
}

std::optional<PathRate> expected_rate(const PciTree& tree, const PciPath& path, uint64_t bytes,
                                      const PcieAssumptions& assumptions) {
    const PciFunction* from = tree.find(path.from);
    const PciFunction* to = tree.find(path.to);
    if (!from || !to || !from->pcie) return std::nullopt;
    std::optional<PathRate> rate;
    for (const PathLink& link : links_of(tree, path)) {
        if (!link.link.known()) continue;
        PathRate here{.narrowest = link,
                      .write_mps = from->pcie->mps,
                      .read_mps = to->pcie ? to->pcie->mps : PcieCapability{}.mps,
                      .mrrs = from->pcie->mrrs};
        here.write_bytes_per_second = write_rate(link.link, here.write_mps, bytes, assumptions);
        here.read_bytes_per_second = read_rate(link.link, here.read_mps, here.mrrs, bytes, assumptions);
        // Payload sizes are the path's, so the link that is narrowest for writes is so for reads.
        if (!rate || here.write_bytes_per_second < rate->write_bytes_per_second) rate = here;
    }
    return rate;
}

}  // namespace pktpit::offload
