// SPDX-License-Identifier: BSD-3-Clause
/// A reader's view of a FIB image: longest-prefix match of one address, or of a batch at once, by the widest
/// instructions that the CPU has. Any number of threads, beside one writer (fib/image.h); reads only, never
/// locks, never allocates.
///
/// A thread that reads while a FibImage writes holds an EpochReader (fib/epochs.h) and is inside it during
/// each call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "fib/batch.h"
#include "fib/image.h"

namespace pktpit::fib {

/// Which instructions lookups of a batch use. All give the same answers.
enum class CpuVariant : uint8_t { scalar, avx2, avx512 };

/// "scalar", "avx2", "avx512".
std::string_view to_string(CpuVariant variant);
/// "auto" is the widest that this CPU has. Errors: an unknown name, or one that this CPU lacks.
Result<CpuVariant> parse_cpu_variant(std::string_view name);
[[nodiscard]] CpuVariant best_cpu_variant();
[[nodiscard]] bool cpu_has(CpuVariant variant);

/// An IPv6 address as on the wire.
using Ip6Bytes = std::array<uint8_t, 16>;

class FibReader {
  public:
    /// `image` as FibImage wrote it; must outlive this. `variant`: one that this CPU has.
    explicit FibReader(std::span<const std::byte> image, CpuVariant variant = best_cpu_variant());
    /// The same of memory that FibImage has not formatted yet, but will, for this geometry.
    FibReader(const std::byte* image, const pp_fib_geometry& geometry,
              CpuVariant variant = best_cpu_variant());

    /// Group id of the longest match, 0 if there is none. IPv4 addresses are in host byte order.
    [[nodiscard]] GroupId lookup(uint32_t address, TableId table = PP_FIB_DEFAULT_TABLE) const;
    [[nodiscard]] GroupId lookup(const Ip6Bytes& address, TableId table = PP_FIB_DEFAULT_TABLE) const;

    /// groups[i] becomes the answer for addresses[i]; both spans are of the same size, any size. Best in
    /// batches of 64: then the loads of all addresses are under way at the same time.
    void lookup_batch(std::span<const uint32_t> addresses, std::span<GroupId> groups,
                      TableId table = PP_FIB_DEFAULT_TABLE) const;
    void lookup_batch(std::span<const Ip6Bytes> addresses, std::span<GroupId> groups,
                      TableId table = PP_FIB_DEFAULT_TABLE) const;

    [[nodiscard]] CpuVariant variant() const { return variant_; }

  private:
    const std::byte* image_;
    pp_fib_geometry geometry_;
    CpuVariant variant_;
    pp_batch4* batch4_;
    pp_batch6* batch6_;
    const unsigned char* nodes_;
};

}  // namespace pktpit::fib
