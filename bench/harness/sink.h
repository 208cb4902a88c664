/// The traffic sink: an XDP program on the sink's port that counts what arrives, looks at a sample of it in
/// full (length, MACs, TTL, checksum) and drops it. One at a time on a topology. Used by the measuring
/// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "bench/bpf/traffic.h"
#include "bench/harness/topology.h"

namespace pktpit::bench {

class Sink {
  public:
    enum class Mode {
        count,     ///< one frame in 64 looked at in full
        sequence,  ///< every frame looked at, and every flow's sequence numbers followed
    };
    /// `flows`: number of the generator's destinations.
    Sink(const Topology& topology, Family family, Mode mode, uint32_t flows);
    ~Sink();

    /// Summed over CPUs.
    [[nodiscard]] pb_sink_counters counters() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

/// later - earlier, field by field.
pb_sink_counters difference(const pb_sink_counters& later, const pb_sink_counters& earlier);
/// What was wrong with the sample, in words; empty if nothing was and something was looked at.
std::string describe_faults(const pb_sink_counters& counters);

}  // namespace pktpit::bench
