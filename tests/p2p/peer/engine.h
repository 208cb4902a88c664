// SPDX-License-Identifier: BSD-3-Clause
/// The simulated peer device: polls NICs' receive rings, decides by the FIB image in its memory, and sends by
/// other NICs' rings, by the programs that the host has put there and with no part of the host's CPU. What it
/// cannot decide it puts into a queue for the host; what the host sends it takes from another. One thread.
///
/// A turn takes up to `batch` frames of each source, rings one doorbell for each egress that got some, learns
/// which have left, and hands their descriptors back, with one doorbell a NIC.
#pragma once

#include <array>
#include <vector>

#include "tests/p2p/peer/executor.h"
#include "tests/p2p/peer/table.h"

namespace pktpit::test_peer {

class Engine {
  public:
    static constexpr size_t batch = 20;

    Engine(std::span<std::byte> memory, Doorbells& doorbells, std::vector<Reach> reach)
        : memory_(memory),
          reach_(std::move(reach)),
          bus_(memory, doorbells),
          executor_(bus_),
          was_reset_(offload::load_shared(control().loaded) != 0) {}

    /// Returns how many frames there were.
    size_t turn();
    /// Of the table in use: windows and programs that were not taken, and why the last.
    [[nodiscard]] uint64_t refused() const { return table_.refused; }
    [[nodiscard]] const std::string& refusal() const { return table_.refusal; }
    [[nodiscard]] uint64_t serial() const { return table_.serial; }

  private:
    static constexpr uint8_t host = offload::most_peer_lanes;  ///< as a source: the queue of its frames

    /// Frames that came in by one ring and leave its places in order.
    struct Source {
        uint64_t taken = 0;      ///< frames, ever
        uint64_t released = 0;   ///< places that may be given back
        uint64_t given = 0;      ///< descriptors handed to the NIC; frames of the host's said to be taken out
        std::vector<bool> left;  ///< by place: the frame has left, or was dropped
    };
    /// A frame in a transmit ring.
    struct Sent {
        uint8_t source = 0;
        uint32_t incarnation = 0;  ///< of the source
        uint64_t sequence = 0;
    };
    struct Lane {
        bool present = false;
        uint16_t port = 0;
        uint32_t incarnation = 0;
        const offload::PeerProgram* receive = nullptr;
        const offload::PeerProgram* refill = nullptr;
        const offload::PeerProgram* transmit = nullptr;
        const offload::PeerProgram* sent = nullptr;
        Source source;
        uint64_t stored = 0;  ///< pairs of transmit descriptors, ever
        uint64_t committed = 0;
        uint64_t gone = 0;
        std::vector<Sent> ring;  ///< by place
    };

    void load();
    void refuse_what_was_before();
    void place(const LoadedProgram& loaded);
    void restart(Lane& lane, const offload::PeerProgramEntry& entry);
    [[nodiscard]] uint64_t generation() const;
    [[nodiscard]] bool usable(const offload::PeerProgram* program, uint64_t generation) const {
        return program && generation != 0 && program->generation >= generation;
    }
    size_t receive(uint8_t index, uint64_t generation);
    size_t take(uint64_t generation);
    void decide(Packet& packet, uint64_t sequence, uint64_t generation);
    bool transmit(Lane& lane, Packet& packet, uint64_t sequence, uint64_t generation);
    void hand_over(Packet& packet, uint64_t sequence, uint64_t generation);
    void commit(uint64_t generation);
    void see_what_left(uint64_t generation);
    void give_back(uint64_t generation);
    void leave(uint8_t source, uint32_t incarnation, uint64_t sequence);
    [[nodiscard]] Source& source_of(uint8_t index) { return index == host ? host_ : lanes_[index].source; }
    [[nodiscard]] Lane* lane_of(uint16_t port);
    [[nodiscard]] offload::PeerControl& control() const {
        return *reinterpret_cast<offload::PeerControl*>(memory_.data());
    }
    [[nodiscard]] offload::PeerLaneCounters& counters(uint8_t lane) const;

    std::span<std::byte> memory_;
    std::vector<Reach> reach_;
    Bus bus_;
    Executor executor_;
    bool was_reset_;  ///< and the host goes by what the device knew before
    Table table_;
    std::array<Lane, offload::most_peer_lanes> lanes_;
    const offload::PeerProgram* take_ = nullptr;
    const offload::PeerProgram* hand_over_ = nullptr;
    uint32_t queues_incarnation_ = 0;
    uint32_t known_from_ =
        0;  ///< incarnations before that are of this process's earlier life: it knows no rings
    Source host_;
    uint64_t handed_over_ = 0;
    uint64_t handed_over_committed_ = 0;
};

}  // namespace pktpit::test_peer
