// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as a peer program: an answer without a crash. What is decoded survives being written and read;
// what is verified reaches nothing but what is registered, tried address by address for places in the ring.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "offload/peer_ops/codec.h"
#include "offload/peer_ops/verifier.h"
#include "tests/unit/peer_ops/test_ring.h"

namespace {

using namespace pktpit::offload;

void demand(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "not so: %s\n", what);
    std::abort();
}

/// A second opinion, from the windows alone.
bool allowed(const PeerWindows& windows, uint64_t address, uint64_t bytes, const PeerOperation& operation) {
    return std::ranges::any_of(windows.all(), [&](const PeerWindow& window) {
        const bool right = operation.opcode == PeerOpcode::doorbell ? window.doorbell
                           : is_peer_poll(operation.opcode)         ? window.read
                                                                    : window.write && !window.doorbell;
        return right && address >= window.base && address - window.base < window.bytes &&
               bytes <= window.bytes - (address - window.base);
    });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const auto program = decode_peer_program(std::as_bytes(std::span(data, size)));
    if (!program) {
        demand(!program.error().message.empty(), "a refusal has a reason");
        return 0;
    }
    const auto bytes = encode(*program);
    demand(std::ranges::equal(bytes, std::as_bytes(std::span(data, size))),
           "what was read is what is written");
    const PeerWindows windows = test::windows();
    const auto good = verify(*program, windows, {.most_copied = 2048});
    if (!good) {
        demand(!good.error().where.empty() && !good.error().message.empty(), "a refusal says where and why");
        return 0;
    }
    for (const PeerOperation& operation : program->operations) {
        if (operation.opcode == PeerOpcode::fence) continue;
        for (uint64_t place :
             {uint64_t{0}, uint64_t{1}, uint64_t{operation.mask} / 2, uint64_t{operation.mask}})
            demand(allowed(windows, operation.address + (place & operation.mask) * operation.stride,
                           peer_access_bytes(operation), operation),
                   "every access is in a window that allows it");
    }
    return 0;
}
