// SPDX-License-Identifier: BSD-3-Clause
/// A PCIe switch: cut-through with a fixed latency, one queue for each pair of ports and class, round robin
/// between the ports that want the same link, ACS redirection by port. A request for nobody goes up. One
/// thread.
#pragma once

#include "offload/model/node.h"

namespace pktpit::model {

class Fabric;

struct SwitchSettings {
    Time latency = 150 * nanosecond;  ///< from first bit in to first bit out
    /// Bit i: requests (completions) that come in by downstream port i + 1 go up even if they are for a peer.
    uint64_t redirect_requests = 0;
    uint64_t redirect_completions = 0;
    /// Translated requests go to peers all the same (ACS Direct Translated P2P, PCIe Base 5.0, 6.12.1).
    bool direct_translated = false;
};

class SwitchChip : public Node {
  public:
    static constexpr size_t most_ports = 62;

    SwitchChip(Fabric& fabric, NodeId id, const std::string& name, size_t downstream_ports,
               const SwitchSettings& settings);

    void arrive(Port& in, Tlp* tlp, Time head, Time tail) override;
    void departed(Port& out, const Tlp& tlp) override;
    void undeliverable(Port& out, Tlp* tlp) override;
    void on_event(uint32_t what, uint64_t argument) override;
    [[nodiscard]] uint64_t unsupported_requests() const { return unsupported_requests_; }

  private:
    [[nodiscard]] int route(uint16_t in, const Tlp& tlp) const;
    void refuse(Tlp* tlp, uint16_t by);

    Fabric& fabric_;
    SwitchSettings settings_;
    uint64_t unsupported_requests_ = 0;
};

}  // namespace pktpit::model
