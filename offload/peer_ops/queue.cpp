// SPDX-License-Identifier: BSD-3-Clause
#include "offload/peer_ops/queue.h"

#include <array>
#include <bit>

namespace pktpit::offload {

PeerQueue::PeerQueue(const PeerRing& ring, uint16_t egress, const PeerCompileOptions& options)
    : ring_(ring), egress_(egress), options_(options) {}

Result<void> PeerQueue::post(const PeerWorkRequest& request) {
    if (request.bytes == 0 || request.bytes > ring_.slot_bytes - peer_descriptor_bytes)
        return fail("post", std::to_string(request.bytes) + " bytes",
                    "1 to " + std::to_string(ring_.slot_bytes - peer_descriptor_bytes));
    if (posted_ - consumed_ == ring_.entries)
        return fail("post", "the ring is full", "at most " + std::to_string(ring_.entries) + " not consumed",
                    "consume completions first");
    pending_.push_back(request);
    posted_++;
    return {};
}

void PeerQueue::add(PeerProgram& program, const PeerWorkRequest& request, uint64_t sequence) const {
    const uint64_t slot = ring_.slot(sequence);
    const uint64_t frame = slot + peer_descriptor_bytes;
    program.operations.push_back({PeerOpcode::copy_block, PeerOperand::immediate, options_.relaxed,
                                  request.bytes, frame, request.source, 0, 0});
    const PeerDescriptor descriptor{frame, static_cast<uint16_t>(request.bytes), request.port,
                                    peer_descriptor_lap(sequence, ring_.entries), request.cookie};
    const auto words = std::bit_cast<std::array<uint64_t, 2>>(descriptor);
    for (size_t i = 0; i < words.size(); i++)
        program.operations.push_back({PeerOpcode::store_qword, PeerOperand::immediate, options_.relaxed, 0,
                                      slot + i * sizeof(uint64_t), words[i], 0, 0});
}

void PeerQueue::add_doorbell(PeerProgram& program, uint64_t count) const {
    if (options_.fence) program.operations.emplace_back();
    program.operations.push_back(
        {PeerOpcode::doorbell, PeerOperand::immediate, options_.relaxed, 0, ring_.doorbell, count, 0, 0});
}

std::optional<PeerProgram> PeerQueue::commit(uint64_t generation) {
    if (pending_.empty() || pending_.size() > most_in_program()) return std::nullopt;
    PeerProgram program{generation, egress_, 0, {}};
    for (const PeerWorkRequest& request : pending_) {
        add(program, request, committed_++);
        if (options_.doorbell_for_each) add_doorbell(program, committed_);
    }
    if (!options_.doorbell_for_each) add_doorbell(program, committed_);
    pending_.clear();
    return program;
}

Result<PeerProgram> PeerQueue::peek(uint64_t count, uint64_t generation) const {
    if (count == 0 || count > committed_ - consumed_)
        return fail("peek", std::to_string(count) + " completions",
                    "1 to " + std::to_string(committed_ - consumed_) + ", as many as are committed",
                    "commit first");
    PeerProgram program{generation, egress_, 0, {}};
    program.operations.push_back({PeerOpcode::poll_geq, PeerOperand::immediate, false, 0, ring_.completions,
                                  static_cast<uint32_t>(consumed_ + count), 0, 0});
    return program;
}

Result<uint64_t> PeerQueue::poll(uint32_t completed) {
    const uint32_t fresh = completed - static_cast<uint32_t>(consumed_);
    if (fresh > committed_ - consumed_)
        return fail("poll", std::to_string(fresh) + " completions",
                    "at most " + std::to_string(committed_ - consumed_), "the counter is not this queue's");
    consumed_ += fresh;
    return fresh;
}

}  // namespace pktpit::offload
