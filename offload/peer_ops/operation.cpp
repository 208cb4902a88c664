// SPDX-License-Identifier: BSD-3-Clause
#include "offload/peer_ops/operation.h"

#include <array>

namespace pktpit::offload {

std::string_view to_string(PeerOpcode opcode) {
    static constexpr std::array<std::string_view, last_peer_opcode> names = {
        "store dword", "store qword", "copy block", "fence",      "poll and",
        "poll nor",    "poll geq",    "doorbell",   "receive",    "header",
        "payload",     "look up",     "rewrite",    "take frame", "ring tail"};
    return names.at(static_cast<size_t>(opcode) - 1);
}

uint32_t peer_access_bytes(const PeerOperation& operation) {
    switch (operation.opcode) {
        case PeerOpcode::store_dword:
        case PeerOpcode::poll_and:
        case PeerOpcode::poll_nor:
        case PeerOpcode::poll_geq:
        case PeerOpcode::ring_tail:
            return 4;
        case PeerOpcode::store_qword:
        case PeerOpcode::doorbell:
            return 8;
        case PeerOpcode::copy_block:
        case PeerOpcode::receive:
        case PeerOpcode::header:
        case PeerOpcode::payload:
        case PeerOpcode::look_up:
        case PeerOpcode::take_frame:
            return operation.bytes;
        case PeerOpcode::fence:
        case PeerOpcode::rewrite:
            return 0;
    }
    return 0;
}

bool is_peer_poll(PeerOpcode opcode) {
    return opcode == PeerOpcode::poll_and || opcode == PeerOpcode::poll_nor || opcode == PeerOpcode::poll_geq;
}

bool is_peer_write(PeerOpcode opcode) {
    return opcode == PeerOpcode::store_dword || opcode == PeerOpcode::store_qword ||
           opcode == PeerOpcode::copy_block || is_peer_doorbell(opcode);
}

bool is_peer_doorbell(PeerOpcode opcode) {
    return opcode == PeerOpcode::doorbell || opcode == PeerOpcode::ring_tail;
}

bool is_peer_packet_step(PeerOpcode opcode) {
    return opcode >= PeerOpcode::receive && opcode <= PeerOpcode::take_frame;
}

bool is_peer_piece(PeerOperand operand) {
    return operand >= PeerOperand::first_address;
}

}  // namespace pktpit::offload
