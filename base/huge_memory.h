// SPDX-License-Identifier: BSD-3-Clause
/// Anonymous memory for a FIB image outside of a BPF map: aligned to 2 MiB and, where the kernel has them, in
/// transparent huge pages, since a lookup's loads are so far apart that 4 KiB pages cost TLB misses. One
/// owner. Zero; pages are taken when first written.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/result.h"

namespace pktpit {

class HugeMemory {
  public:
    HugeMemory() = default;
    static Result<HugeMemory> map(size_t bytes);
    HugeMemory(HugeMemory&& other) noexcept;
    HugeMemory& operator=(HugeMemory&& other) noexcept;
    ~HugeMemory();

    [[nodiscard]] std::span<std::byte> bytes() const { return {data_, size_}; }

  private:
    std::byte* data_ = nullptr;
    size_t size_ = 0;    ///< as asked for
    size_t mapped_ = 0;  ///< whole huge pages
};

}  // namespace pktpit
