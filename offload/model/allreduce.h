// SPDX-License-Identifier: BSD-3-Clause
/// Allreduce by a router that adds what passes through it, in virtual time: workers copy a message from their
/// accelerator to the host, the NIC fetches and sends it frame by frame, the router adds the frames of all
/// workers and sends the sum to each, and back. The router begins when it has the whole message (store and
/// forward), so many frames of it, or the first bytes of one (cut-through). No frame is lost. One thread; the
/// same settings give the same result.
#pragma once

#include "base/result.h"
#include "offload/model/time.h"

namespace pktpit::model {

enum class Buffering : uint8_t { store_and_forward, threshold };

struct AllreduceSettings {
    unsigned workers = 4;
    uint64_t message_bytes = 1 << 20;
    uint64_t messages = 1;  ///< one after the other, as buffers let them overlap
    double gbps = 10;       ///< of each worker's link, both directions
    Buffering buffering = Buffering::threshold;
    unsigned threshold = 1;  ///< frames that are there of all workers when adding begins; 0: heads of one
    unsigned frame_bytes = 1480;   ///< payload of a full frame
    unsigned frame_overhead = 58;  ///< Ethernet header, FCS, preamble, gap (38) and IPv4 header (20)
    unsigned head_bytes = 58;      ///< that have to be there, at a threshold of 0
    double add_gbytes = 10;        ///< GB/s of payload that the router adds, of one worker
    Time router_latency = 1000 * nanosecond;  ///< from the last frame's arrival to the sum's first bit
    unsigned router_slots = 1 << 20;          ///< frames of sums that may be begun
    /// Of a worker.
    unsigned buffers = 4;             ///< in each direction, of chunks
    uint64_t chunk_bytes = 64 << 10;  ///< that are copied at once
    double accelerator_gbytes = 6;    ///< GB/s between accelerator and host, each direction; 0: none is there
    Time copy_latency = 6000 * nanosecond;  ///< to start a copy
    double nic_gbytes = 3.2;                ///< GB/s between host and NIC, each direction
    Time nic_latency = 1000 * nanosecond;   ///< to start fetching a chunk, and to tell of a frame
};

struct AllreduceResult {
    Time first = 0;           ///< until all workers had the first message's sum
    Time all = 0;             ///< and the last one's
    double gbps = 0;          ///< of messages, in the steady state; of one message: by its own time
    uint64_t frames = 0;      ///< that the router took
    uint64_t most_held = 0;   ///< frames of a worker that the router had and had not added, at most
    uint64_t wrong_sums = 0;  ///< frames that came back with another sum than the workers' contributions have
    uint64_t events = 0;
};

/// Errors: what cannot be (no workers, no bytes, chunks of less than a frame, slots fewer than the
/// threshold).
Result<AllreduceResult> run_allreduce(const AllreduceSettings& settings);

}  // namespace pktpit::model
