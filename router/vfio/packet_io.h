// SPDX-License-Identifier: BSD-3-Clause
/// NICs as a control loop sees them (router/loop/packet_io.h). The worker's, but for add() and remove(),
/// which the daemon calls while the worker is paused.
#pragma once

#include <array>
#include <atomic>
#include <vector>

#include "bpf/abi.h"
#include "offload/nic/nic.h"
#include "router/loop/deficit_round_robin.h"
#include "router/loop/packet_io.h"
#include "router/loop/port_io.h"
#include "router/loop/worker_counters.h"
#include "router/vfio/slot_memory.h"

namespace pktpit::router {

class NicPacketIo : public PortIo {
  public:
    struct Port {
        uint16_t id = 0;
        offload::Nic* nic = nullptr;
        bool direct = false;                   ///< reaches the peer memory
        bool payload_lost = false;             ///< was direct, until the memory was revoked
        std::atomic<bool>* link_up = nullptr;  ///< where look() says what the NIC says; may be null
        std::atomic<bool>* out_of_step =
            nullptr;         ///< set by look(), may be null; the NIC has to be reset then
        uint8_t part = 0;    ///< of the slots, that it receives into (router/vfio/slot_memory.h)
        size_t rx_ring = 0;  ///< buffers that its empty receive ring takes; add() fills it in
        size_t share = 0;    ///< of its part's slots, in its receive ring at most
        [[nodiscard]] uint8_t region() const {
            return direct ? SlotMemory::peer_memory : SlotMemory::main_memory;
        }
    };
    NicPacketIo(SlotMemory& slots, const offload::PeerMemory* peer, WorkerCounters& counters)
        : slots_(slots), peer_(peer), counters_(counters) {}

    /// A port that has been started. It gets its receive buffers at the next receive().
    void add(const Port& port);
    /// Before its NIC is stopped. `left`: slots that were in the NIC's rings.
    void remove(uint16_t id);
    void take_back(std::span<const offload::Slot> left);
    [[nodiscard]] std::vector<Port>& ports() { return ports_; }
    [[nodiscard]] bool payload_lost(uint16_t id) { return find(id) && find(id)->payload_lost; }

    size_t receive(std::span<offload::HeaderSlice> slices) override;
    void submit(std::span<const offload::EgressDescriptor> descriptors) override;
    void release(std::span<const offload::Slot> slots) override;
    void complete() override;
    bool copy_frame(const offload::HeaderSlice& slice, std::span<uint8_t> frame) override;

    bool send(uint16_t port, std::span<const uint8_t> frame) override;
    void arm() override;
    void disarm() override;
    void look() override;

  private:
    static constexpr size_t batch = 64;

    void fill(const Port& port);
    size_t receive_from(const Port& port, std::span<offload::HeaderSlice> slices, uint64_t now);
    void give(std::span<const offload::Slot> slots, offload::SlotOwner owner);
    /// Makes the frame one that the port can send; PP_NONE if it is.
    pp_verdict prepare(const Port& port, const offload::EgressDescriptor& descriptor,
                       offload::TxFrame& frame);
    pp_verdict bounce(offload::TxFrame& frame);
    void drop(uint16_t port, pp_verdict verdict, offload::Slot slot, offload::SlotOwner owner);
    Port* find(uint16_t id) { return by_id_[id] ? &ports_[by_id_[id] - 1U] : nullptr; }
    void index();
    void share_out();

    SlotMemory& slots_;
    const offload::PeerMemory* peer_;
    WorkerCounters& counters_;
    std::vector<Port> ports_;
    std::array<uint16_t, PP_MAX_PORTS> by_id_{};  ///< 1 + index in ports_
    DeficitRoundRobin turns_;                     ///< by index in ports_
    std::array<offload::TxFrame, batch> tx_;
};

}  // namespace pktpit::router
