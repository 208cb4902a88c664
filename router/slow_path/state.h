// SPDX-License-Identifier: BSD-3-Clause
/// What the slow path holds, and the steps of its work. Private to router/slow_path.
#pragma once

#include <array>

#include "router/forward/packet.h"
#include "router/slow_path/counters.h"
#include "router/slow_path/icmp.h"
#include "router/slow_path/identification.h"
#include "router/slow_path/link.h"
#include "router/slow_path/neighbour_queue.h"
#include "router/slow_path/rate_limiter.h"
#include "router/slow_path/redirect_limiter.h"
#include "router/slow_path/slow_path.h"

namespace pktpit::router {

/// A transit packet on its way through one call.
struct Transit {
    uint16_t port = 0;
    Bytes frame;
    Clock::time_point since;  ///< when it arrived
    Clock::time_point now;
    bool give_up = false;  ///< has waited long enough: host unreachable instead of the queue
    ImageView image;
    Decision decision;
    Packet packet;             ///< in `frame`
    bool has_options = false;  ///< IPv4 options that the router acts on
};

struct SlowPath::State {
    State(SlowPathEnvironment& environment, const config::Icmp& icmp, uint32_t neighbour_queue,
          uint32_t neighbours_unresolved);

    // transit.cpp
    void handle(uint16_t port, Bytes frame, Clock::time_point since, Clock::time_point now, bool give_up);
    bool accept_options(Transit& transit);
    bool look_past_options(Transit& transit);
    void forward_whole(const Transit& transit);
    void forward_rewritten(Transit& transit);
    void too_big(Transit& transit, size_t mtu);
    void fragment_out(const Transit& transit, const pp_fib_adjacency& adjacency, size_t mtu);
    void no_neighbour(Transit& transit);
    OwnedHeader egress_header(const Transit& transit, const pp_fib_adjacency& adjacency);
    void answer(const Transit& transit, const IcmpError& error);

    // redirect.cpp
    /// A copy of a frame that has left by the interface that it came in by: may its sender be told of the
    /// next hop?
    void redirect(uint16_t port, std::span<uint8_t> frame, Clock::time_point now);
    [[nodiscard]] std::optional<IpAddress> redirect_source(const Packet& packet, uint16_t interface,
                                                           const IpAddress& next_hop) const;

    // own.cpp
    /// Sends an IP packet of the router itself, or lets it wait. `interface`: in whose VRF, and the link of a
    /// link-local destination.
    void send_own(std::vector<uint8_t> packet, uint16_t interface, Clock::time_point since,
                  Clock::time_point now, bool give_up);
    struct Way {
        pp_fib_adjacency adjacency{};
        IpAddress next_hop;
    };
    std::optional<Way> way_to(const ImageView& image, const IpAddress& destination, uint16_t interface) const;
    /// An address of this interface; where it has none, one of the router in the same VRF.
    [[nodiscard]] std::optional<IpAddress> address_on(uint16_t interface, Family family,
                                                      bool link_local) const;
    [[nodiscard]] std::optional<IpAddress> source_towards(const Way& way, const IpAddress& destination) const;

    // wait.cpp
    /// The adjacency with its MAC address, from the image or, where that lags behind, from the neighbours.
    [[nodiscard]] std::optional<pp_fib_adjacency> complete(const pp_fib_adjacency& adjacency,
                                                           const IpAddress& next_hop) const;
    void wait(const NeighbourKey& key, WaitingPacket packet, Clock::time_point now);
    void request(const std::vector<NeighbourKey>& neighbours);
    void release(std::vector<WaitingPacket> packets, Clock::time_point now, bool give_up);

    bool transmit(uint16_t port, std::span<const Bytes> parts);
    bool transmit_counted(const Transit& transit, uint16_t port, std::span<const Bytes> parts);

    SlowPathEnvironment& environment;
    Counters counters;
    std::array<uint64_t, PP_VERDICT_COUNT>
        dropped_by_forward{};  ///< host verdicts among them: too late for those
    RateLimiter limiter;
    /// Of fragmentation-needed and packet-too-big: without them a connection stands still, whatever others
    /// provoke (RFC 4821 1.1 calls it a black hole).
    RateLimiter path_mtu_limiter;
    bool redirects;
    RedirectLimiter redirect_limiter;
    NeighbourQueue queue;
    Identifications identifications;
};

}  // namespace pktpit::router
