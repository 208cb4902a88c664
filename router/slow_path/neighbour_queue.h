// SPDX-License-Identifier: BSD-3-Clause
/// Packets that wait until the MAC address of their next hop is known.
///
/// One thread. Bounded per neighbour, in bytes, in neighbours and in time; where there is no room, the oldest
/// go. Packets of one neighbour come out in the order in which they went in.
///
/// Of each interface only so many neighbours are asked for at the same time: every question is an entry of
/// the kernel's table, and a scan of a connected net must not fill that (RFC 6583 section 7.1). Packets to
/// the others wait their turn.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <limits>
#include <list>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/address.h"
#include "router/slow_path/rate_limiter.h"

namespace pktpit::router {

struct NeighbourKey {
    uint16_t interface = 0;
    IpAddress next_hop;
    bool operator==(const NeighbourKey&) const = default;
};

struct WaitingPacket {
    /// The whole frame as it came in, or an IP packet that the router itself made.
    std::vector<uint8_t> bytes;
    Clock::time_point since;     ///< of its first waiting, if it has waited for another neighbour before
    bool own = false;            ///< made by the router itself
    uint16_t ingress_port = 0;   ///< else
    uint16_t own_interface = 0;  ///< of own packets: in whose VRF they are sent
};

class NeighbourQueue {
  public:
    static constexpr Clock::duration patience = std::chrono::seconds(3);
    /// Between two requests for one neighbour: the kernel itself asks the wire once a second.
    static constexpr Clock::duration request_interval = std::chrono::seconds(1);
    /// Requests a second in all: each is a system call, and a scan of a connected net asks for every address.
    static constexpr uint32_t request_rate = 2000;
    static constexpr uint32_t request_burst = 200;
    static constexpr size_t bytes_max = size_t{8} << 20;
    /// Charged for each packet besides its bytes.
    static constexpr size_t packet_overhead = 256;
    static constexpr size_t neighbours_max = 8192;

    /// A question without any answer, not even that there was none, is given up.
    static constexpr Clock::duration answer_within = std::chrono::seconds(10);

    /// `unresolved`: neighbours of an interface that are asked for at the same time.
    explicit NeighbourQueue(uint32_t packets_per_neighbour,
                            uint32_t unresolved = std::numeric_limits<uint32_t>::max())
        : packets_per_neighbour_(packets_per_neighbour), unresolved_(unresolved) {}
    void set_limits(uint32_t packets_per_neighbour, uint32_t unresolved) {
        packets_per_neighbour_ = packets_per_neighbour;
        unresolved_ = unresolved;
    }

    struct Pushed {
        bool request = false;       ///< ask for the neighbour now
        bool put_off = false;       ///< not asked, since too many of the interface are
        size_t dropped_full = 0;    ///< packets given up because the neighbour has too many
        size_t dropped_memory = 0;  ///< packets given up because all have too many
    };
    Pushed push(const NeighbourKey& key, WaitingPacket packet, Clock::time_point now);
    /// All that waits for the neighbour, which is forgotten.
    std::vector<WaitingPacket> take(const NeighbourKey& key);
    /// All that waits for the neighbour; when it was asked for last is remembered.
    std::vector<WaitingPacket> take_failed(const NeighbourKey& key);
    std::vector<WaitingPacket> take_expired(Clock::time_point now);
    /// Forgets all neighbours of an interface; returns how many packets that dropped.
    size_t drop_interface(uint16_t interface);
    /// Neighbours to ask for (again) now; they count as asked.
    std::vector<NeighbourKey> due_requests(Clock::time_point now);

    /// Neighbours of the interface that have been asked for and have not answered yet.
    [[nodiscard]] size_t unanswered(uint16_t interface) const;
    /// Packets that wait for this neighbour.
    [[nodiscard]] size_t waiting(const NeighbourKey& key) const;
    /// Every neighbour that packets wait for, and how many do.
    [[nodiscard]] std::vector<std::pair<NeighbourKey, size_t>> all_waiting() const;
    [[nodiscard]] size_t packets() const { return order_.size(); }
    [[nodiscard]] size_t bytes() const { return bytes_; }
    [[nodiscard]] size_t neighbours() const { return neighbours_.size(); }

  private:
    struct KeyHash {
        size_t operator()(const NeighbourKey& key) const noexcept {
            return std::hash<IpAddress>{}(key.next_hop) ^ key.interface * size_t{0x9e3779b97f4a7c15};
        }
    };
    struct Node {
        NeighbourKey key;
        WaitingPacket packet;
    };
    using Order = std::list<Node>;  // all packets, those that wait longest first
    struct Neighbour {
        std::deque<Order::iterator> waiting;
        bool asked = false;
        bool unanswered = false;  ///< counted in `unanswered_`
        Clock::time_point asked_at;
    };
    using Neighbours = std::unordered_map<NeighbourKey, Neighbour, KeyHash>;

    static size_t charge(const WaitingPacket& packet) { return packet.bytes.size() + packet_overhead; }
    void drop_oldest_of(Neighbour& neighbour);
    void drop_oldest();
    size_t make_room_for_neighbour();
    enum class Asked : uint8_t { yes, no, put_off };
    Asked ask(const NeighbourKey& key, Neighbour& neighbour, Clock::time_point now);
    void answered(const NeighbourKey& key, Neighbour& neighbour);
    std::vector<WaitingPacket> empty(Neighbour& neighbour);

    uint32_t packets_per_neighbour_;
    uint32_t unresolved_;
    std::unordered_map<uint16_t, size_t> unanswered_;  ///< by interface
    size_t bytes_ = 0;
    Order order_;
    Neighbours neighbours_;
    TokenBucket requests_;
    const TokenBucket::Rate request_limit_ = TokenBucket::rate(request_rate, request_burst);
};

}  // namespace pktpit::router
