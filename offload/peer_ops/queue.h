// SPDX-License-Identifier: BSD-3-Clause
/// A queue pair in PeerDirect Async's way: the CPU posts work requests, which rings no doorbell; commit()
/// makes one program of all that are pending, for the peer to execute when it has the data; peek() makes a
/// program that waits for completions; later the CPU consumes them with poll(). No CPU between post() and
/// poll(). Control loop's thread.
#pragma once

#include <optional>
#include <vector>

#include "base/result.h"
#include "offload/peer_ops/compiler.h"

namespace pktpit::offload {

struct PeerWorkRequest {
    uint64_t source = 0;  ///< bus address, in the executing device's memory
    uint32_t bytes = 0;
    uint8_t port = 0;     ///< of the egress device
    uint32_t cookie = 0;  ///< handed through: in the descriptor
};

/// What the egress device finds in front of a frame: 16 bytes.
struct PeerDescriptor {
    uint64_t where = 0;  ///< bus address of the frame
    uint16_t length = 0;
    uint8_t port = 0;
    uint8_t lap = 0;  ///< 1 + (sequence / entries) % 255: tells an old one from a new one; 0: never written
    uint32_t cookie = 0;
};
static_assert(sizeof(PeerDescriptor) == peer_descriptor_bytes);
inline constexpr uint8_t peer_descriptor_lap(uint64_t sequence, uint32_t entries) {
    return static_cast<uint8_t>(1 + sequence / entries % 255);
}

class PeerQueue {
  public:
    PeerQueue(const PeerRing& ring, uint16_t egress, const PeerCompileOptions& options = {});

    /// Errors: the ring is full of what has not been consumed; longer than a slot, or empty.
    Result<void> post(const PeerWorkRequest& request);
    /// Of all that have been posted and not committed: copy each block and its descriptor, then fence and
    /// doorbell. Nothing: none is pending, or more than most_in_program() are.
    std::optional<PeerProgram> commit(uint64_t generation);
    /// Waits until `count` committed requests more than have been consumed are complete. Errors: so many have
    /// not been committed.
    Result<PeerProgram> peek(uint64_t count, uint64_t generation) const;
    /// The egress device's counter of completions, as it was read: how many are new. They are consumed.
    /// Errors: more than have been committed.
    Result<uint64_t> poll(uint32_t completed);

    [[nodiscard]] uint64_t posted() const { return posted_; }
    [[nodiscard]] uint64_t committed() const { return committed_; }
    [[nodiscard]] uint64_t consumed() const { return consumed_; }
    /// Requests in one program, at most.
    [[nodiscard]] size_t most_in_program() const { return options_.doorbell_for_each ? 40 : 80; }

  private:
    void add(PeerProgram& program, const PeerWorkRequest& request, uint64_t sequence) const;
    void add_doorbell(PeerProgram& program, uint64_t count) const;

    PeerRing ring_;
    uint16_t egress_;
    PeerCompileOptions options_;
    std::vector<PeerWorkRequest> pending_;
    uint64_t posted_ = 0, committed_ = 0, consumed_ = 0;
};

}  // namespace pktpit::offload
