// SPDX-License-Identifier: BSD-3-Clause
#include "offload/peer_ops/compiler.h"

namespace pktpit::offload {

PeerProgram compile_egress(const PeerRing& ring, uint16_t egress, uint64_t generation,
                           const PeerCompileOptions& options) {
    PeerProgram program{generation, egress, 0, {}};
    const uint32_t mask = ring.entries - 1;
    const auto ring_doorbell = [&] {
        if (options.fence) program.operations.emplace_back();
        program.operations.push_back({PeerOpcode::doorbell, PeerOperand::sequence, options.relaxed, 0,
                                      ring.doorbell, program.commit_at ? uint64_t{0} : uint64_t{1}, 0, 0});
    };
    // Entry n is free when n + 1 - entries have been given back: in a circle, so that the first lap waits for
    // nothing.
    program.operations.push_back({PeerOpcode::poll_geq, PeerOperand::sequence, false, 0, ring.completions,
                                  uint64_t{1} - ring.entries, 0, 0});
    program.operations.push_back({PeerOpcode::copy_block, PeerOperand::packet, options.relaxed,
                                  ring.slot_bytes, ring.slots, 0, ring.stride, mask});
    if (options.doorbell_for_each) ring_doorbell();
    program.commit_at = static_cast<uint16_t>(program.operations.size());
    if (!options.doorbell_for_each) ring_doorbell();
    return program;
}

}  // namespace pktpit::offload
