// SPDX-License-Identifier: BSD-3-Clause
/// A forwarding peer's memory with one NIC, an image and a queue, and the windows that belong to it.
#pragma once

#include "offload/peer_ops/forwarding.h"
#include "offload/peer_ops/windows.h"

namespace pktpit::offload::test {

inline constexpr uint64_t peer = 0x4000'0000, registers = 0x9000'0000, image = peer + 0x100000;
inline constexpr uint32_t image_bytes = 0x10000;
inline constexpr PeerNic nic{peer,
                             peer + 0x4000,
                             peer + 0x2000,
                             peer + 0x6000,
                             peer + 0x8000,
                             registers + 0x2818,
                             registers + 0x3818,
                             64,
                             32,
                             128,
                             2048};
inline constexpr PeerFrameQueue queue{peer + 0x40000, peer + 0x80000, peer + 0x80040, 16, 2240};

inline PeerWindows forwarding_windows() {
    PeerWindows made;
    (void)made.add({nic.rx_ring, 64 * 32, true, true, false, true, "receive ring"});
    (void)made.add({nic.tx_ring, 64 * 16, true, true, false, true, "transmit ring"});
    (void)made.add({nic.rx_templates, 64 * 32, true, false, false, true, "templates"});
    (void)made.add({nic.cells, 64 * 128, true, true, false, true, "headers"});
    (void)made.add({nic.payloads, 64 * 2048, true, false, false, true, "payloads"});
    (void)made.add({nic.rx_tail, 4, false, false, true, false, "RDT"});
    (void)made.add({nic.tx_tail, 4, false, false, true, false, "TDT"});
    (void)made.add({image, image_bytes, true, false, false, true, "image"});
    (void)made.add({queue.slots, 16 * 2240, true, true, false, true, "frames"});
    (void)made.add({queue.tail, 8, true, false, true, true, "tail"});
    (void)made.add({queue.completions, 4, true, true, false, true, "completions"});
    return made;
}

}  // namespace pktpit::offload::test
