// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/cpu_mapping.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/errno_text.h"

namespace pktpit::offload {
namespace {

constexpr size_t huge_page = 2 << 20;

size_t round_up(size_t bytes, size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

std::span<std::byte> as_span(void* memory, size_t bytes) {
    return {static_cast<std::byte*>(memory), bytes};
}

}  // namespace

Result<CpuMapping> CpuMapping::of_file(int descriptor, uint64_t offset, size_t bytes,
                                       const std::string& what) {
    void* memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, static_cast<off_t>(offset));
    if (memory == MAP_FAILED)
        return fail(what, "cannot be mapped: " + errno_text(errno), "memory that user space may map",
                    "kernel lockdown and CONFIG_IO_STRICT_DEVMEM forbid it; a driver may hold the device");
    return CpuMapping(as_span(memory, bytes));
}

Result<CpuMapping> CpuMapping::of_hugepages(size_t bytes) {
    const size_t whole = round_up(bytes, huge_page);
    void* memory = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return fail("hugepages", "cannot take " + std::to_string(whole >> 20) + " MiB: " + errno_text(errno),
                    std::to_string(whole / huge_page) + " free hugepages of 2 MiB",
                    "sysctl vm.nr_hugepages, or a smaller /vfio/payload_memory/size_mib");
    return CpuMapping(as_span(memory, whole));
}

Result<CpuMapping> CpuMapping::of_pages(size_t bytes) {
    const size_t whole = round_up(bytes, static_cast<size_t>(sysconf(_SC_PAGESIZE)));
    void* memory = mmap(nullptr, whole, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        return fail("memory", "cannot take " + std::to_string(whole >> 10) + " KiB: " + errno_text(errno),
                    "memory that may be locked", "ulimit -l");
    return CpuMapping(as_span(memory, whole));
}

CpuMapping::~CpuMapping() {
    reset();
}

CpuMapping::CpuMapping(CpuMapping&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

CpuMapping& CpuMapping::operator=(CpuMapping&& other) noexcept {
    if (this != &other) {
        reset();
        bytes_ = std::exchange(other.bytes_, {});
    }
    return *this;
}

bool CpuMapping::become_private() {
    const std::vector<std::byte> content(bytes_.begin(), bytes_.end());
    void* at = mmap(bytes_.data(), bytes_.size(), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (at == MAP_FAILED) return false;
    std::memcpy(at, content.data(), content.size());
    return true;
}

void CpuMapping::reset() {
    if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
    bytes_ = {};
}

bool CpuMapping::protect(size_t offset, size_t length, CpuAccess access) const {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    const size_t begin = offset / page * page;
    const size_t end = round_up(offset + length, page);
    if (length == 0 || end > round_up(bytes_.size(), page)) return false;
    const int protection = access == CpuAccess::none   ? PROT_NONE
                           : access == CpuAccess::read ? PROT_READ
                                                       : PROT_READ | PROT_WRITE;
    return mprotect(bytes_.data() + begin, end - begin, protection) == 0;
}

}  // namespace pktpit::offload
