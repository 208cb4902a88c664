// SPDX-License-Identifier: BSD-3-Clause
/// Ports as one worker's control loop sees them through AF_XDP (router/loop/packet_io.h): its receive queues,
/// and for each port a socket to send by. A chunk of the packet memory is a slot: header and payload lie in
/// one piece, and a frame leaves from where it came in. The worker's thread, but for what says that the
/// daemon calls it while the worker is paused.
///
/// A slot belongs to one worker always. One that was sent through a queue shared with others comes back from
/// whichever of them saw it sent (offload/memory/slot_returns.h).
#pragma once

#include <array>
#include <vector>

#include "bpf/abi.h"
#include "offload/memory/slot_pool.h"
#include "offload/memory/slot_returns.h"
#include "offload/slot_counts.h"
#include "router/loop/deficit_round_robin.h"
#include "router/loop/port_io.h"
#include "router/loop/worker_counters.h"
#include "router/xdp/device_sockets.h"
#include "router/xdp/slot_shares.h"

namespace pktpit::router {

class SocketIo : public PortIo {
  public:
    /// All are the caller's and outlive this. `order`: what the port stages see.
    SocketIo(unsigned worker, const PacketMemory& memory, offload::SlotReturns& returns,
             WorkerCounters& counters, pp_order& order)
        : worker_(worker),
          memory_(memory),
          returns_(returns),
          counters_(counters),
          order_(order),
          pool_(static_cast<uint8_t>(worker), PacketMemory::slots),
          shares_(PacketMemory::slots, socket_ring_entries) {}

    // The daemon's, while the worker is paused.

    /// The worker's sockets of a port, all of them; again when there are more or they are to be filled.
    void add(uint16_t port, const DeviceSockets& device);
    /// Slots that are in the rings of the port stay there: retire() says which.
    void remove(uint16_t port);
    std::vector<offload::Slot> retire(uint16_t ring);
    /// Of retire(), when the kernel has let go of them.
    void reclaim(std::span<const offload::Slot> slots);
    [[nodiscard]] offload::SlotCounts slots() const;

    size_t receive(std::span<offload::HeaderSlice> slices) override;
    /// A doorbell is a system call, and none is made for less than what waits.
    [[nodiscard]] size_t most_per_doorbell() const override { return 4 * offload::default_batch; }
    void submit(std::span<const offload::EgressDescriptor> descriptors) override;
    void release(std::span<const offload::Slot> slots) override;
    void complete() override;
    bool copy_frame(const offload::HeaderSlice& slice, std::span<uint8_t> frame) override;
    [[nodiscard]] size_t readable_bytes(const offload::HeaderSlice& slice) const override {
        return slice.frame_length;
    }
    /// The daemon sends its frames by itself.
    bool send(uint16_t, std::span<const uint8_t>) override { return false; }
    void arm() override;
    /// The device's queue was full: the kernel takes the rest when it is called again.
    [[nodiscard]] bool waits_to_send() const override;
    void disarm() override {}
    /// Counts what the kernel had to drop, and gives rings the slots that have become theirs.
    void look() override;

  private:
    /// A port's receive queues that are this worker's.
    struct Port {
        uint16_t id = 0;
        std::vector<PortSocket*> queues;
        size_t first = 0;  ///< queue that is asked first
    };
    /// When ports have come or gone.
    void divide_slots();
    [[nodiscard]] uint32_t free_slots() const { return static_cast<uint32_t>(pool_.free()); }
    /// Until the kernel has as many for receiving.
    void fill(PortSocket& socket, uint32_t wanted);
    size_t receive_from(PortSocket& socket, std::span<offload::HeaderSlice> slices, int64_t& deficit,
                        uint64_t& now);
    /// As many as the transmit ring has room for; returns how many.
    size_t stage(PortSocket& socket, std::span<const offload::EgressDescriptor> descriptors);
    static void kick(PortSocket& socket);
    void reap(QueueRings& rings);
    void tell_order();
    /// One frame of the receive ring into `slice`; false: it is void, and its slot free again.
    bool take(PortSocket& socket, const xdp_desc& descriptor, bool voids, offload::HeaderSlice& slice);
    /// A port stage has stood in for this worker: of what it has taken before nothing may leave.
    [[nodiscard]] bool overtaken() const;
    bool overtaken_at_the_last_moment();
    /// Frames that the kernel has not taken from the transmit ring.
    void take_back(PortSocket& socket);
    void take_back_all();
    void sent(uint32_t index);
    void look_at(PortSocket& socket);
    void drop(uint16_t port, pp_verdict verdict, offload::Slot slot);

    unsigned worker_;
    const PacketMemory& memory_;
    offload::SlotReturns& returns_;
    WorkerCounters& counters_;
    pp_order& order_;
    offload::SlotPool pool_;
    SlotShares shares_;
    uint32_t receiving_ = 0;   ///< slots that are in receive rings
    std::vector<Port> ports_;  ///< with receive queues here
    DeficitRoundRobin turns_;  ///< by index in ports_
    std::vector<PortSocket*> senders_;
    bool in_hand_ = false;                            ///< frames were received since the last submit()
    std::vector<PortSocket*> staged_;                 ///< of one submit()
    std::vector<PortSocket*> by_ring_;                ///< that sends through the ring of this number
    std::array<PortSocket*, PP_MAX_PORTS> egress_{};  ///< by port
    uint32_t retired_ = 0;
};

}  // namespace pktpit::router
