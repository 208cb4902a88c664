// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/fabric.h"

#include <algorithm>

#include "offload/model/tracer.h"

namespace pktpit::model {

RootComplex& Fabric::add_root(const std::string& name, size_t ports, const RootSettings& settings) {
    auto node =
        std::make_unique<RootComplex>(*this, static_cast<NodeId>(nodes_.size()), name, ports, settings);
    root_ = node.get();
    nodes_.push_back(std::move(node));
    parents_.push_back(no_node);
    parent_ports_.push_back(0);
    return *root_;
}

SwitchChip& Fabric::add_switch(const std::string& name, size_t downstream_ports,
                               const SwitchSettings& settings) {
    auto node = std::make_unique<SwitchChip>(*this, static_cast<NodeId>(nodes_.size()), name,
                                             downstream_ports, settings);
    SwitchChip& made = *node;
    nodes_.push_back(std::move(node));
    parents_.push_back(no_node);
    parent_ports_.push_back(0);
    return made;
}

Endpoint& Fabric::add_endpoint(const std::string& name, const EndpointSettings& settings) {
    auto node = std::make_unique<Endpoint>(*this, static_cast<NodeId>(nodes_.size()), name, settings);
    Endpoint& made = *node;
    nodes_.push_back(std::move(node));
    parents_.push_back(no_node);
    parent_ports_.push_back(0);
    endpoints_.push_back(&made);
    return made;
}

void Fabric::connect(Node& up, size_t index, Node& down, const LinkSettings& settings) {
    up.port(index).connect(down.port(0), settings, down.advertised(settings.credits));
    down.port(0).connect(up.port(index), settings, up.advertised(settings.credits));
    parents_[down.id()] = up.id();
    parent_ports_[down.id()] = static_cast<uint16_t>(index);
}

void Fabric::finish() {
    const size_t count = nodes_.size();
    routes_.assign(count * count, -1);
    for (NodeId target = 0; target < count; target++) {
        // From everywhere upwards, but down from whatever is above the target.
        for (NodeId at = 1; at < count; at++)
            if (at != target) routes_[at * count + target] = 0;
        for (NodeId below = target; parents_[below] != no_node; below = parents_[below])
            routes_[parents_[below] * count + target] = static_cast<int16_t>(parent_ports_[below]);
    }
    ranges_.clear();
    const MainMemory& memory = root_->memory();
    ranges_.push_back({memory.settings().base, memory.settings().bytes, root_->id()});
    for (const Endpoint* endpoint : endpoints_)
        if (endpoint->settings().bar_bytes > 0)
            ranges_.push_back({endpoint->settings().bar, endpoint->settings().bar_bytes, endpoint->id()});
    std::ranges::sort(ranges_, {}, &Range::first);
}

NodeId Fabric::owner_of(uint64_t address, uint64_t bytes) const {
    const auto next = std::ranges::upper_bound(ranges_, address, {}, &Range::first);
    if (next == ranges_.begin()) return no_node;
    const Range& range = *std::prev(next);
    const uint64_t offset = address - range.first;
    return offset < range.bytes && bytes <= range.bytes - offset ? range.node : no_node;
}

Node* Fabric::find(const std::string& name) {
    for (const auto& node : nodes_)
        if (node->name() == name) return node.get();
    return nullptr;
}

void Fabric::trace(Tracer* tracer) {
    tracer_ = tracer;
    for (const auto& node : nodes_)
        for (size_t i = 0; i < node->ports(); i++)
            node->port(i).trace(tracer);
}

void Fabric::clear_counters() {
    if (root_) root_->memory().clear_counters();
    for (const auto& node : nodes_)
        for (size_t i = 0; i < node->ports(); i++)
            node->port(i).clear_counters();
}

}  // namespace pktpit::model
