// SPDX-License-Identifier: BSD-3-Clause
/// A device on the fabric: memory behind one BAR that others write and read, and a DMA engine. What it does
/// with what it is told is its Device's: a NIC, or a test. One thread.
#pragma once

#include "offload/model/completions.h"
#include "offload/model/flat_memory.h"
#include "offload/model/node.h"
#include "offload/model/requester.h"

namespace pktpit::model {

struct EndpointSettings {
    uint64_t bar = 0;  ///< bus address
    uint64_t bar_bytes = 0;
    Time read_latency = 200 * nanosecond;  ///< from a request's last bit to its completion's first
    CompletionCut completions;
    RequesterSettings requester;
};

/// Whoever lives behind an endpoint.
class Device : public DmaClient {
  public:
    /// `length` bytes of the BAR from `offset` on have been written; `packet` as the TLP says.
    virtual void memory_written(uint64_t offset, uint32_t length, uint64_t packet) = 0;
};

class Endpoint : public Node {
  public:
    Endpoint(Fabric& fabric, NodeId id, const std::string& name, const EndpointSettings& settings);

    /// The device outlives the simulation. Without one: plain memory.
    void attach(Device& device) {
        device_ = &device;
        client_ = &device;
    }
    /// For whoever only wants DMA.
    void attach_client(DmaClient& client) { client_ = &client; }

    [[nodiscard]] const EndpointSettings& settings() const { return settings_; }
    [[nodiscard]] FlatMemory& memory() { return memory_; }
    [[nodiscard]] Requester& dma() { return requester_; }
    [[nodiscard]] uint64_t unsupported_requests() const { return unsupported_requests_; }

    void arrive(Port& in, Tlp* tlp, Time head, Time tail) override;
    void departed(Port& out, const Tlp& tlp) override;
    void undeliverable(Port& out, Tlp* tlp) override;
    void on_event(uint32_t what, uint64_t argument) override;
    /// Completions always have room: they were asked for (PCIe Base 5.0, section 2.6.1).
    [[nodiscard]] CreditLimits advertised(const CreditLimits& wanted) const override;

  private:
    void take(Tlp* tlp);
    void answer(Tlp* tlp);

    Fabric& fabric_;
    EndpointSettings settings_;
    FlatMemory memory_;
    Device* device_ = nullptr;
    DmaClient* client_ = nullptr;
    Port& link_;
    Requester requester_;
    uint64_t unsupported_requests_ = 0;
};

}  // namespace pktpit::model
