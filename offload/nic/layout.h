// SPDX-License-Identifier: BSD-3-Clause
/// What every chip asks of a layout and of the memory for its rings. Setting up only.
#pragma once

#include <cstddef>

#include "base/result.h"
#include "offload/nic/nic.h"

namespace pktpit::offload {

constexpr size_t ring_alignment = 4096;

constexpr size_t whole_pages(size_t bytes) {
    return (bytes + ring_alignment - 1) & ~(ring_alignment - 1);
}

/// Errors: a size that NicLayout does not allow, rings that are too small or not aligned to a page.
Result<void> check_layout(const NicLayout& layout, const DmaBuffer& rings, size_t ring_bytes);

}  // namespace pktpit::offload
