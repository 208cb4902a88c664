// SPDX-License-Identifier: BSD-3-Clause
/// The modelled PCIe fabric: a root complex, switches, endpoints and the links between them, with everything
/// they share: events, TLPs, the address map, routes. Built once, then run; one thread, and nothing in it
/// asks a real clock or device. Whoever builds it passes only what topology.h has checked: wrong indices are
/// bugs.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "offload/model/endpoint.h"
#include "offload/model/event_queue.h"
#include "offload/model/root_complex.h"
#include "offload/model/switch_chip.h"

namespace pktpit::model {

class Fabric {
  public:
    Fabric() = default;
    Fabric(const Fabric&) = delete;
    Fabric& operator=(const Fabric&) = delete;

    /// First, and once.
    RootComplex& add_root(const std::string& name, size_t ports, const RootSettings& settings);
    /// Port 0 is the upstream port.
    SwitchChip& add_switch(const std::string& name, size_t downstream_ports, const SwitchSettings& settings);
    Endpoint& add_endpoint(const std::string& name, const EndpointSettings& settings);
    /// `down`'s port 0 below `up`'s port `index`.
    void connect(Node& up, size_t index, Node& down, const LinkSettings& settings);
    /// After all of them: addresses and routes.
    void finish();

    [[nodiscard]] EventQueue& events() { return events_; }
    [[nodiscard]] TlpPool& tlps() { return tlps_; }
    [[nodiscard]] RootComplex& root() { return *root_; }
    [[nodiscard]] NodeId root_id() const { return 0; }
    [[nodiscard]] Node& node(NodeId id) { return *nodes_[id]; }
    [[nodiscard]] size_t nodes() const { return nodes_.size(); }
    [[nodiscard]] Node* find(const std::string& name);

    /// Whose address it is, all `bytes` of it; no_node: nobody's.
    [[nodiscard]] NodeId owner_of(uint64_t address, uint64_t bytes) const;
    /// The port of `at` that leads to `target`; -1: none (it is `at` itself, or not there).
    [[nodiscard]] int port_to(NodeId at, NodeId target) const {
        return target < nodes_.size() ? routes_[at * nodes_.size() + target] : -1;
    }
    void trace(Tracer* tracer);
    [[nodiscard]] Tracer* tracer() const { return tracer_; }
    void clear_counters();

  private:
    struct Range {
        uint64_t first;
        uint64_t bytes;
        NodeId node;
    };
    EventQueue events_;
    TlpPool tlps_;
    std::vector<std::unique_ptr<Node>> nodes_;
    std::vector<NodeId> parents_;
    std::vector<uint16_t> parent_ports_;
    std::vector<Endpoint*> endpoints_;
    RootComplex* root_ = nullptr;
    std::vector<int16_t> routes_;
    std::vector<Range> ranges_;
    Tracer* tracer_ = nullptr;
};

}  // namespace pktpit::model
