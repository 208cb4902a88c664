// SPDX-License-Identifier: BSD-3-Clause
/// A ring of 64 entries and the windows that belong to it.
#pragma once

#include "offload/peer_ops/compiler.h"
#include "offload/peer_ops/windows.h"

namespace pktpit::offload::test {

inline constexpr uint64_t own = 0x1000'0000, egress = 0x2000'0000;
inline constexpr PeerRing ring{egress, egress + 0x50000, own + 0x80000, 64, 2048, 2048};

inline PeerWindows windows() {
    PeerWindows made;
    (void)made.add({own, 0x80000, true, false, false, true, "own slots"});
    (void)made.add({own + 0x80000, 64, true, false, false, true, "completions"});
    (void)made.add({egress, 64 * 2048, false, true, false, false, "landing"});
    (void)made.add({egress + 0x50000, 8, false, false, true, false, "doorbell"});
    return made;
}

}  // namespace pktpit::offload::test
