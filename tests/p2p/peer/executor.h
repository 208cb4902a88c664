// SPDX-License-Identifier: BSD-3-Clause
/// Executes sections of verified programs (offload/peer_ops/operation.h). Knows no NIC, no lanes and no
/// batches: see engine.h. One thread.
#pragma once

#include <array>
#include <optional>

#include "offload/peer_ops/operation.h"
#include "tests/p2p/peer/bus.h"
#include "tests/p2p/peer/image.h"

namespace pktpit::test_peer {

/// What operations say of a packet, from one to the next and from program to program.
struct Packet {
    uint16_t port = 0;  ///< that it came in by, as the image numbers them
    uint8_t lane = 0;
    uint64_t header = 0;  ///< bus addresses, and room there
    uint64_t payload = 0;
    uint32_t header_room = 0;
    uint32_t payload_room = 0;
    uint32_t header_length = 0;
    uint32_t payload_length = 0;
    bool damaged = false;              ///< the NIC says so, or what it says cannot be
    std::optional<uint16_t> egress;    ///< port, by the image
    std::optional<uint8_t> to_lane;    ///< of a frame of the host's, who says where it leaves
    std::array<uint8_t, 192> slice{};  ///< the header's first bytes as they are to leave

    [[nodiscard]] uint32_t length() const { return header_length + payload_length; }
};

enum class Executed : uint8_t {
    done,
    waits,   ///< a poll is not satisfied
    failed,  ///< the packet does not fit what the program is for
};

class Executor {
  public:
    explicit Executor(Bus& bus) : bus_(bus) {}

    /// The packet section for the packet of number `sequence`. `image`: what look_up reads, or null.
    Executed packet(const offload::PeerProgram& program, uint64_t sequence, Packet& packet, Image* image);
    /// The commit section behind the last packet of a batch, the next one being `sequence`. Returns how many
    /// doorbells there were.
    uint64_t commit(const offload::PeerProgram& program, uint64_t sequence);

  private:
    Executed execute(const offload::PeerOperation& operation, uint64_t sequence, Packet* packet,
                     Image* image);
    Executed hand_over(const offload::PeerOperation& operation, uint64_t place, const Packet& packet) const;
    void take(const offload::PeerOperation& operation, uint64_t place, Packet& packet) const;
    void receive(uint64_t place, Packet& packet) const;
    void look_up(Packet& packet, Image* image) const;
    void rewrite(const Packet& packet) const;
    [[nodiscard]] bool satisfied(const offload::PeerOperation& operation, uint64_t place,
                                 uint64_t sequence) const;

    Bus& bus_;
    uint64_t doorbells_ = 0;
};

}  // namespace pktpit::test_peer
