// SPDX-License-Identifier: BSD-3-Clause
/// 2 MiB pages for DPDK, taken from the kernel at start and given back however the process ends
/// (bench/harness/caretaker.h). Create it before any thread.
#pragma once

#include <cstddef>
#include <string>

#include "bench/harness/caretaker.h"

namespace pktpit::bench::harness {

inline constexpr size_t hugepage_bytes = 2u << 20;
inline constexpr const char* hugepage_directory = "/sys/kernel/mm/hugepages/hugepages-2048kB";

/// What is to be added so that `needed` are free.
constexpr size_t pages_to_add(size_t needed, size_t free) {
    return needed > free ? needed - free : 0;
}
/// The pool's size once `added` pages are given back: others may have grown or shrunk it meanwhile.
constexpr size_t pages_to_leave(size_t total, size_t added) {
    return total > added ? total - added : 0;
}

class HugepageReservation {
  public:
    /// Tries to have `bytes` in free pages. Where that is refused (no root, no memory) what was free before
    /// stays as it was, and enough() is false. `directory` has the kernel's files nr_hugepages and
    /// free_hugepages.
    explicit HugepageReservation(size_t bytes, const std::string& directory = hugepage_directory);

    [[nodiscard]] bool enough() const { return pages_.result() != refused; }
    [[nodiscard]] size_t added() const { return enough() ? static_cast<size_t>(pages_.result()) : 0; }

  private:
    static constexpr int64_t refused = -1;
    Caretaker pages_;  ///< its result: pages added, or `refused`
};

}  // namespace pktpit::bench::harness
