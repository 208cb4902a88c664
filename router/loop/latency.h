// SPDX-License-Identifier: BSD-3-Clause
/// How long packets take, as counts in log-linear buckets: eight to each power of two, so that a percentile
/// is told with an error of at most 12.5 % over the whole range. A worker counts, alone; the daemon reads, at
/// any time and without a lock.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace pktpit::router {

/// The buckets' borders, in nanoseconds. What takes longer than the last one's is counted in it.
struct LatencyBuckets {
    static constexpr unsigned sub_bits = 3;  ///< 2^3 buckets a power of two
    static constexpr unsigned powers = 36;   ///< up to 2^36 ns, 69 s
    static constexpr size_t count = size_t{powers - sub_bits + 1} << sub_bits;

    static constexpr size_t index_of(uint64_t nanoseconds) {
        constexpr uint64_t linear = uint64_t{1} << sub_bits;
        if (nanoseconds < linear) return nanoseconds;
        if (nanoseconds >> powers != 0) return count - 1;
        const auto shift = static_cast<unsigned>(std::bit_width(nanoseconds)) - 1 - sub_bits;
        return (size_t{shift} + 1) * linear + ((nanoseconds >> shift) & (linear - 1));
    }
    /// The longest that is counted in the bucket.
    static constexpr uint64_t last_of(size_t index) {
        constexpr uint64_t linear = uint64_t{1} << sub_bits;
        if (index < linear) return index;
        const auto shift = static_cast<unsigned>(index / linear - 1);
        return ((linear + index % linear + 1) << shift) - 1;
    }
};

/// A reading.
struct LatencyCounts {
    std::array<uint64_t, LatencyBuckets::count> buckets{};
    uint64_t longest = 0;  ///< ns, exact
    uint64_t total = 0;    ///< ns of all together

    void add(const LatencyCounts& more);
    [[nodiscard]] uint64_t count() const;
    /// ns that `share` (0 to 1) of all are not above: the end of the bucket that the nearest rank is in. 0 if
    /// there are none.
    [[nodiscard]] uint64_t percentile(double share) const;
};

class LatencyHistogram {
  public:
    LatencyHistogram() = default;
    LatencyHistogram(const LatencyHistogram&) = delete;
    LatencyHistogram& operator=(const LatencyHistogram&) = delete;

    /// The worker's: so many packets took so long.
    void add(uint64_t nanoseconds, uint64_t packets) {
        std::atomic<uint64_t>& bucket = buckets_[LatencyBuckets::index_of(nanoseconds)];
        bucket.store(bucket.load(std::memory_order_relaxed) + packets, std::memory_order_relaxed);
        total_.store(total_.load(std::memory_order_relaxed) + nanoseconds * packets,
                     std::memory_order_relaxed);
        if (nanoseconds > longest_.load(std::memory_order_relaxed))
            longest_.store(nanoseconds, std::memory_order_relaxed);
    }
    /// The daemon's.
    [[nodiscard]] LatencyCounts read() const;
    /// Only while no worker counts.
    void reset();

  private:
    std::array<std::atomic<uint64_t>, LatencyBuckets::count> buckets_{};
    std::atomic<uint64_t> longest_ = 0;
    std::atomic<uint64_t> total_ = 0;
};

}  // namespace pktpit::router
