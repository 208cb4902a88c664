// SPDX-License-Identifier: BSD-3-Clause
/// What the sum of block floating point is, by its definition and in double precision: for tests.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace pktpit::allreduce::test {

/// The bits that each worker is to get. `vectors`: of all workers, as long as each other.
std::vector<float> bfp16_sum(const std::vector<std::vector<float>>& vectors, size_t elements);

/// Of all magnitudes, each block of one of its own; zeros, denormals, and the largest among them. `infinite`:
/// some blocks have an element that is no number.
std::vector<float> any_floats(size_t count, size_t elements, bool infinite, std::mt19937& random);

/// NaN is like itself.
bool same_bits(std::span<const float> one, std::span<const float> other);

}  // namespace pktpit::allreduce::test
