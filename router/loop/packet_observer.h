// SPDX-License-Identifier: BSD-3-Clause
/// What a worker writes down of packets while somebody traces or captures: records as the port stage's
/// (struct pp_observation, then the frame), through a queue to the daemon. Made by the daemon and handed to a
/// worker while that is paused; then decided() and finished() are the worker's, pop() and lost() the
/// daemon's. Never waits: what the queue has no room for is counted. Payload that is not in main memory is
/// not touched.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "bpf/abi.h"
#include "router/forward/batch.h"
#include "router/loop/frame_queue.h"
#include "router/loop/packet_io.h"

namespace pktpit::router {

class PacketObserver {
  public:
    explicit PacketObserver(const pp_observing& wanted);

    /// While the worker is paused.
    void change(const pp_observing& wanted);

    /// The decisions of a batch, before any header is rewritten.
    void decided(std::span<const offload::HeaderSlice> slices, std::span<const Decision> decisions,
                 const offload::PacketIo& io);
    /// The same decisions with what they came to, after the doorbell; `refused`: packets that were not sent
    /// after all. True: there are records for the daemon.
    bool finished(std::span<const Decision> decisions, std::span<const offload::RefusedPacket> refused);
    [[nodiscard]] std::span<offload::RefusedPacket> room_for_refused() { return refused_; }

    /// Calls visit(std::span<const uint8_t> record) for up to `most` records.
    template <class Visit>
    void pop(size_t most, Visit&& visit) {
        queue_.pop(most, [&](const pp_punt&, std::span<uint8_t> record) { visit(record); });
    }
    /// Records of packets that came in by the port, since the beginning.
    [[nodiscard]] uint64_t lost(uint16_t port) const { return lost_[port].load(std::memory_order_relaxed); }

  private:
    /// A packet between decision and doorbell.
    struct Kept {
        uint16_t index = 0;  ///< in the batch
        offload::Slot slot;
        pp_observation record{};
        size_t bytes = 0;  ///< of the frame, in bytes_
    };
    [[nodiscard]] bool is_sampled();
    void keep(const offload::HeaderSlice& slice, const Decision& decision, const offload::PacketIo& io);
    [[nodiscard]] bool push(const Kept& kept, std::span<const uint8_t> frame);

    pp_observing wanted_;
    uint64_t random_ = 0x9e3779b97f4a7c15;  ///< xorshift64
    uint64_t decided_at_ = 0;
    std::array<Kept, Forwarder::batch> kept_;
    size_t kept_count_ = 0;
    size_t room_;                 ///< for each frame
    std::vector<uint8_t> bytes_;  ///< their frames, room_ apart
    std::array<offload::RefusedPacket, Forwarder::batch> refused_;
    FrameQueue queue_{size_t{1} << 22};
    std::array<std::atomic<uint64_t>, PP_MAX_PORTS> lost_{};
};

}  // namespace pktpit::router
