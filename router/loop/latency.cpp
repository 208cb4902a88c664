// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/latency.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace pktpit::router {

void LatencyCounts::add(const LatencyCounts& more) {
    for (size_t i = 0; i < buckets.size(); i++)
        buckets[i] += more.buckets[i];
    longest = std::max(longest, more.longest);
    total += more.total;
}

uint64_t LatencyCounts::count() const {
    return std::accumulate(buckets.begin(), buckets.end(), uint64_t{0});
}

uint64_t LatencyCounts::percentile(double share) const {
    const uint64_t all = count();
    if (all == 0) return 0;
    const auto wanted = static_cast<uint64_t>(std::ceil(share * static_cast<double>(all)));
    const uint64_t rank = std::clamp<uint64_t>(wanted, 1, all);
    uint64_t below = 0;
    for (size_t i = 0; i < buckets.size(); i++) {
        below += buckets[i];
        if (below < rank) continue;
        // The last bucket has no end but the longest, and none is above that. A count may be read before the
        // longest that belongs to it.
        return i + 1 == buckets.size() ? std::max(longest, LatencyBuckets::last_of(i))
                                       : std::min(LatencyBuckets::last_of(i), std::max(longest, uint64_t{1}));
    }
    return longest;
}

LatencyCounts LatencyHistogram::read() const {
    LatencyCounts counts;
    for (size_t i = 0; i < buckets_.size(); i++)
        counts.buckets[i] = buckets_[i].load(std::memory_order_relaxed);
    counts.longest = longest_.load(std::memory_order_relaxed);
    counts.total = total_.load(std::memory_order_relaxed);
    return counts;
}

void LatencyHistogram::reset() {
    for (auto& bucket : buckets_)
        bucket.store(0, std::memory_order_relaxed);
    longest_.store(0, std::memory_order_relaxed);
    total_.store(0, std::memory_order_relaxed);
}

}  // namespace pktpit::router
