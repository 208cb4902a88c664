// SPDX-License-Identifier: BSD-3-Clause
/// What a peer device that forwards leaves to the control loop (router/loop/packet_io.h), and what the daemon
/// sends by it: two queues of frames in the device's memory. Frames of the first are copied out at once: none
/// of the device's places waits for this process. The worker's, but for add() and remove(), which the daemon
/// calls while the worker is paused.
///
/// The device reads the FIB image in no thread of this process: the worker stands for it as a reader, and
/// lets go of what the device held when the device has gone on (PeerControl::turns). One that stands still
/// for longer than it is waited for gets no program executed any more before its place as a reader is given
/// up.
#pragma once

#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "fib/epochs.h"
#include "offload/nic/nic.h"
#include "router/loop/port_io.h"
#include "router/loop/worker_counters.h"
#include "router/vfio/peer_host.h"

namespace pktpit::router {

class PeerPacketIo : public PortIo {
  public:
    struct Port {
        uint16_t id = 0;
        uint8_t lane = 0;
        offload::Nic* nic = nullptr;
        std::atomic<bool>* link_up = nullptr;
    };
    /// `host`, `epochs` and `counters` outlive it.
    PeerPacketIo(PeerHost& host, const config::Vfio& settings, fib::Epochs& epochs, WorkerCounters& counters);

    void add(const Port& port) { ports_.push_back(port); }
    void remove(uint16_t id);
    /// The memory goes away: its queues are not looked at any more. While the worker is paused.
    void revoke() { revoked_ = true; }
    /// The device has not gone on for longer than it is waited for. Any thread.
    [[nodiscard]] bool device_is_silent() const { return silent_.load(std::memory_order_relaxed); }
    /// Since the last call its programs were withdrawn for that: they have to be published again when it goes
    /// on, be it a moment later. Any thread.
    [[nodiscard]] bool take_withdrawn() { return withdrawn_.exchange(false, std::memory_order_relaxed); }
    /// Frames of the device's that could not be: nothing of its memory is trusted. Any thread.
    [[nodiscard]] uint64_t malformed() const { return malformed_.load(std::memory_order_relaxed); }

    size_t receive(std::span<offload::HeaderSlice> slices) override;
    void submit(std::span<const offload::EgressDescriptor> descriptors) override;
    void release(std::span<const offload::Slot> slots) override;
    void complete() override {}
    bool copy_frame(const offload::HeaderSlice& slice, std::span<uint8_t> frame) override;
    bool send(uint16_t port, std::span<const uint8_t> frame) override;
    // No interrupt comes from the device: the daemon's timer ends a sleep.
    void arm() override {}
    void disarm() override {}
    void look() override;

  private:
    static constexpr size_t frames = 256;  ///< that are the control loop's at a time

    void watch_device(uint64_t now);
    [[nodiscard]] const Port* of_lane(uint8_t lane) const;
    [[nodiscard]] const Port* of_id(uint16_t id) const;
    [[nodiscard]] uint8_t* frame(uint32_t index) { return &memory_[index * frame_bytes_ + headroom]; }
    bool put(const Port& port, std::span<const std::span<const uint8_t>> parts);

    static constexpr size_t headroom = offload::header_headroom;
    PeerHost& host_;
    fib::Epochs& epochs_;
    WorkerCounters& counters_;
    const uint64_t patience_;  ///< ns
    const uint32_t queue_frames_;
    const size_t slot_bytes_;   ///< of a queue's slot
    const size_t frame_bytes_;  ///< of a frame's place here
    std::vector<Port> ports_;
    std::vector<uint8_t> memory_;
    std::vector<uint32_t> free_;
    uint32_t taken_ = 0;  ///< frames of the device's, ever
    uint64_t put_ = 0;    ///< frames for it, ever
    bool revoked_ = false;
    std::atomic<bool> silent_ = false;
    std::atomic<bool> withdrawn_ = false;
    std::atomic<uint64_t> malformed_ = 0;
    // The device's places as a reader. What it holds it has read since its count of turns became another, so
    // the older place goes when it has done that behind the newer one's beginning.
    std::array<std::optional<fib::EpochReader>, 2> readers_;
    size_t newer_ = 0;
    uint64_t turns_ = 0;
    uint64_t seen_at_ = 0;
};

}  // namespace pktpit::router
