// SPDX-License-Identifier: BSD-3-Clause
/// Whatever has PCIe ports in the fabric model: endpoint, switch, root complex. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "offload/model/port.h"

namespace pktpit::model {

class Node : public Actor {
  public:
    Node(NodeId id, std::string name) : id_(id), name_(std::move(name)) {}
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    /// A TLP whose first bit comes in at `head`, its last at `tail`: both at or after now. It is the node's.
    virtual void arrive(Port& in, Tlp* tlp, Time head, Time tail) = 0;
    /// `out` has begun to send it; whatever room it held here is free.
    virtual void departed(Port& out, const Tlp& tlp) = 0;
    /// `out` is down. The TLP is the node's again, and departed() has been called.
    virtual void undeliverable(Port& out, Tlp* tlp) = 0;
    /// What it advertises to who sends to it; `wanted` by the link's settings.
    [[nodiscard]] virtual CreditLimits advertised(const CreditLimits& wanted) const { return wanted; }

    [[nodiscard]] NodeId id() const { return id_; }
    [[nodiscard]] const std::string& name() const { return name_; }
    [[nodiscard]] Port& port(size_t index) const { return *ports_[index]; }
    [[nodiscard]] size_t ports() const { return ports_.size(); }

  protected:
    Port& add_port(EventQueue& events, size_t sources) {
        ports_.push_back(
            std::make_unique<Port>(events, *this, static_cast<uint16_t>(ports_.size()), sources));
        return *ports_.back();
    }

  private:
    NodeId id_;
    std::string name_;
    std::vector<std::unique_ptr<Port>> ports_;
};

}  // namespace pktpit::model
