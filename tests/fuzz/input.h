// SPDX-License-Identifier: BSD-3-Clause
/// An input that a fuzz target takes apart from the front. What it no longer has is zero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>

namespace pktpit::fuzz {

class Input {
  public:
    Input(const uint8_t* data, size_t size) : rest_(data, size) {}
    [[nodiscard]] bool empty() const { return rest_.empty(); }
    std::span<const uint8_t> bytes(size_t count) {
        const auto taken = rest_.first(std::min(count, rest_.size()));
        rest_ = rest_.subspan(taken.size());
        return taken;
    }
    template <class T>
    T take() {
        T value{};
        const auto taken = bytes(sizeof value);
        if (!taken.empty()) std::memcpy(&value, taken.data(), taken.size());
        return value;
    }
    uint8_t byte() { return take<uint8_t>(); }
    uint32_t below(uint32_t bound) { return take<uint16_t>() % bound; }
    /// The first byte is the highest one.
    uint64_t word(unsigned bytes) {
        uint64_t value = 0;
        for (unsigned i = 0; i < bytes; i++)
            value = value << 8 | byte();
        return value;
    }

  private:
    std::span<const uint8_t> rest_;
};

}  // namespace pktpit::fuzz
