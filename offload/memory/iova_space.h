// SPDX-License-Identifier: BSD-3-Clause
/// Where main memory is put in the address space that devices see. Behind a PCIe switch an address is also a
/// route: one inside a bridge window or a BAR goes to that device instead of up to the root, so such ranges
/// are kept free. One thread.
#pragma once

#include <optional>
#include <vector>

#include "offload/dma.h"

namespace pktpit::offload {

/// First and last address, inclusive, as the kernel lists both IOVA ranges and PCI windows.
struct IovaRange {
    Iova first = 0;
    Iova last = 0;
};

/// What is in both, each with ranges that do not overlap: what two IOMMU domains can translate.
std::vector<IovaRange> intersection(const std::vector<IovaRange>& one, const std::vector<IovaRange>& other);

class IovaSpace {
  public:
    /// All of these ranges, in any order, as VFIO_IOMMU_TYPE1_INFO_CAP_IOVA_RANGE names them. What lies below
    /// 1 MiB is never handed out, so that 0 is no address.
    explicit IovaSpace(std::vector<IovaRange> usable);

    /// Nothing will be handed out there, from now on and for good. A range that ends before it begins is
    /// none.
    void reserve(IovaRange range);
    /// The lowest free place, aligned to a power of two. Nothing if there is none.
    std::optional<Iova> allocate(uint64_t bytes, uint64_t alignment);
    /// Gives back what allocate() returned.
    void free(Iova iova, uint64_t bytes);
    /// Is all of it in usable ranges (reserved or not)? What a BAR must be, to be mapped at its bus address.
    [[nodiscard]] bool usable(IovaRange range) const;

  private:
    void take(IovaRange range);
    void give(IovaRange range);

    std::vector<IovaRange> usable_;
    std::vector<IovaRange> reserved_;
    std::vector<IovaRange> free_;  ///< by address, no two touch
};

}  // namespace pktpit::offload
