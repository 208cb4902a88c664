// SPDX-License-Identifier: BSD-3-Clause
/// Random numbers that are the same with every standard library: <random>'s distributions are not.
#pragma once

#include <cstdint>
#include <random>

namespace pktpit::bench::fib {

using Random = std::mt19937_64;

/// Uniform in [0, limit); 0 if limit is 0.
inline uint64_t below(Random& random, uint64_t limit) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(random()) * limit >> 64);
}

/// Uniform in [0, 1).
inline double unit(Random& random) {
    return static_cast<double>(random() >> 11) * 0x1p-53;
}

}  // namespace pktpit::bench::fib
