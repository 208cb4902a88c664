// SPDX-License-Identifier: BSD-3-Clause
#include "allreduce/pace.h"

#include <algorithm>

namespace pktpit::allreduce {
namespace {

using std::chrono::milliseconds;

/// A time-out costs a packet or two, so that it may come sooner than TCP's; a scheduler's turn is 3 to 4 ms.
constexpr milliseconds least_timeout{5};
constexpr milliseconds first_timeout{20};
/// Another worker that computes for seconds makes no round trip.
constexpr milliseconds most_timeout{100};
constexpr milliseconds most_backed_off{640};
/// Results of two queues of the router are not in order.
constexpr milliseconds least_reordering{1};

}  // namespace

void RoundTrips::measured(Duration took) {
    if (smoothed_ == Duration{}) {
        smoothed_ = took;
        variation_ = took / 2;
        return;
    }
    variation_ += (std::chrono::abs(smoothed_ - took) - variation_) / 4;
    smoothed_ += (took - smoothed_) / 8;
}

RoundTrips::Duration RoundTrips::timeout() const {
    Duration once = first_timeout;
    if (smoothed_ != Duration{})
        once = std::clamp<Duration>(smoothed_ + 4 * variation_, least_timeout, most_timeout);
    return std::min<Duration>(once * (1U << doublings_), most_backed_off);
}

RoundTrips::Duration RoundTrips::reordering() const {
    return std::clamp<Duration>(smoothed_ / 4, least_reordering, most_timeout);
}

void Window::limit(uint32_t most) {
    most_ = std::max(1U, std::min(most_, most));
    size_ = std::min(size_, most_);
}

void Window::answered(uint64_t transmission, uint64_t newest) {
    answers_++;
    if (starting_ && size_ < most_) size_++;
    if (transmission < round_ends_) return;
    if (losses_ * congested > answers_) {
        size_ = std::min(most_, std::max(least, size_ * 7 / 10));
        starting_ = false;
    } else if (!starting_ && size_ < most_) {
        size_ += std::min(most_ - size_, 1 + size_ / 32);
    }
    round_ends_ = newest;
    answers_ = losses_ = 0;
}

}  // namespace pktpit::allreduce
