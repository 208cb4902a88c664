// SPDX-License-Identifier: BSD-3-Clause
/// Where a worker's slots are, counted by each side for itself. Shown to people and checked by tests.
#pragma once

#include <cstdint>

namespace pktpit::offload {

struct SlotCounts {
    uint32_t total = 0;
    uint32_t free = 0;
    uint32_t receive = 0;   ///< in receive rings, to be filled or filled
    uint32_t transmit = 0;  ///< in transmit rings, to be sent or sent
    uint32_t retired = 0;   ///< in rings of sockets that are closed, until the kernel lets go of them
    /// What nobody has. Not 0 only by a bug.
    [[nodiscard]] int64_t lost() const { return int64_t{total} - free - receive - transmit - retired; }
};

}  // namespace pktpit::offload
