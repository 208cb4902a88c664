/// 2 MiB pages for DPDK, taken from the kernel at start and given back however the process ends, SIGKILL
/// included: a child process holds the reservation and releases it when its parent is gone. Create it before
/// any thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>

namespace pktpit::bench {

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
    ~HugepageReservation();
    HugepageReservation(const HugepageReservation&) = delete;
    HugepageReservation& operator=(const HugepageReservation&) = delete;

    [[nodiscard]] bool enough() const { return enough_; }
    [[nodiscard]] size_t added() const { return added_; }

  private:
    bool enough_ = false;
    size_t added_ = 0;
    int alive_ = -1;  ///< the pipe whose end tells the child that this process is gone
    pid_t child_ = -1;
};

}  // namespace pktpit::bench
