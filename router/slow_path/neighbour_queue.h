// SPDX-License-Identifier: BSD-3-Clause
/// Packets that wait until the MAC address of their next hop is known.
///
/// One thread. Bounded per neighbour, in bytes, in neighbours and in time. Where one neighbour has too many
/// packets, its oldest go; where all together take too much, it is the group that takes most which gives way.
/// Packets of one neighbour come out in the order in which they went in.
///
/// Who is asked for, and when, is up to NeighbourTurns.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "router/slow_path/neighbour_turns.h"

namespace pktpit::router {

struct WaitingPacket {
    /// The whole frame as it came in, or an IP packet that the router itself made.
    std::vector<uint8_t> bytes;
    Clock::time_point since;         ///< of its first waiting, if it has waited for another neighbour before
    bool own = false;                ///< made by the router itself
    uint16_t ingress_port = 0;       ///< else
    uint16_t own_interface = 0;      ///< of own packets: in whose VRF they are sent
    uint16_t ingress_interface = 0;  ///< whose turn it takes; 0 for own packets
};

class NeighbourQueue {
  public:
    static constexpr Clock::duration patience = std::chrono::seconds(3);
    /// Between two requests for one neighbour: the kernel itself asks the wire once a second.
    static constexpr Clock::duration request_interval = std::chrono::seconds(1);
    static constexpr size_t bytes_max = size_t{8} << 20;
    /// Charged for each packet besides its bytes.
    static constexpr size_t packet_overhead = 256;
    /// Neighbours that packets wait for.
    static constexpr size_t neighbours_max = 8192;

    /// A question without any answer, not even that there was none, is given up.
    static constexpr Clock::duration answer_within = std::chrono::seconds(10);

    /// `unresolved`: neighbours of an interface and a family that are asked for at the same time.
    explicit NeighbourQueue(uint32_t packets_per_neighbour,
                            uint32_t unresolved = std::numeric_limits<uint32_t>::max())
        : packets_per_neighbour_(packets_per_neighbour), turns_(unresolved) {}
    void set_limits(uint32_t packets_per_neighbour, uint32_t unresolved) {
        packets_per_neighbour_ = packets_per_neighbour;
        turns_.set_slots(unresolved);
    }

    struct Pushed {
        bool request = false;       ///< ask for the neighbour now
        bool put_off = false;       ///< not asked, since too many are; its turn will come
        size_t dropped_full = 0;    ///< packets given up because the neighbour has too many
        size_t dropped_memory = 0;  ///< packets given up because all have too many
    };
    Pushed push(const NeighbourKey& key, WaitingPacket packet, Clock::time_point now);
    /// All that waits for the neighbour, which has answered.
    std::vector<WaitingPacket> take(const NeighbourKey& key);
    /// All that waits for the neighbour, which does not answer; when it was asked for last is remembered.
    /// Nothing if it waits for its turn: then it has not been asked this time.
    std::vector<WaitingPacket> take_failed(const NeighbourKey& key);
    struct Expired {
        std::vector<WaitingPacket> packets;
        size_t not_asked = 0;  ///< how many of them waited for neighbours whose turn never came
    };
    Expired take_expired(Clock::time_point now);
    /// Forgets all neighbours of an interface; returns how many packets that dropped.
    size_t drop_interface(uint16_t interface);

    struct Requests {
        std::vector<NeighbourKey> ask;       ///< (again); they count as asked
        std::vector<NeighbourKey> withdraw;  ///< their slots are others', they need not be asked any more
    };
    /// What is due now. It looks at every neighbour.
    Requests due_requests(Clock::time_point now);
    /// The neighbours whose turn has come, after a slot has come back.
    std::vector<NeighbourKey> next_requests(Clock::time_point now);

    /// Neighbours of the interface that have been asked for and have not answered yet.
    [[nodiscard]] size_t unanswered(uint16_t interface, Family family) const {
        return turns_.slots(interface, family);
    }
    /// Packets that wait for this neighbour.
    [[nodiscard]] size_t waiting(const NeighbourKey& key) const;
    /// Every neighbour that packets wait for, and how many do.
    [[nodiscard]] std::vector<std::pair<NeighbourKey, size_t>> all_waiting() const;
    [[nodiscard]] size_t packets() const { return packets_; }
    [[nodiscard]] size_t bytes() const { return bytes_; }
    [[nodiscard]] size_t neighbours() const { return neighbours_.size(); }

  private:
    struct Node {
        NeighbourKey key;
        WaitingPacket packet;
    };
    using Order = std::list<Node>;  // those that wait longest first
    struct Group {
        Order order;
        size_t bytes = 0;
        size_t neighbours = 0;  ///< for which its packets were the first to wait
    };
    using Groups = std::map<NeighbourGroup, Group>;  // those with anything in them
    struct Neighbour {
        std::deque<Order::iterator> waiting;
        NeighbourGroup group;  ///< whose packet was the first, while something waits
        bool asked = false;
        Clock::time_point asked_at;
        /// Asked for less than a second ago, so that it is not asked for again.
        [[nodiscard]] bool rests(Clock::time_point now) const {
            return asked && now - asked_at < request_interval;
        }
    };
    using Neighbours = std::unordered_map<NeighbourKey, Neighbour, NeighbourKeyHash>;

    static size_t charge(const WaitingPacket& packet) { return packet.bytes.size() + packet_overhead; }
    void ask(const NeighbourKey& key, Neighbour& neighbour, uint16_t ingress, Clock::time_point now,
             Pushed& result);
    void count_asked(const std::vector<NeighbourKey>& keys, Clock::time_point now);
    WaitingPacket remove(Neighbour& neighbour, const std::deque<Order::iterator>::iterator& place);
    void drop_oldest(Group& group);
    size_t make_room_for_neighbour(const NeighbourGroup& group);
    std::vector<WaitingPacket> empty(const NeighbourKey& key, Neighbour& neighbour);

    uint32_t packets_per_neighbour_;
    NeighbourTurns turns_;
    size_t bytes_ = 0;
    size_t packets_ = 0;
    size_t waited_for_ = 0;  ///< neighbours for which packets wait
    Groups groups_;
    Neighbours neighbours_;
};

}  // namespace pktpit::router
