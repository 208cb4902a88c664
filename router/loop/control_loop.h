// SPDX-License-Identifier: BSD-3-Clause
/// The control loop: header slices in, forward(), egress descriptors out, a batch at a time. One worker
/// thread, which owns its dataplane's ports (router/loop/packet_io.h). It never touches payload; a frame that
/// the daemon has to handle is copied for it, whole, into a queue.
///
/// What is plain goes the plain way (router/forward/plain.h): decided by vectors, rewritten where it lies,
/// counted a port and batch at a time. All else goes the long way, by a Decision each, and both leave in the
/// order that they came. While somebody observes everything goes the long way, since the observer is to see
/// each header before and after.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "fib/epochs.h"
#include "router/forward/batch.h"
#include "router/forward/plain.h"
#include "router/guard/policer.h"
#include "router/loop/frame_queue.h"
#include "router/loop/packet_io.h"
#include "router/loop/packet_observer.h"
#include "router/loop/worker_counters.h"

namespace pktpit::router {

class ControlLoop {
  public:
    static constexpr size_t batch = Forwarder::batch;  ///< packets
    static_assert(batch == offload::default_batch && batch == PlainBatch::most);

    /// `for_daemon`: frames for the host and for the slow path. All are the caller's and outlive this.
    ControlLoop(offload::PacketIo& io, const ImageView& image, fib::EpochReader& reader,
                WorkerCounters& counters, FrameQueue& for_daemon)
        : io_(io),
          in_place_(io.by_batch()),
          plain_forwarder_(image),
          forwarder_(image),
          reader_(reader),
          counters_(counters),
          for_daemon_(for_daemon),
          destinations_(counters.destinations()),
          most_(io.most_per_doorbell()),
          egress_(most_),
          released_(most_),
          runs_(most_) {}

    /// Writes down from now on what becomes of packets; nullptr: no more. `observer` is the caller's. Not
    /// while a turn is under way.
    void observe(PacketObserver* observer);
    /// The next packet that leaves by the interface that it came in by is copied to the daemon, which may
    /// tell its sender of a better way. On any thread.
    void copy_returning() { wants_returning_.store(true, std::memory_order_relaxed); }
    /// One turn: completions, packets by the batch, one doorbell a port. Returns how many packets there were.
    size_t turn();
    /// Frames were put into the queue for the daemon since the last call: it wants to be woken.
    [[nodiscard]] bool take_wake() { return std::exchange(wake_, false); }

  private:
    size_t take_batch();
    /// Of slices: the batch in columns.
    std::span<const IngressRun> line_up(size_t count);
    /// The long way of these.
    void decide(uint64_t which);
    void finish(std::span<const IngressRun> runs);
    /// Of one that went the long way: decision.verdict becomes what it comes to in the end. True: it leaves.
    inline bool finish(offload::HeaderSlice& slice, Decision& decision);
    /// Of one that is not dropped already: is it above a rate?
    void police(pp_guard& guard, const offload::HeaderSlice& slice, Decision& decision);
    inline void forwarded(offload::HeaderSlice& slice, const Decision& decision);
    /// A plain one that has a slice.
    inline void leave(size_t index);
    void note_latency(uint64_t doorbell);
    void note_destinations(std::span<const IngressRun> runs);
    /// Of plain packets of one run, which have no VLAN tags: looks for one, if one is wanted.
    void look_for_returning(const IngressRun& run);
    void copy(const offload::HeaderSlice& slice);
    pp_verdict hand_over(const offload::HeaderSlice& slice, pp_verdict verdict);

    offload::PacketIo& io_;
    offload::BatchIo* in_place_;  ///< or null
    PlainForwarder plain_forwarder_;
    Forwarder forwarder_;
    Policer policer_;
    fib::EpochReader& reader_;
    WorkerCounters& counters_;
    FrameQueue& for_daemon_;
    PacketObserver* observer_ = nullptr;
    DestinationLog& destinations_;
    size_t most_;  ///< packets a doorbell
    PlainBatch batch_;
    uint64_t plain_ = 0;  ///< of the batch, those that went the plain way
    std::array<IngressRun, batch> ingress_runs_;
    std::array<offload::HeaderSlice, batch> slices_;
    // Of what goes the long way, one after the other.
    std::array<uint8_t, batch> others_;  ///< index in the batch
    size_t other_count_ = 0;
    std::array<IngressFrame, batch> frames_;
    std::array<Decision, batch> decisions_;
    // Of one doorbell.
    std::vector<offload::EgressDescriptor> egress_;
    std::vector<offload::Slot> released_;
    /// Packets to be sent that were taken from one port at one time, as those of a batch are.
    struct Run {
        uint16_t port = 0;
        uint32_t packets = 0;
        uint64_t since = 0;
    };
    std::vector<Run> runs_;
    size_t run_count_ = 0;
    size_t egress_count_ = 0;
    size_t released_count_ = 0;
    bool wake_ = false;
    std::atomic<bool> wants_returning_ = false;
};

}  // namespace pktpit::router
