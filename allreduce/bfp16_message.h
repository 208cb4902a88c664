// SPDX-License-Identifier: BSD-3-Clause
/// A vector of single-precision numbers as block floating point: each chunk's elements are 16-bit mantissas
/// with one exponent, the same at all workers, so that the router adds integers and every worker gets the
/// same bits. See message.h.
///
/// A chunk says which exponent the worker needs for the chunk `slots` later; the answer has the largest that
/// anybody needs. So as many small chunks as there are slots, or as the vector has, go ahead and bring
/// nothing but exponents. An exponent leaves the mantissas room for the sum of all workers'.
///
/// A chunk in which a worker has an infinity or what is no number becomes NaN at all workers. Numbers below
/// 2^-127 become 0.
#pragma once

#include <vector>

#include "allreduce/message.h"

namespace pktpit::allreduce {

class Bfp16Message : public Message {
  public:
    /// `in` and `out` are as long as each other, may be the same, and outlive this. `elements` of a chunk: a
    /// multiple of 4.
    Bfp16Message(std::span<const float> in, std::span<float> out, uint16_t elements, uint16_t slots,
                 uint16_t workers);

    [[nodiscard]] uint32_t chunks() const override { return ahead_ + blocks_; }
    [[nodiscard]] uint16_t count(uint32_t chunk) const override;
    [[nodiscard]] bool ready(uint32_t chunk) const override;
    int8_t write(uint32_t chunk, std::span<uint8_t> bytes) const override;
    void read(uint32_t chunk, std::span<const uint8_t> bytes, int8_t exponent) override;

    /// The largest mantissa of one worker of so many.
    static int32_t largest_mantissa(uint16_t workers) { return INT16_MAX / workers; }
    /// The smallest exponent with which these numbers' mantissas are no larger. not_finite: one is no number.
    static int8_t exponent_for(std::span<const float> numbers, int32_t largest);
    static constexpr int8_t not_finite = 127;
    static constexpr int8_t least_exponent = -126;

  private:
    [[nodiscard]] size_t first(uint32_t block) const { return size_t{block} * elements_; }
    [[nodiscard]] size_t own(uint32_t block) const;

    std::span<const float> in_;
    std::span<float> out_;
    uint16_t elements_;
    int32_t largest_;
    uint32_t blocks_;  ///< chunks with mantissas
    uint32_t ahead_;   ///< chunks in front of them, which bring the first blocks' exponents
    /// Of the block with this number modulo `ahead_`, as agreed.
    std::vector<int8_t> exponents_;
    std::vector<uint32_t> agreed_;  ///< number of that block plus 1; 0: none yet
};

}  // namespace pktpit::allreduce
