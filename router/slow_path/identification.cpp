// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/identification.h"

namespace pktpit::router {
namespace {

constexpr unsigned rounds = 8;

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
uint64_t mixed(uint64_t value) {
    value += 0x9e3779b97f4a7c15;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9;
    value = (value ^ value >> 27) * 0x94d049bb133111eb;
    return value ^ value >> 31;
}

}  // namespace

// A Feistel network permutes all 65,536 values; each time that they are used up it is another one.
uint16_t Identifications::next() {
    const auto number = static_cast<uint16_t>(given_);
    const uint64_t key = mixed(secret_ ^ given_ >> 16);
    given_++;
    auto left = static_cast<uint8_t>(number >> 8);
    auto right = static_cast<uint8_t>(number);
    for (unsigned round = 0; round < rounds; round++) {
        const auto next = static_cast<uint8_t>(left ^ mixed(key + (uint64_t{round} << 8 | right)) >> 56);
        left = right;
        right = next;
    }
    return static_cast<uint16_t>(left << 8 | right);
}

}  // namespace pktpit::router
