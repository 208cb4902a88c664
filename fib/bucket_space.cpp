#include "fib/bucket_space.h"

#include <bit>
#include <cassert>
#include <utility>

namespace pktpit::fib {

BucketSpace::BucketSpace(uint32_t count, std::function<void()> grace_period)
    : capacity_(count), grace_period_(std::move(grace_period)) {
    assert(std::has_single_bit(count));
    free_[static_cast<size_t>(std::countr_zero(count))].insert(0);
}

std::optional<uint32_t> BucketSpace::allocate(unsigned bits) {
    auto first = take(bits);
    if (!first && !waiting_.empty()) {
        grace_period_();
        for (const Range& range : waiting_)
            merge(range.first, range.bits);
        waiting_.clear();
        first = take(bits);
    }
    if (first) used_ += 1u << bits;
    return first;
}

void BucketSpace::give_back(uint32_t first, unsigned bits) {
    used_ -= 1u << bits;
    waiting_.push_back({first, bits});
}

std::optional<uint32_t> BucketSpace::take(unsigned bits) {
    unsigned size = bits;
    while (size < free_.size() && free_[size].empty())
        size++;
    if (size >= free_.size()) return std::nullopt;
    const uint32_t first = *free_[size].begin();
    free_[size].erase(free_[size].begin());
    while (size-- > bits)
        free_[size].insert(first + (1u << size));
    return first;
}

void BucketSpace::merge(uint32_t first, unsigned bits) {
    while (1u << bits < capacity_ && free_[bits].erase(first ^ 1u << bits)) {
        first &= ~(1u << bits);
        bits++;
    }
    free_[bits].insert(first);
}

}  // namespace pktpit::fib
