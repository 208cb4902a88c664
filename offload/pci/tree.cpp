// SPDX-License-Identifier: BSD-3-Clause
#include "offload/pci/tree.h"

#include <algorithm>
#include <set>

namespace pktpit::offload {

PciTree::PciTree(const PciSnapshot& snapshot) {
    for (const SnapshotFunction& item : snapshot.functions) {
        auto function = PciFunction::from(item);
        if (!function || !functions_.emplace(function->address, std::move(*function)).second) left_out_++;
    }
    for (auto& [address, function] : functions_) {
        if (!function.parent) continue;
        const PciFunction* parent = find(*function.parent);
        if (!parent || parent->host_bridge != function.host_bridge) function.parent.reset();
    }
    cut_loops();
    for (const auto& [address, function] : functions_)
        if (function.parent) functions_.at(*function.parent).children.push_back(address);
}

Result<PciTree> PciTree::live(const std::string& sysfs) {
    const auto snapshot = read_snapshot(sysfs);
    if (!snapshot) return tl::unexpected(snapshot.error());
    return PciTree(*snapshot);
}

/// A path may say that A hangs below B, and another that B hangs below A.
void PciTree::cut_loops() {
    std::set<PciAddress> reach_root;
    for (auto& [address, function] : functions_) {
        std::vector<PciFunction*> way;
        std::set<PciAddress> seen;
        for (PciFunction* at = &function;;) {
            way.push_back(at);
            seen.insert(at->address);
            if (!at->parent || reach_root.contains(*at->parent)) break;
            if (seen.contains(*at->parent)) {
                at->parent.reset();
                break;
            }
            at = &functions_.at(*at->parent);
        }
        for (const PciFunction* at : way)
            reach_root.insert(at->address);
    }
}

const PciFunction* PciTree::find(PciAddress address) const {
    const auto found = functions_.find(address);
    return found == functions_.end() ? nullptr : &found->second;
}

std::vector<const PciFunction*> PciTree::ancestors(const PciFunction& function) const {
    std::vector<const PciFunction*> above;
    for (auto parent = function.parent; parent;) {
        const PciFunction* bridge = find(*parent);
        if (!bridge) break;
        above.push_back(bridge);
        parent = bridge->parent;
    }
    return above;
}

std::vector<const PciFunction*> PciTree::functions() const {
    std::vector<const PciFunction*> all;
    for (const auto& [address, function] : functions_)
        all.push_back(&function);
    return all;
}

std::vector<const PciFunction*> PciTree::on_root_bus(const std::string& host_bridge) const {
    std::vector<const PciFunction*> found;
    for (const auto& [address, function] : functions_)
        if (!function.parent && function.host_bridge == host_bridge) found.push_back(&function);
    return found;
}

std::vector<std::string> PciTree::host_bridges() const {
    std::set<std::string> names;
    for (const auto& [address, function] : functions_)
        names.insert(function.host_bridge);
    return {names.begin(), names.end()};
}

std::vector<const PciFunction*> PciTree::in_group(unsigned iommu_group) const {
    std::vector<const PciFunction*> found;
    for (const auto& [address, function] : functions_)
        if (function.iommu_group == iommu_group) found.push_back(&function);
    return found;
}

bool PciTree::has_iommu() const {
    return std::any_of(functions_.begin(), functions_.end(),
                       [](const auto& entry) { return entry.second.iommu_group.has_value(); });
}

}  // namespace pktpit::offload
