// SPDX-License-Identifier: BSD-3-Clause
/// The control loop: header slices in, forward(), egress descriptors out, a batch at a time. One worker
/// thread, which owns its dataplane's ports (router/loop/packet_io.h). It never touches payload; a frame that
/// the daemon has to handle is copied for it, whole, into a queue.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "fib/epochs.h"
#include "router/forward/batch.h"
#include "router/loop/frame_queue.h"
#include "router/loop/packet_io.h"
#include "router/loop/packet_observer.h"
#include "router/loop/worker_counters.h"

namespace pktpit::router {

class ControlLoop {
  public:
    static constexpr size_t batch = Forwarder::batch;  ///< packets
    static_assert(batch == offload::default_batch);

    /// `for_daemon`: frames for the host and for the slow path. All are the caller's and outlive this.
    ControlLoop(offload::PacketIo& io, const ImageView& image, fib::EpochReader& reader,
                WorkerCounters& counters, FrameQueue& for_daemon)
        : io_(io),
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
    /// One turn: completions, packets by the batch, one doorbell a port. Returns how many packets there were.
    size_t turn();
    /// Frames were put into the queue for the daemon since the last call: it wants to be woken.
    [[nodiscard]] bool take_wake() { return std::exchange(wake_, false); }

  private:
    size_t take_batch();
    /// decision.verdict becomes what it comes to in the end.
    inline void finish(offload::HeaderSlice& slice, Decision& decision);
    inline void forwarded(offload::HeaderSlice& slice, const Decision& decision);
    void count_received();
    void note_latency(uint64_t doorbell);
    void note_destinations();
    pp_verdict hand_over(const offload::HeaderSlice& slice, pp_verdict verdict);

    offload::PacketIo& io_;
    Forwarder forwarder_;
    fib::EpochReader& reader_;
    WorkerCounters& counters_;
    FrameQueue& for_daemon_;
    PacketObserver* observer_ = nullptr;
    DestinationLog& destinations_;
    size_t most_;  ///< packets a doorbell
    std::array<offload::HeaderSlice, batch> slices_;
    std::array<IngressFrame, batch> frames_;
    std::array<Decision, batch> decisions_;
    // Of one doorbell.
    std::vector<offload::EgressDescriptor> egress_;
    std::vector<offload::Slot> released_;
    /// What is counted for a port packet by packet, kept together until another port's follow.
    struct Tally {
        uint16_t port = 0;
        uint32_t packets = 0;
        uint32_t forwarded = 0;
        uint64_t bytes = 0;
    };
    /// Packets to be sent that were taken from one port at one time, as those of a batch are.
    struct Run {
        uint16_t port = 0;
        uint32_t packets = 0;
        uint64_t since = 0;
    };
    std::vector<Run> runs_;
    size_t run_count_ = 0;
    Tally tally_;
    size_t egress_count_ = 0;
    size_t released_count_ = 0;
    bool wake_ = false;
};

}  // namespace pktpit::router
