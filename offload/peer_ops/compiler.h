// SPDX-License-Identifier: BSD-3-Clause
/// From an egress to the program that ingress devices execute for its packets. Called by the control loop
/// when the FIB's generation changes. Pure; any thread.
#pragma once

#include "offload/peer_ops/operation.h"

namespace pktpit::offload {

/// An egress device's ring for one ingress device, as bus addresses.
struct PeerRing {
    uint64_t slots = 0;        ///< each a descriptor and behind it a frame
    uint64_t doorbell = 0;     ///< a qword: entries that have been filled since the beginning
    uint64_t completions = 0;  ///< a dword in the ingress device: entries that have been given back
    uint32_t entries = 0;      ///< a power of two
    uint32_t slot_bytes = 0;   ///< descriptor included
    uint32_t stride = 0;       ///< from slot to slot

    [[nodiscard]] uint64_t slot(uint64_t sequence) const {
        return slots + (sequence & (entries - 1)) * stride;
    }
};

struct PeerCompileOptions {
    bool fence = true;
    bool relaxed = false;            ///< relaxed ordering for all writes
    bool doorbell_for_each = false;  ///< instead of one for each batch
};

/// For each packet: wait for room in the ring, copy descriptor and frame as one block. Then: fence, doorbell.
PeerProgram compile_egress(const PeerRing& ring, uint16_t egress, uint64_t generation,
                           const PeerCompileOptions& options = {});

}  // namespace pktpit::offload
