// SPDX-License-Identifier: BSD-3-Clause
/// The traffic sink: an XDP program on the sink's port that counts what arrives, looks at a sample of it in
/// full (length, MACs, TTL, checksum) and drops it. One at a time on a topology. Used by the measuring
/// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bench/bpf/traffic.h"
#include "bench/harness/generator.h"
#include "bench/harness/topology.h"

namespace pktpit::bench::harness {

/// What a forwarder makes of a frame.
enum class Arrival {
    routed,    ///< MAC addresses of the egress link, TTL one less
    as_sent,   ///< nothing: it is no router
    ttl_kept,  ///< MAC addresses of the egress link, but TTL as sent: l3fwd with IPv6
};

class Sink {
  public:
    enum class Mode {
        count,     ///< one frame in 64 looked at in full
        sequence,  ///< every frame looked at, and every flow's sequence numbers followed
    };
    /// For that generator's frames, which it lets know how many have arrived.
    Sink(const Topology& topology, Family family, Mode mode, const Generator& generator,
         Arrival arrival = Arrival::routed);
    ~Sink();

    /// Summed over CPUs.
    [[nodiscard]] pb_sink_counters counters() const;
    /// How many frames were on their way for how long, by bucket (bench/harness/latency.h); all 0 unless
    /// frames tell when they left.
    [[nodiscard]] std::vector<uint64_t> latencies() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// The counters when everything sent is there, or nothing more comes.
pb_sink_counters drain(const Sink& sink, uint64_t sent);

/// What was wrong with the sample, in words; empty if nothing was and something was looked at.
std::string describe_faults(const pb_sink_counters& counters);

}  // namespace pktpit::bench::harness
