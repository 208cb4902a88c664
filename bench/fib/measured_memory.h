// SPDX-License-Identifier: BSD-3-Clause
/// Memory for what is measured: in huge pages where the kernel has them free, so that TLB misses are those of
/// the structure and not of 4 KiB pages. One owner.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "base/huge_memory.h"

namespace pktpit::bench::fib {

class MeasuredMemory {
  public:
    MeasuredMemory() = default;
    /// Zeroed and populated. Throws Failure when there is no memory.
    explicit MeasuredMemory(size_t bytes);

    [[nodiscard]] std::span<std::byte> bytes() const { return memory_.bytes(); }

  private:
    HugeMemory memory_;
};

/// This process's anonymous memory in huge pages, bytes; 0 where the kernel does not tell.
size_t bytes_in_huge_pages();

template <class T>
requires std::is_trivially_copyable_v<T>
class HugeArray {
  public:
    HugeArray() = default;
    explicit HugeArray(std::span<const T> values) : memory_(values.size_bytes()) {
        if (!values.empty()) std::memcpy(memory_.bytes().data(), values.data(), values.size_bytes());
    }
    [[nodiscard]] std::span<const T> view() const {
        return {reinterpret_cast<const T*>(memory_.bytes().data()), memory_.bytes().size() / sizeof(T)};
    }

  private:
    MeasuredMemory memory_;
};

}  // namespace pktpit::bench::fib
