// SPDX-License-Identifier: BSD-3-Clause
/// The traffic source: BPF_PROG_RUN with live frames in the source namespace, on a thread of its own that is
/// pinned to one CPU. Frame n goes to destination n modulo their number, so that every flow's sequence
/// numbers run.
///
/// Made, started and stopped by the measuring thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "bench/bpf/traffic.h"
#include "bench/harness/topology.h"

namespace pktpit::bench::harness {

/// What the frames are like beside their destinations.
struct FrameShape {
    unsigned bytes = 64;      ///< without FCS: PB_FRAME_BYTES to PB_MOST_FRAME_BYTES
    bool mix = false;         ///< IMIX, `bytes` being the largest's
    bool timestamps = false;  ///< each tells when it left, for the sink to count latencies
};

class Generator {
  public:
    /// The number of destinations must be a power of two, at most 2^30.
    Generator(const Topology& topology, Family family, std::span<const IpAddress> destinations,
              const FrameShape& shape = {});
    ~Generator();
    Generator(Generator&&) noexcept;

    /// Sends as fast as it goes, with at most `window` frames on their way, `batch` frames at a time (at most
    /// 256: what a veth ring holds), until stop().
    void start(unsigned cpu, unsigned batch, unsigned window = PB_WINDOW);
    /// Sends evenly spaced frames, `rate` a second, until stop().
    /// `most`: no more frames than so many; 0: no end.
    void start_paced(unsigned cpu, unsigned batch, double rate, uint64_t most = 0);
    /// Ends the thread; returns how many frames left since the start, where flows and sequence numbers began
    /// anew. Throws what the thread ran into.
    uint64_t stop();

    [[nodiscard]] uint32_t flows() const;
    [[nodiscard]] const FrameShape& shape() const;
    /// The map through which the sink tells how many frames have arrived.
    [[nodiscard]] int progress_map() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pktpit::bench::harness
