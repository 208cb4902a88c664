// SPDX-License-Identifier: BSD-3-Clause
/// Peer operations: what one device (the peer) does to another's rings and doorbells by itself, after a
/// program that the CPU compiled before. The kinds are those of PeerDirect Async (OpenFabrics workshop 2017;
/// ibv_peer_commit_qp() and ibv_peer_peek_cq() yield such programs), and one for doorbells of its own, so
/// that the verifier can tell a doorbell from a store. Plain values; any thread.
///
/// A program has two sections. The packet section is executed once for each packet of a batch; there
/// addresses may go on with the packet's place in a ring, and values may come from the packet. The commit
/// section is executed once, behind the last packet.
///
/// Operations behind `doorbell` are a forwarding peer's: one that receives from a NIC's ring, decides and
/// sends by another's, with no CPU (docs/peer.md). What such a packet is, it carries from operation to
/// operation: where its header and its payload lie, how long they are, what was decided. The NIC's
/// descriptors are the 82574's, split ones to receive and legacy ones to send (datasheet 7.1.10, 7.2.9).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace pktpit::offload {

enum class PeerOpcode : uint8_t {
    store_dword = 1,
    store_qword,
    copy_block,  ///< `bytes` at most, from the program's, or from a packet
    fence,       ///< what was written before is there before what is written behind
    poll_and,    ///< until (dword & value) is not 0
    poll_nor,    ///< until (dword | value) is not all ones
    poll_geq,    ///< until dword is at or behind value, counting in a circle
    doorbell,    ///< a qword that makes its target look at its ring
    receive,     ///< takes a frame's lengths from a receive descriptor that was written back
    header,      ///< the frame's header lies here, in `bytes` of room
    payload,     ///< and its payload here
    look_up,     ///< longest-prefix match and adjacency, in the FIB image that lies here
    rewrite,     ///< of the header, in place, as the look-up says: MAC addresses, TTL, checksum
    take_frame,  ///< a frame that lies here behind its PeerDescriptor, which says where it leaves
    ring_tail,   ///< a dword doorbell: ((sequence + value) & mask) × stride, a ring's tail in a NIC's units
};
inline constexpr uint8_t last_model_opcode = 8;  ///< what a device knows that only copies
inline constexpr uint8_t last_peer_opcode = 15;
std::string_view to_string(PeerOpcode opcode);  ///< "store dword", …

/// Where a value, or the bytes of a copied block, come from.
enum class PeerOperand : uint8_t {
    immediate = 0,  ///< `value`; of a copied block the address of its source, in the executing device
    packet,         ///< copy_block: the packet's block: its descriptor and behind it its frame
    sequence,  ///< of a packet's operation its number in the ring plus `value`; of a commit the next one's
    place,     ///< copy_block: from `value` + (n & mask) × stride, in the executing device
    // store_qword: `value` | one of these. A frame is sent in two pieces: header and payload; one that has no
    // payload, its first 14 bytes and the rest.
    first_address,
    first_length,
    second_address,
    second_length,
};
inline constexpr uint8_t last_model_operand = 2;
inline constexpr uint8_t last_peer_operand = 7;

struct PeerOperation {
    PeerOpcode opcode = PeerOpcode::fence;
    PeerOperand operand = PeerOperand::immediate;
    bool relaxed = false;  ///< writes: with the relaxed ordering attribute
    /// copy_block: most that may be copied; receive, header, payload, look_up, take_frame: room there; else 0
    uint32_t bytes = 0;
    uint64_t address = 0;  ///< bus address, for sequence 0; of a fence and of a rewrite 0
    uint64_t value = 0;
    uint32_t stride = 0;  ///< address of sequence n: address + (n & mask) × stride; not of ring_tail
    uint32_t mask = 0;    ///< 2^k - 1; 0: the address stays

    bool operator==(const PeerOperation&) const = default;
};

/// Bytes that it reads or writes at its address.
[[nodiscard]] uint32_t peer_access_bytes(const PeerOperation& operation);
[[nodiscard]] bool is_peer_poll(PeerOpcode opcode);
[[nodiscard]] bool is_peer_write(PeerOpcode opcode);  ///< doorbells included
[[nodiscard]] bool is_peer_doorbell(PeerOpcode opcode);
/// Tells the executing device about a packet: nothing is written but by `rewrite`, where the header lies.
[[nodiscard]] bool is_peer_packet_step(PeerOpcode opcode);
/// One of a packet's two pieces.
[[nodiscard]] bool is_peer_piece(PeerOperand operand);

struct PeerProgram {
    uint64_t generation = 0;  ///< of the FIB that it was compiled from: older ones are not executed
    uint16_t egress = 0;      ///< whose it is: the compiler's numbering of devices
    uint16_t commit_at = 0;   ///< index of the first operation of the commit section
    std::vector<PeerOperation> operations;

    bool operator==(const PeerProgram&) const = default;
};

inline constexpr size_t most_peer_operations = 256;
inline constexpr uint32_t peer_descriptor_bytes = 16;
inline constexpr uint32_t peer_receive_descriptor_bytes = 32;

}  // namespace pktpit::offload
