// SPDX-License-Identifier: BSD-3-Clause
/// The programs of a forwarding peer: five for each NIC, one for frames to the daemon, one for frames of its.
/// Compiled by the control plane when ports or memory change; routes change in the FIB image alone. Pure; any
/// thread.
///
/// A packet stays where it came in. Receive descriptor n of a NIC always has header cell n and payload slot
/// n, so that each address follows from the packet's number; the descriptor is given back when the packet has
/// left, in the order of the ring.
#pragma once

#include <cstdint>

#include "offload/peer_ops/operation.h"

namespace pktpit::offload {

/// A NIC's rings and slots, as bus addresses.
struct PeerNic {
    uint64_t rx_ring = 0;       ///< split receive descriptors, 32 bytes each
    uint64_t rx_templates = 0;  ///< as many: each as it is handed to the NIC
    uint64_t tx_ring = 0;       ///< pairs of legacy transmit descriptors, 32 bytes a pair
    uint64_t cells = 0;         ///< headers
    uint64_t payloads = 0;
    uint64_t rx_tail = 0;     ///< the register: counts 16 bytes
    uint64_t tx_tail = 0;     ///< counts descriptors
    uint32_t rx_entries = 0;  ///< a power of two
    uint32_t tx_pairs = 0;    ///< a power of two
    uint32_t cell_bytes = 0;  ///< from cell to cell, and header room
    uint32_t payload_bytes = 0;
};

/// A ring of frames, each behind its PeerDescriptor, that producer and consumer count in memory.
struct PeerFrameQueue {
    uint64_t slots = 0;
    uint64_t tail = 0;         ///< a qword: frames that have been put in since the beginning
    uint64_t completions = 0;  ///< a dword: frames that have been taken out
    uint32_t entries = 0;      ///< a power of two
    uint32_t slot_bytes = 0;   ///< descriptor included
};

/// Waits for a written-back descriptor, takes the frame, decides, rewrites its header.
PeerProgram compile_receive(const PeerNic& nic, uint64_t image, uint32_t image_bytes, uint16_t port,
                            uint64_t generation);
/// Hands descriptors to the NIC again; one doorbell.
PeerProgram compile_refill(const PeerNic& nic, uint16_t port, uint64_t generation);
/// Waits for room, stores two descriptors; fence, one doorbell.
PeerProgram compile_transmit(const PeerNic& nic, uint16_t port, uint64_t generation);
/// Waits until a frame has left.
PeerProgram compile_sent(const PeerNic& nic, uint16_t port, uint64_t generation);
/// Waits for a frame of the daemon's and takes it; says how many have been taken out.
PeerProgram compile_take(const PeerFrameQueue& queue, uint64_t generation);
/// Waits for room, copies a frame as a block; fence, doorbell: compile_egress() of this queue.
PeerProgram compile_hand_over(const PeerFrameQueue& queue, uint64_t generation);

}  // namespace pktpit::offload
