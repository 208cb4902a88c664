// SPDX-License-Identifier: BSD-3-Clause
#include "offload/peer_ops/forwarding.h"

#include "offload/peer_ops/compiler.h"

namespace pktpit::offload {
namespace {

using Op = PeerOpcode;
using From = PeerOperand;

constexpr uint32_t descriptor_done = 1;
constexpr uint32_t rx_status_at = 8;   ///< of a written-back descriptor its status and errors
constexpr uint32_t tx_status_at = 28;  ///< of a pair the second descriptor's status
constexpr uint32_t pair_bytes = 32;
// Legacy transmit commands (82574 datasheet 7.2.9.2): end of packet, insert FCS, report status.
constexpr uint64_t insert_fcs = 1U << 25;
constexpr uint64_t last_piece = 1U << 24 | insert_fcs | 1U << 27;

}  // namespace

PeerProgram compile_receive(const PeerNic& nic, uint64_t image, uint32_t image_bytes, uint16_t port,
                            uint64_t generation) {
    const uint32_t mask = nic.rx_entries - 1;
    PeerProgram program{generation, port, 0, {}};
    program.operations = {
        {Op::poll_and, From::immediate, false, 0, nic.rx_ring + rx_status_at, descriptor_done,
         peer_receive_descriptor_bytes, mask},
        {Op::receive, From::immediate, false, peer_receive_descriptor_bytes, nic.rx_ring, 0,
         peer_receive_descriptor_bytes, mask},
        {Op::header, From::immediate, false, nic.cell_bytes, nic.cells, 0, nic.cell_bytes, mask},
        {Op::payload, From::immediate, false, nic.payload_bytes, nic.payloads, 0, nic.payload_bytes, mask},
        {Op::look_up, From::immediate, false, image_bytes, image, 0, 0, 0},
        {.opcode = Op::rewrite}};
    program.commit_at = static_cast<uint16_t>(program.operations.size());
    return program;
}

PeerProgram compile_refill(const PeerNic& nic, uint16_t port, uint64_t generation) {
    const uint32_t mask = nic.rx_entries - 1;
    PeerProgram program{generation, port, 1, {}};
    program.operations = {
        {Op::copy_block, From::place, false, peer_receive_descriptor_bytes, nic.rx_ring, nic.rx_templates,
         peer_receive_descriptor_bytes, mask},
        {},
        {Op::ring_tail, From::sequence, false, 0, nic.rx_tail, 0, peer_receive_descriptor_bytes / 16, mask}};
    return program;
}

PeerProgram compile_transmit(const PeerNic& nic, uint16_t port, uint64_t generation) {
    const uint32_t mask = nic.tx_pairs - 1;
    PeerProgram program{generation, port, 0, {}};
    const auto store = [&](uint32_t at, From piece, uint64_t flags) {
        program.operations.push_back(
            {Op::store_qword, piece, false, 0, nic.tx_ring + at, flags, pair_bytes, mask});
    };
    program.operations.push_back({Op::poll_and, From::immediate, false, 0, nic.tx_ring + tx_status_at,
                                  descriptor_done, pair_bytes, mask});
    store(0, From::first_address, 0);
    store(8, From::first_length, insert_fcs);
    store(16, From::second_address, 0);
    store(24, From::second_length, last_piece);
    program.commit_at = static_cast<uint16_t>(program.operations.size());
    program.operations.emplace_back();
    program.operations.push_back({Op::ring_tail, From::sequence, false, 0, nic.tx_tail, 0, 2, mask});
    return program;
}

PeerProgram compile_sent(const PeerNic& nic, uint16_t port, uint64_t generation) {
    PeerProgram program{generation, port, 1, {}};
    program.operations = {{Op::poll_and, From::immediate, false, 0, nic.tx_ring + tx_status_at,
                           descriptor_done, pair_bytes, nic.tx_pairs - 1}};
    return program;
}

PeerProgram compile_take(const PeerFrameQueue& queue, uint64_t generation) {
    PeerProgram program{generation, 0, 2, {}};
    program.operations = {{Op::poll_geq, From::sequence, false, 0, queue.tail, 1, 0, 0},
                          {Op::take_frame, From::immediate, false, queue.slot_bytes, queue.slots, 0,
                           queue.slot_bytes, queue.entries - 1},
                          {},
                          {Op::store_dword, From::sequence, false, 0, queue.completions, 0, 0, 0}};
    return program;
}

PeerProgram compile_hand_over(const PeerFrameQueue& queue, uint64_t generation) {
    return compile_egress(
        {queue.slots, queue.tail, queue.completions, queue.entries, queue.slot_bytes, queue.slot_bytes}, 0,
        generation);
}

}  // namespace pktpit::offload
