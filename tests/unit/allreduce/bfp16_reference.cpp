// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/allreduce/bfp16_reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace pktpit::allreduce::test {
namespace {

double mantissa_of(double number, int exponent) {
    return std::nearbyint(std::ldexp(number, -exponent));
}

bool finite(std::span<const float> numbers) {
    return std::ranges::all_of(numbers, [](float one) { return std::isfinite(one); });
}

/// The smallest exponent, from -126 up, with which nobody's mantissa is too large.
int exponent_of(const std::vector<std::vector<float>>& vectors, size_t first, size_t count) {
    const double largest = std::floor(32767.0 / static_cast<double>(vectors.size()));
    double most = 0;
    for (const auto& vector : vectors)
        for (size_t i = first; i < first + count; i++)
            most = std::max(most, std::abs(double{vector[i]}));
    int exponent = most == 0 ? -126 : std::max(-126, std::ilogb(most) - 20);
    while (mantissa_of(most, exponent) > largest)
        exponent++;
    return exponent;
}

}  // namespace

std::vector<float> bfp16_sum(const std::vector<std::vector<float>>& vectors, size_t elements) {
    std::vector<float> sum(vectors.at(0).size());
    for (size_t first = 0; first < sum.size(); first += elements) {
        const size_t count = std::min(elements, sum.size() - first);
        const bool all_finite = std::ranges::all_of(vectors, [&](const std::vector<float>& vector) {
            return finite(std::span(vector).subspan(first, count));
        });
        const int exponent = all_finite ? exponent_of(vectors, first, count) : 0;
        for (size_t i = first; i < first + count; i++) {
            double mantissas = 0;
            for (const auto& vector : vectors)
                mantissas += mantissa_of(vector[i], exponent);
            sum[i] = all_finite ? static_cast<float>(std::ldexp(mantissas, exponent))
                                : std::numeric_limits<float>::quiet_NaN();
        }
    }
    return sum;
}

std::vector<float> any_floats(size_t count, size_t elements, bool infinite, std::mt19937& random) {
    std::vector<float> numbers(count);
    std::uniform_real_distribution<float> share(-1, 1);
    for (size_t first = 0; first < count; first += elements) {
        const int exponent = static_cast<int>(random() % 270) - 145;
        const unsigned kind = random() % 16;
        for (size_t i = first; i < std::min(count, first + elements); i++) {
            numbers[i] = std::ldexp(share(random), exponent);
            if (random() % 16 == 0) numbers[i] = 0;
            if (kind == 0) numbers[i] = 0;
            if (kind == 1) numbers[i] = std::numeric_limits<float>::max();
            if (kind == 2) numbers[i] = -std::numeric_limits<float>::max();
        }
        if (infinite && kind == 3) numbers[first] = std::numeric_limits<float>::infinity();
        if (infinite && kind == 4) numbers[first] = -std::numeric_limits<float>::quiet_NaN();
    }
    return numbers;
}

bool same_bits(std::span<const float> one, std::span<const float> other) {
    return one.size() == other.size() &&
           (one.empty() || std::memcmp(one.data(), other.data(), one.size_bytes()) == 0);
}

}  // namespace pktpit::allreduce::test
