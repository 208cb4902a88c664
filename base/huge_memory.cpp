// SPDX-License-Identifier: BSD-3-Clause
#include "base/huge_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace pktpit {
namespace {

constexpr size_t huge_page = 2u << 20;

}  // namespace

Result<HugeMemory> HugeMemory::map(size_t bytes) {
    HugeMemory memory;
    if (bytes == 0) return memory;
    const size_t mapped = (bytes + huge_page - 1) / huge_page * huge_page;
    const size_t reserved = mapped + huge_page;
    void* place =
        mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        return fail({}, "no " + std::to_string(reserved >> 20) + " MiB of memory: " + std::strerror(errno));
    auto* first = static_cast<std::byte*>(place);
    const size_t before = -reinterpret_cast<uintptr_t>(first) % huge_page;
    if (before > 0) munmap(first, before);
    memory.data_ = first + before;
    memory.size_ = bytes;
    memory.mapped_ = mapped;
    munmap(memory.data_ + mapped, huge_page - before);
    madvise(memory.data_, mapped, MADV_HUGEPAGE);  // refused where the kernel has none: small pages then
    return memory;
}

HugeMemory::HugeMemory(HugeMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, 0)) {}

HugeMemory& HugeMemory::operator=(HugeMemory&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(mapped_, other.mapped_);
    return *this;
}

HugeMemory::~HugeMemory() {
    if (data_) munmap(data_, mapped_);
}

}  // namespace pktpit
