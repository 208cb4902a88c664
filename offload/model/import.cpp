// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>

#include "offload/model/topology.h"

namespace pktpit::model {
namespace {

using offload::PcieType;
using offload::PciFunction;
using offload::PciTree;

constexpr unsigned deepest = 16;

std::optional<TopologyDevice> read_function(const PciTree& tree, const PciFunction& function,
                                            const offload::PcieLink& link, double gbps, unsigned depth);

/// What hangs below a root port or a switch's upstream port; a switch is its upstream port and all its
/// downstream ports in one.
void read_below(const PciTree& tree, const PciFunction& bridge, double gbps, unsigned depth,
                std::vector<TopologyDevice>& devices) {
    for (const offload::PciAddress address : bridge.children) {
        const PciFunction* child = tree.find(address);
        if (!child || !child->pcie) continue;
        if (auto device = read_function(tree, *child, child->pcie->link, gbps, depth))
            devices.push_back(std::move(*device));
    }
}

std::optional<TopologyDevice> read_function(const PciTree& tree, const PciFunction& function,
                                            const offload::PcieLink& link, double gbps, unsigned depth) {
    TopologyDevice device;
    device.name = function.address.to_string();
    device.link = link;
    if (!link.known() || link.lanes > 16 || depth > deepest) return {};
    if (function.is_type(PcieType::upstream_port)) {
        device.kind = TopologyDevice::Kind::switch_chip;
        for (const offload::PciAddress address : function.children) {
            const PciFunction* port = tree.find(address);
            if (!port || !port->is_type(PcieType::downstream_port)) continue;
            if (port->acs && port->acs->is_on(offload::AcsCapability::request_redirect))
                device.acs_redirect = port->acs->is_on(offload::AcsCapability::completion_redirect)
                                          ? TopologyDevice::Redirect::all
                                          : TopologyDevice::Redirect::requests;
            read_below(tree, *port, gbps, depth + 1, device.below);
        }
        return device.below.empty() ? std::nullopt : std::optional(device);
    }
    if (function.is_ethernet()) {
        if (function.address.function != 0) return {};  // one link a device
        device.kind = TopologyDevice::Kind::nic;
        offload::PciAddress next = function.address;
        for (device.gbps = {gbps}; next.function < 7 && device.gbps.size() < 8;) {
            next.function++;
            const PciFunction* sibling = tree.find(next);
            if (sibling && sibling->is_ethernet() && !sibling->physical) device.gbps.push_back(gbps);
        }
        return device;
    }
    if (function.is_memory_candidate() && function.payload_bar()) {
        device.kind = TopologyDevice::Kind::memory;
        device.mib = static_cast<unsigned>(std::clamp<uint64_t>(function.payload_bar()->bytes >> 20, 1, 256));
        return device;
    }
    return {};
}

}  // namespace

Result<Topology> import_topology(const offload::PciTree& tree, double gbps) {
    Topology topology;
    topology.name = "imported";
    topology.about = "Made from a machine's PCI tree; line rates are assumed";
    topology.iommu = tree.has_iommu();
    unsigned mps = 0, mrrs = 0;
    for (const PciFunction* function : tree.functions()) {
        if (function->is_type(PcieType::root_port)) read_below(tree, *function, gbps, 0, topology.root_ports);
        if (!function->is_ethernet() || !function->pcie) continue;
        mps = mps ? std::min(mps, function->pcie->mps) : function->pcie->mps;
        mrrs = mrrs ? std::min(mrrs, function->pcie->mrrs) : function->pcie->mrrs;
    }
    if (mps) topology.mps = mps;
    if (mrrs) topology.mrrs = mrrs;
    if (topology.root_ports.empty())
        return fail("", "no NIC and no memory below a PCIe root port whose link is known", "",
                    "capabilities are readable by root only");
    return topology;
}

}  // namespace pktpit::model
