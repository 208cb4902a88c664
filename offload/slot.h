// SPDX-License-Identifier: BSD-3-Clause
/// A slot: the place where a packet's payload waits, and with it the RAM cell that holds its header. Both are
/// found by the slot's index alone. A slot is owned by exactly one side at any time: the pool, a NIC's
/// receive ring, the control loop, or a NIC's transmit ring.
#pragma once

#include <cstdint>

namespace pktpit::offload {

struct Slot {
    uint8_t region = 0;  ///< which payload memory
    uint32_t index = 0;  ///< within it
    bool operator==(const Slot&) const = default;
};

}  // namespace pktpit::offload
