// SPDX-License-Identifier: BSD-3-Clause
#include "allreduce/bfp16_message.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>

namespace pktpit::allreduce {
namespace {

/// Four mantissas are the least that a chunk may have.
constexpr uint16_t exponent_only = 4;

constexpr uint32_t sign_bit = 0x80000000;
constexpr uint32_t infinity_bits = 0x7f800000;

/// Added to a number below 2^22, its sum has the number rounded to the nearest integer (to even) in its
/// lowest bits, which compilers vectorise and lrint() not.
constexpr float rounder = 12582912.0F;  // 1.5 · 2^23

int32_t rounded(float number) {
    return static_cast<int32_t>(std::bit_cast<uint32_t>(number + rounder) - std::bit_cast<uint32_t>(rounder));
}

/// 2^exponent; normal for all exponents from least_exponent up and their negatives.
float power_of_two(int exponent) {
    return std::bit_cast<float>(static_cast<uint32_t>(exponent + 127) << 23);
}

}  // namespace

Bfp16Message::Bfp16Message(std::span<const float> in, std::span<float> out, uint16_t elements, uint16_t slots,
                           uint16_t workers)
    : in_(in),
      out_(out),
      elements_(elements),
      largest_(largest_mantissa(workers)),
      blocks_(static_cast<uint32_t>((in.size() + elements - 1) / elements)),
      ahead_(std::min<uint32_t>(slots, blocks_)),
      exponents_(ahead_),
      agreed_(ahead_) {
    assert(elements % 4 == 0 && in.size() == out.size());
}

// Without what fills the last one up.
size_t Bfp16Message::own(uint32_t block) const {
    return std::min<size_t>(elements_, in_.size() - first(block));
}

uint16_t Bfp16Message::count(uint32_t chunk) const {
    return chunk < ahead_ ? exponent_only : static_cast<uint16_t>((own(chunk - ahead_) + 3) & ~size_t{3});
}

bool Bfp16Message::ready(uint32_t chunk) const {
    if (chunk < ahead_) return true;
    const uint32_t block = chunk - ahead_;
    return agreed_[block % ahead_] == block + 1;
}

int8_t Bfp16Message::exponent_for(std::span<const float> numbers, int32_t largest) {
    int32_t most = 0;  // of the bits without the sign, which are in the order of the numbers
    for (const float number : numbers)
        most = std::max(most, static_cast<int32_t>(std::bit_cast<uint32_t>(number) & ~sign_bit));
    if (static_cast<uint32_t>(most) >= infinity_bits) return not_finite;
    const auto number = std::bit_cast<float>(most);
    if (number == 0) return least_exponent;
    // Mantissas have `bits` bits or one more.
    const int bits = static_cast<int>(std::bit_width(static_cast<uint32_t>(largest))) - 1;
    int exponent = std::max<int>(least_exponent, std::ilogb(number) - bits);
    while (rounded(number * power_of_two(-exponent)) > largest)
        exponent++;
    return static_cast<int8_t>(exponent);
}

int8_t Bfp16Message::write(uint32_t chunk, std::span<uint8_t> bytes) const {
    int8_t wish = least_exponent;
    if (chunk < blocks_) wish = exponent_for(in_.subspan(first(chunk), own(chunk)), largest_);
    const int8_t exponent = chunk < ahead_ ? not_finite : exponents_[(chunk - ahead_) % ahead_];
    size_t filled = 0;
    if (exponent != not_finite) {
        const auto numbers = in_.subspan(first(chunk - ahead_), own(chunk - ahead_));
        const float scale = power_of_two(-exponent);
        for (size_t i = 0; i < numbers.size(); i++) {
            const auto mantissa = static_cast<int16_t>(rounded(numbers[i] * scale));
            std::memcpy(bytes.data() + i * sizeof mantissa, &mantissa, sizeof mantissa);
        }
        filled = numbers.size() * sizeof(int16_t);
    }
    std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(filled), bytes.end(), uint8_t{0});
    return wish;
}

void Bfp16Message::read(uint32_t chunk, std::span<const uint8_t> bytes, int8_t exponent) {
    if (chunk >= ahead_) {
        const uint32_t block = chunk - ahead_;
        const auto sums = out_.subspan(first(block), own(block));
        const int8_t agreed = exponents_[block % ahead_];
        if (agreed == not_finite) {
            std::ranges::fill(sums, std::numeric_limits<float>::quiet_NaN());
        } else {
            const float scale = power_of_two(agreed);
            for (size_t i = 0; i < sums.size(); i++) {
                int16_t mantissa = 0;
                std::memcpy(&mantissa, bytes.data() + i * sizeof mantissa, sizeof mantissa);
                sums[i] = static_cast<float>(mantissa) * scale;
            }
        }
    }
    if (chunk >= blocks_) return;
    exponents_[chunk % ahead_] = exponent;
    agreed_[chunk % ahead_] = chunk + 1;
}

}  // namespace pktpit::allreduce
