// SPDX-License-Identifier: BSD-3-Clause
/// Memory of which a domain's devices may write a part and read all. The control plane's thread.
#pragma once

#include <span>

#include "offload/dma.h"

namespace pktpit::offload {

/// Offset and length in bytes.
struct ByteRange {
    uint64_t first = 0;
    uint64_t bytes = 0;
};

/// Maps `memory` at `iova`: what `writable` names for reading and writing, the rest for reading alone. The
/// ranges are whole pages, ascending and apart; empty ones count for nothing. Error: the domain's; then
/// nothing of it stays mapped.
Result<void> map_partly_writable(DmaDomain& domain, std::span<std::byte> memory, Iova iova,
                                 std::span<const ByteRange> writable);

}  // namespace pktpit::offload
