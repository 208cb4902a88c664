// SPDX-License-Identifier: BSD-3-Clause
/// Peer operations: what one device (the peer) does to another's rings and doorbells by itself, after a
/// program that the CPU compiled before. The kinds are those of PeerDirect Async (OpenFabrics workshop 2017;
/// ibv_peer_commit_qp() and ibv_peer_peek_cq() yield such programs), and one for doorbells of its own, so
/// that the verifier can tell a doorbell from a store. Plain values; any thread.
///
/// A program has two sections. The packet section is executed once for each packet of a batch; there
/// addresses may go on with the packet's place in a ring, and values may come from the packet. The commit
/// section is executed once, behind the last packet.
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
};
inline constexpr uint8_t last_peer_opcode = 8;
std::string_view to_string(PeerOpcode opcode);  ///< "store dword", …

/// Where a value, or the bytes of a copied block, come from.
enum class PeerOperand : uint8_t {
    immediate = 0,  ///< `value`; of a copied block the address of its source, in the executing device
    packet,         ///< copy_block: the packet's block: its descriptor and behind it its frame
    sequence,  ///< of a packet's operation its number in the ring plus `value`; of a commit the next one's
};
inline constexpr uint8_t last_peer_operand = 2;

struct PeerOperation {
    PeerOpcode opcode = PeerOpcode::fence;
    PeerOperand operand = PeerOperand::immediate;
    bool relaxed = false;  ///< writes: with the relaxed ordering attribute
    uint32_t bytes = 0;    ///< copy_block: most that may be copied; else 0
    uint64_t address = 0;  ///< bus address, for sequence 0; of a fence 0
    uint64_t value = 0;
    uint32_t stride = 0;  ///< address of sequence n: address + (n & mask) × stride
    uint32_t mask = 0;    ///< 2^k - 1; 0: the address stays

    bool operator==(const PeerOperation&) const = default;
};

/// Bytes that it reads or writes at its address.
[[nodiscard]] uint32_t peer_access_bytes(const PeerOperation& operation);
[[nodiscard]] bool is_peer_poll(PeerOpcode opcode);
[[nodiscard]] bool is_peer_write(PeerOpcode opcode);  ///< doorbells included

struct PeerProgram {
    uint64_t generation = 0;  ///< of the FIB that it was compiled from: older ones are not executed
    uint16_t egress = 0;      ///< whose it is: the compiler's numbering of devices
    uint16_t commit_at = 0;   ///< index of the first operation of the commit section
    std::vector<PeerOperation> operations;

    bool operator==(const PeerProgram&) const = default;
};

inline constexpr size_t most_peer_operations = 256;
inline constexpr uint32_t peer_descriptor_bytes = 16;

}  // namespace pktpit::offload
