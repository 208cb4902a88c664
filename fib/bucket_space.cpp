// SPDX-License-Identifier: BSD-3-Clause
#include "fib/bucket_space.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <limits>
#include <utility>

namespace pktpit::fib {
namespace {

/// Asking Reclamation costs a system call a grace period: not for a few ranges.
constexpr size_t many_waiting = 64;
constexpr size_t all = std::numeric_limits<size_t>::max();

}  // namespace

BucketSpace::BucketSpace(uint32_t count, Reclamation reclamation)
    : capacity_(count), reclamation_(std::move(reclamation)) {
    assert(std::has_single_bit(count));
    for (uint32_t ranges = count; ranges > 0; ranges /= 2)
        free_.emplace_back(ranges);
    free_.back().insert(0);
}

std::optional<uint32_t> BucketSpace::allocate(unsigned bits) {
    if (bits >= free_.size()) return std::nullopt;
    // More than one allocation takes away, so that the list does not grow.
    if (waiting_.size() >= many_waiting) collect(4);
    auto first = take(bits);
    if (!first && !waiting_.empty()) {
        collect(all);
        first = take(bits);
    }
    if (!first && !waiting_.empty()) {
        reclamation_.wait();
        collect(all);
        first = take(bits);
    }
    if (first) used_ += 1u << bits;
    return first;
}

std::optional<uint32_t> BucketSpace::allocate_now(unsigned bits) {
    const auto first = take(bits);
    if (first) used_ += 1u << bits;
    return first;
}

std::optional<uint32_t> BucketSpace::emptiest(unsigned bits) const {
    if (bits >= free_.size() || capacity_ - used_ < 1u << bits) return std::nullopt;
    std::vector<uint32_t> free_buckets(capacity_ >> bits);
    for (unsigned size = 0; size < bits; size++)
        free_[size].for_each([&](size_t range) { free_buckets[range >> (bits - size)] += 1u << size; });
    const auto most = std::ranges::max_element(free_buckets);
    if (*most == 0) return std::nullopt;
    return static_cast<uint32_t>(most - free_buckets.begin()) << bits;
}

void BucketSpace::hold(uint32_t first, unsigned bits) {
    for (unsigned size = 0; size < bits; size++)
        for (uint32_t range = first >> size; range < (first + (1u << bits)) >> size; range++)
            if (free_[size].erase(range)) held_.push_back({range << size, size, 0});
}

void BucketSpace::release() {
    for (const Range& range : held_)
        merge(range.first, range.bits);
    held_.clear();
}

void BucketSpace::give_back(uint32_t first, unsigned bits) {
    assert(first % (1u << bits) == 0 && used_ >= 1u << bits);
    used_ -= 1u << bits;
    waiting_.push_back({first, bits, reclamation_.ticket()});
}

void BucketSpace::collect(size_t most) {
    for (; most > 0 && !waiting_.empty() && reclamation_.passed(waiting_.front().ticket); most--) {
        merge(waiting_.front().first, waiting_.front().bits);
        waiting_.pop_front();
    }
}

std::optional<uint32_t> BucketSpace::take(unsigned bits) {
    unsigned size = bits;
    while (size < free_.size() && free_[size].empty())
        size++;
    if (size >= free_.size()) return std::nullopt;
    auto range = static_cast<uint32_t>(free_[size].first());
    free_[size].erase(range);
    while (size > bits) {  // the lower half is split on, the upper one stays
        size--;
        range *= 2;
        free_[size].insert(range + 1);
    }
    return range << bits;
}

void BucketSpace::merge(uint32_t first, unsigned bits) {
    uint32_t range = first >> bits;
    while (bits + 1 < free_.size() && free_[bits].erase(range ^ 1)) {
        range /= 2;
        bits++;
    }
    free_[bits].insert(range);
}

}  // namespace pktpit::fib
