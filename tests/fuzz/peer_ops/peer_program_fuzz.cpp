// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a peer program: an answer without a crash. What is decoded survives being written and read;
// what is verified reaches nothing but what is registered, tried address by address for places in the ring.
#include <algorithm>

#include "offload/peer_ops/codec.h"
#include "offload/peer_ops/verifier.h"
#include "tests/fuzz/demand.h"
#include "tests/unit/peer_ops/test_nic.h"
#include "tests/unit/peer_ops/test_ring.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit::offload;

/// A second opinion, from the windows alone.
bool allowed(const PeerWindows& windows, uint64_t address, uint64_t bytes, const PeerOperation& operation) {
    return std::ranges::any_of(windows.all(), [&](const PeerWindow& window) {
        const bool right = is_peer_doorbell(operation.opcode)      ? window.doorbell
                           : is_peer_poll(operation.opcode)        ? window.read
                           : is_peer_packet_step(operation.opcode) ? window.read && window.own
                                                                   : window.write && !window.doorbell;
        return right && address >= window.base && address - window.base < window.bytes &&
               bytes <= window.bytes - (address - window.base);
    });
}

/// Every place of every operation of what was verified.
void demand_all_allowed(const PeerProgram& program, const PeerWindows& windows) {
    for (const PeerOperation& operation : program.operations) {
        if (operation.opcode == PeerOpcode::fence || operation.opcode == PeerOpcode::rewrite) continue;
        const uint64_t stride = operation.opcode == PeerOpcode::ring_tail ? 0 : operation.stride;
        for (uint64_t place :
             {uint64_t{0}, uint64_t{1}, uint64_t{operation.mask} / 2, uint64_t{operation.mask}}) {
            demand(allowed(windows, operation.address + (place & operation.mask) * stride,
                           peer_access_bytes(operation), operation),
                   "every access is in a window that allows it");
            if (operation.opcode != PeerOpcode::copy_block || operation.operand == PeerOperand::packet)
                continue;
            const uint64_t moved = operation.operand == PeerOperand::place ? place & operation.mask : 0;
            const PeerWindow* from =
                windows.find(operation.value + moved * operation.stride, operation.bytes);
            demand(from && from->own && from->read, "every source is the device's own");
        }
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto program = decode_peer_program(std::as_bytes(std::span(data, size)));
    if (!program) return pktpit::fuzz::refused(program.error());
    const auto bytes = encode(*program);
    demand(std::ranges::equal(bytes, std::as_bytes(std::span(data, size))),
           "what was read is what is written");
    for (const bool forwards : {false, true}) {
        const PeerWindows windows =
            forwards ? pktpit::offload::test::forwarding_windows() : pktpit::offload::test::windows();
        const auto good = verify(*program, windows, {.most_copied = 4096, .forwards = forwards});
        if (good)
            demand_all_allowed(*program, windows);
        else
            demand(!good.error().where.empty() && !good.error().message.empty(),
                   "a refusal says where and why");
    }
    return 0;
}
