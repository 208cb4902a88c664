// SPDX-License-Identifier: BSD-3-Clause
/// Bytes that begin as zeros and take up memory only where they were touched. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace pktpit::model {

class FlatMemory {
  public:
    explicit FlatMemory(size_t bytes)
        : bytes_(bytes), memory_(static_cast<std::byte*>(std::calloc(bytes + line, 1))) {
        if (!memory_) throw std::bad_alloc();
        const auto address = reinterpret_cast<uintptr_t>(memory_.get());
        first_ = memory_.get() + (line - address % line) % line;
    }
    [[nodiscard]] std::byte* at(uint64_t offset) const { return first_ + offset; }
    [[nodiscard]] size_t size() const { return bytes_; }
    [[nodiscard]] bool contains(uint64_t offset, uint64_t bytes) const {
        return offset <= bytes_ && bytes <= bytes_ - offset;
    }

  private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    static constexpr size_t line = 64;  ///< it begins at a cache line: FIB images do
    size_t bytes_;
    std::unique_ptr<std::byte, Free> memory_;
    std::byte* first_ = nullptr;
};

}  // namespace pktpit::model
