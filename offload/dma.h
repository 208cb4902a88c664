// SPDX-License-Identifier: BSD-3-Clause
/// DMA address spaces: what devices reach, and where. Setting up is one thread's, the daemon's; what is
/// mapped may be used by any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace pktpit::offload {

/// An address as a device puts it on the bus: through an IOMMU it is translated, in a PCIe switch it is what
/// routes.
using Iova = uint64_t;

enum class DmaAccess : uint8_t { read, read_write };

/// Memory that some devices reach at an IOVA: a VFIO container; a DPDK device; a model's address space.
class DmaDomain {
  public:
    virtual ~DmaDomain() = default;
    /// From now on the domain's devices reach `memory` at `iova`, as `access` says where there is an IOMMU
    /// that tells reads from writes. Both are multiples of the page size.
    virtual Result<void> map(std::span<std::byte> memory, Iova iova, DmaAccess access) = 0;
    /// When it returns, no device of the domain reaches it any more.
    virtual Result<void> unmap(Iova iova, size_t bytes) = 0;
};

/// Main memory that a driver shares with its device: descriptor rings, header cells. Mapped for as long as
/// the owner says.
struct DmaBuffer {
    std::span<std::byte> bytes;
    Iova iova = 0;
};

}  // namespace pktpit::offload
