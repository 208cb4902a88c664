// SPDX-License-Identifier: BSD-3-Clause
#include "router/filter/rows.h"

#include <algorithm>

namespace pktpit::router {
namespace {

uint64_t hash_of(const RuleBits& bits) {
    uint64_t hash = 0;
    for (const uint64_t word : bits.words()) {
        hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
        hash ^= hash >> 32;
    }
    return hash;
}

}  // namespace

uint32_t Rows::add(const RuleBits& bits) {
    const auto number = static_cast<uint32_t>(size());
    flat_.insert(flat_.end(), bits.words().begin(), bits.words().end());
    by_hash_.emplace(hash_of(bits), number);
    return number;
}

uint32_t Rows::class_of(const RuleBits& bits, uint32_t first) {
    const auto [begin, end] = by_hash_.equal_range(hash_of(bits));
    for (auto one = begin; one != end; ++one)
        if (one->second >= first && std::equal(bits.words().begin(), bits.words().end(), row(one->second)))
            return one->second;
    return add(bits);
}

}  // namespace pktpit::router
