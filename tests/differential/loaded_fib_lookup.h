// SPDX-License-Identifier: BSD-3-Clause
/// The longest-prefix match in eBPF (fib_lookup.bpf.c) over one image, run through BPF_PROG_TEST_RUN. Needs
/// root. One thread.
#pragma once

#include <memory>
#include <span>

#include "fib/reader.h"

struct fib_lookup;

namespace pktpit::test {

class LoadedFibLookup {
  public:
    explicit LoadedFibLookup(const pp_fib_geometry& geometry);
    ~LoadedFibLookup();
    LoadedFibLookup(const LoadedFibLookup&) = delete;
    LoadedFibLookup& operator=(const LoadedFibLookup&) = delete;

    /// The map's memory, where a FibImage writes.
    [[nodiscard]] std::span<std::byte> memory() const { return memory_; }
    /// As FibReader::lookup_batch().
    void lookup_batch(std::span<const uint32_t> addresses, std::span<fib::GroupId> groups,
                      fib::TableId table = PP_FIB_DEFAULT_TABLE) const;
    void lookup_batch(std::span<const fib::Ip6Bytes> addresses, std::span<fib::GroupId> groups,
                      fib::TableId table = PP_FIB_DEFAULT_TABLE) const;

    static bool permitted();

  private:
    struct SkeletonDelete {
        void operator()(fib_lookup* skeleton) const;
    };
    std::unique_ptr<fib_lookup, SkeletonDelete> skeleton_;
    std::span<std::byte> memory_;
};

}  // namespace pktpit::test
