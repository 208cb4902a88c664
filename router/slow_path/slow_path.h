// SPDX-License-Identifier: BSD-3-Clause
/// The slow path: all that a redirect cannot finish. Punted frames wait for their neighbour, are fragmented,
/// have their options processed, or are answered with an ICMP error.
///
/// One thread (the daemon's loop). Bounded in memory and in time per call; every frame it gives up on is
/// counted under a name. It decides nothing about routes itself: it asks forward().
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/address.h"
#include "config/config.h"
#include "router/forward/forward.h"

namespace pktpit::router {

using Clock = std::chrono::steady_clock;

/// What the slow path needs from the rest of the daemon. Injected, so that its tests need no root.
class SlowPathEnvironment {
  public:
    virtual ~SlowPathEnvironment() = default;
    /// The image as it is now.
    [[nodiscard]] virtual ImageView image() const = 0;
    /// Sends a whole frame (gathered from the parts) out of a port. False: it could not be sent.
    virtual bool transmit(uint16_t port, std::span<const std::span<const uint8_t>> parts) = 0;
    /// Starts neighbour resolution; the answer comes as neighbour_resolved() or neighbour_failed().
    virtual void resolve(uint16_t interface, const IpAddress& next_hop) = 0;
    /// The neighbour need not be looked for any more: others wait for its place. An answer may come all the
    /// same, and neighbour_failed().
    virtual void withdraw(uint16_t interface, const IpAddress& next_hop) = 0;
    /// The next hop that an adjacency stands for; nullopt for a glean adjacency (then it is the destination).
    [[nodiscard]] virtual std::optional<IpAddress> next_hop_of(uint32_t adjacency) const = 0;
    /// Address to send ICMP errors from on this L3 interface: global scope, or link-local where asked for and
    /// where nothing else is there. nullopt: router_address().
    [[nodiscard]] virtual std::optional<IpAddress> source_address(uint16_t interface, Family family,
                                                                  bool link_local) const = 0;
    /// The router's address in the net of an interface that the address is in, too.
    [[nodiscard]] virtual std::optional<IpAddress> address_in_net_of(uint16_t interface,
                                                                     const IpAddress& address) const = 0;
    /// In the VRF that the interface belongs to: the loopback's, else the router's lowest. nullopt: it has
    /// none.
    [[nodiscard]] virtual std::optional<IpAddress> router_address(Family family,
                                                                  uint16_t interface) const = 0;
    /// Is this the broadcast address of a net that the router is on, in the VRF of the interface?
    [[nodiscard]] virtual bool is_broadcast(const IpAddress& address, uint16_t interface) const = 0;
    /// Port, MAC and tags to send by on an interface when the next hop's MAC address is known otherwise
    /// (ICMPv6 errors to a link-local source). nullopt: interface is gone.
    [[nodiscard]] virtual std::optional<pp_fib_adjacency> link_of(uint16_t interface) const = 0;
    /// The MAC address if it is known and may be used; nullopt while unknown or failed.
    [[nodiscard]] virtual std::optional<MacAddress> neighbour(uint16_t interface,
                                                              const IpAddress& address) const = 0;
    /// The packet of a counted route has been sent, as a frame of so many bytes.
    virtual void count_route(uint16_t /*counter*/, size_t /*bytes*/) {}
    /// Time of day, for the IPv4 timestamp option.
    [[nodiscard]] virtual std::chrono::system_clock::time_point time_of_day() const {
        return std::chrono::system_clock::now();
    }
};

class SlowPath {
  public:
    /// `neighbour_queue`: packets that wait for a neighbour; `neighbours_unresolved`: neighbours of an
    /// interface and a family that are asked for at the same time.
    SlowPath(SlowPathEnvironment& environment, const config::Icmp& icmp, uint32_t neighbour_queue,
             uint32_t neighbours_unresolved = config::Config{}.neighbours_unresolved);
    ~SlowPath();

    /// One punted frame (whole, from its Ethernet header on). `reason` is why the port stage punted it; the
    /// frame is looked at again with forward(), since the image may have changed meanwhile.
    void handle(uint16_t ingress_port, pp_verdict reason, std::span<uint8_t> frame, Clock::time_point now);
    /// A copy of a frame that is forwarded by the interface that it came in by, as it came or rewritten. Its
    /// sender is told of the next hop, if that is on its link.
    void redirect(uint16_t port, std::span<uint8_t> copy, Clock::time_point now);
    /// A frame that a port stage has decided about and rewritten, and could not redirect to this egress port.
    void send_for_stage(uint16_t egress_port, std::span<const uint8_t> frame);
    void neighbour_resolved(uint16_t interface, const IpAddress& address, Clock::time_point now);
    void neighbour_failed(uint16_t interface, const IpAddress& address, Clock::time_point now);
    /// Interface removed or down: what waits for it is dropped under a name.
    void interface_gone(uint16_t interface);
    /// Expires what has waited too long. Call at least every 100 ms.
    void tick(Clock::time_point now);
    void set_limits(const config::Icmp& icmp, uint32_t neighbour_queue,
                    uint32_t neighbours_unresolved = config::Config{}.neighbours_unresolved);

    /// Packets that wait for this neighbour now.
    [[nodiscard]] size_t waiting(uint16_t interface, const IpAddress& next_hop) const;
    /// Every neighbour that packets wait for: interface, next hop, packets.
    struct Waiting {
        uint16_t interface = 0;
        IpAddress next_hop;
        size_t packets = 0;
    };
    [[nodiscard]] std::vector<Waiting> all_waiting() const;
    /// Of packets that wait, with what they are charged for.
    [[nodiscard]] size_t waiting_bytes() const;
    /// Name and value of every counter: ICMP sent by type, silence by rule, queue drops, fragments, options.
    [[nodiscard]] std::vector<std::pair<std::string, uint64_t>> counters() const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace pktpit::router
