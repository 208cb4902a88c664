// SPDX-License-Identifier: BSD-3-Clause
/// A message as a stream sends it: what chunk by chunk goes to the router, and where the sums go. Called by
/// Stream, on its thread. A class for each kind of elements (int32_message.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pktpit::allreduce {

class Message {
  public:
    virtual ~Message() = default;

    [[nodiscard]] virtual uint32_t chunks() const = 0;
    /// Elements of a chunk, with those that fill it up to a multiple of 8 bytes.
    [[nodiscard]] virtual uint16_t count(uint32_t chunk) const = 0;
    /// Can it be written already?
    [[nodiscard]] virtual bool ready(uint32_t) const { return true; }
    /// Writes count() elements, and returns the exponent to go with them. The same again whenever it is asked
    /// for.
    virtual int8_t write(uint32_t chunk, std::span<uint8_t> bytes) const = 0;
    /// The sum of all workers' elements, and the largest of their exponents. Once for each chunk.
    virtual void read(uint32_t chunk, std::span<const uint8_t> bytes, int8_t exponent) = 0;
};

}  // namespace pktpit::allreduce
