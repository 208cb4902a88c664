// SPDX-License-Identifier: BSD-3-Clause
/// Peer programs as bytes, as they are handed from the CPU to a device: a header of 24 bytes and 32 for each
/// operation, little-endian. decode() trusts nothing; what it accepts is well formed, but may still reach for
/// any address: see verifier.h. Any thread.
///
/// Header: magic (4), version (2), operations (2), generation (8), egress (2), commit_at (2), 0 (4).
/// Operation: opcode (1), operand (1), flags (1; bit 0 relaxed), 0 (1), bytes (4), address (8), value (8),
/// stride (4), mask (4).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"
#include "offload/peer_ops/operation.h"

namespace pktpit::offload {

inline constexpr uint32_t peer_program_magic = 0x4f504b50;  // "PKPO"
inline constexpr uint16_t peer_program_version = 1;
inline constexpr size_t peer_header_bytes = 24;
inline constexpr size_t peer_operation_bytes = 32;

std::vector<std::byte> encode(const PeerProgram& program);
/// Errors: cut short or too long, another magic or version, no operation or too many, an unknown opcode,
/// operand or flag, bytes that must be 0; `where` says which ("operation 3").
Result<PeerProgram> decode_peer_program(std::span<const std::byte> bytes);

}  // namespace pktpit::offload
