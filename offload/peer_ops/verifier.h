// SPDX-License-Identifier: BSD-3-Clause
/// What a program must be before a device executes it: every address, for every place in a ring, within one
/// registered window that allows the access; aligned; operands where they mean something; a fence between
/// relaxed writes and the doorbell that tells of them; and of a forwarding peer's program that it looks up
/// only a frame that it has, and rewrites only what was looked up. Pure; any thread.
#pragma once

#include "base/result.h"
#include "offload/peer_ops/operation.h"
#include "offload/peer_ops/windows.h"

namespace pktpit::offload {

struct PeerVerifyOptions {
    uint32_t most_copied = 65536;  ///< bytes of one copied block
    bool need_fences = true;       ///< false: for experiments with what a missing fence does
    bool forwards = false;         ///< the device receives, looks up and sends (PeerOpcode behind `doorbell`)
};

/// Errors name the operation ("operation 3: doorbell"), the address, and what is registered.
Result<void> verify(const PeerProgram& program, const PeerWindows& windows,
                    const PeerVerifyOptions& options = {});

}  // namespace pktpit::offload
