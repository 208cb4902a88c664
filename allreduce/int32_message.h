// SPDX-License-Identifier: BSD-3-Clause
/// A vector of 32-bit integers, whose sum wraps as two's complement does. See message.h.
#pragma once

#include "allreduce/message.h"

namespace pktpit::allreduce {

class Int32Message : public Message {
  public:
    /// `in` and `out` are as long as each other, may be the same, and outlive this. `elements` of a chunk:
    /// even.
    Int32Message(std::span<const int32_t> in, std::span<int32_t> out, uint16_t elements)
        : in_(in), out_(out), elements_(elements) {}

    [[nodiscard]] uint32_t chunks() const override;
    [[nodiscard]] uint16_t count(uint32_t chunk) const override;
    int8_t write(uint32_t chunk, std::span<uint8_t> bytes) const override;
    void read(uint32_t chunk, std::span<const uint8_t> bytes, int8_t exponent) override;

  private:
    [[nodiscard]] size_t first(uint32_t chunk) const { return size_t{chunk} * elements_; }
    [[nodiscard]] size_t own(uint32_t chunk) const;

    std::span<const int32_t> in_;
    std::span<int32_t> out_;
    uint16_t elements_;
};

}  // namespace pktpit::allreduce
