// SPDX-License-Identifier: BSD-3-Clause
/// How fast a stream sends, and when it takes a chunk for lost: round-trip times (RFC 6298), and how many
/// chunks may be under way. Used by Stream; no clock of its own; one thread.
#pragma once

#include <chrono>
#include <cstdint>

namespace pktpit::allreduce {

/// A round trip lasts from a chunk's elements to its sum, so that the slowest worker is in it, and whoever
/// waits for a processor.
class RoundTrips {
  public:
    using Duration = std::chrono::nanoseconds;

    /// Of a chunk that was sent once: of another nobody knows which copy was answered (Karn).
    void measured(Duration took);
    /// A timeout with nothing to show for it doubles the next one; any result ends that.
    void timed_out() { doublings_ += doublings_ < most_doublings ? 1 : 0; }
    void progressed() { doublings_ = 0; }

    /// Without a result for so long, something is asked for again.
    [[nodiscard]] Duration timeout() const;
    /// How much later than what was sent behind it a chunk may come without being lost.
    [[nodiscard]] Duration reordering() const;

  private:
    static constexpr unsigned most_doublings = 10;
    Duration smoothed_{};
    Duration variation_{};
    unsigned doublings_ = 0;
};

/// Grows while rounds go well, and shrinks when many chunks of one were lost: a ring or a socket on the way
/// was full. Single losses say nothing of the kind: of 16 workers' chunks with 1 % loss each, one of six
/// misses something.
class Window {
  public:
    explicit Window(uint32_t most) : most_(most), size_(most < begin ? most : begin) {}

    [[nodiscard]] uint32_t size() const { return size_; }
    void limit(uint32_t most);
    /// A result for the transmission with this number, when `newest` is the number of the last one.
    void answered(uint64_t transmission, uint64_t newest);
    void lost() { losses_++; }

  private:
    static constexpr uint32_t begin = 32;
    static constexpr uint32_t least = 16;
    static constexpr uint32_t congested = 4;  ///< one of so many lost

    uint32_t most_;
    uint32_t size_;
    bool starting_ = true;  ///< slow start: doubles each round
    uint64_t round_ends_ = 0;
    uint32_t answers_ = 0;  ///< of this round
    uint32_t losses_ = 0;
};

}  // namespace pktpit::allreduce
