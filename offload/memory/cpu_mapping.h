// SPDX-License-Identifier: BSD-3-Clause
/// Memory in this process's address space: a file's, a device's, or anonymous. For payload memory the CPU has
/// no business with it is mapped PROT_NONE, so that a touch is a SIGSEGV. Owned by one; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace pktpit::offload {

enum class CpuAccess : uint8_t { none, read, read_write };

class CpuMapping {
  public:
    CpuMapping() = default;
    /// Shared mapping of `bytes` from `offset` (multiples of the page size) of an open file or device, with
    /// read_write access. `what` names it in errors.
    static Result<CpuMapping> of_file(int descriptor, uint64_t offset, size_t bytes, const std::string& what);
    /// Hugepages of 2 MiB, locked. Error: the pool has too few.
    static Result<CpuMapping> of_hugepages(size_t bytes);
    /// Ordinary pages, locked in memory and touched, so that DMA finds them.
    static Result<CpuMapping> of_pages(size_t bytes);
    ~CpuMapping();
    CpuMapping(CpuMapping&& other) noexcept;
    CpuMapping& operator=(CpuMapping&& other) noexcept;

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    /// Of the pages that hold [offset, offset + length). False: the kernel refused.
    bool protect(size_t offset, size_t length, CpuAccess access) const;
    /// From now on memory of the process's own at the same place, with what was read there last: for when
    /// what is mapped goes away and somebody still reads. False: the kernel refused.
    bool become_private();
    void reset();

  private:
    explicit CpuMapping(std::span<std::byte> bytes) : bytes_(bytes) {}
    std::span<std::byte> bytes_;
};

}  // namespace pktpit::offload
