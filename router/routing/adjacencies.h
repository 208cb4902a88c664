// SPDX-License-Identifier: BSD-3-Clause
/// Adjacencies: for each next hop in use, the entry of the FIB image that says how a packet leaves. Follows
/// neighbours and interfaces; a change is one or two stores into the image, however many routes use it.
///
/// One thread. Ids are reference-counted by their users (next-hop sets).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "fib/image.h"
#include "router/kernel/kernel.h"
#include "router/routing/interfaces.h"

namespace pktpit::router {

/// What an adjacency stands for. `gateway` only for next hops; `interface` 0 for kinds that need none.
struct AdjacencyKey {
    pp_adjacency_kind kind = PP_ADJ_INVALID;  ///< PP_ADJ_FORWARD stands for a next hop, complete or not
    InterfaceId interface = 0;
    std::optional<IpAddress> gateway;
    uint32_t mtu =
        0;  ///< of routes, smaller than the link's; 0: the link's. Last: all of a next hop lie together

    static AdjacencyKey next_hop(InterfaceId interface, const IpAddress& gateway, uint32_t mtu = 0) {
        return {PP_ADJ_FORWARD, interface, gateway, mtu};
    }
    [[nodiscard]] bool same_next_hop(const AdjacencyKey& other) const {
        return kind == other.kind && interface == other.interface && gateway == other.gateway;
    }
    auto operator<=>(const AdjacencyKey&) const = default;
};

struct Neighbour {
    MacAddress mac;
    NeighbourState state = NeighbourState::none;
    bool configured = false;  ///< from the configuration: what the kernel says does not count
    bool forgotten = false;   ///< by the kernel, and kept here: it has failed, and routes use it

    [[nodiscard]] bool usable() const {
        return state == NeighbourState::reachable || state == NeighbourState::stale ||
               state == NeighbourState::permanent;
    }
};

/// An adjacency that knows its link (port, own MAC address, tags, MTU) but no next hop.
pp_fib_adjacency link_adjacency(const L3Interface& interface);

class Adjacencies {
  public:
    using NeighbourKey = std::pair<InterfaceId, IpAddress>;

    Adjacencies(fib::FibImage& image, const InterfaceTable& interfaces)
        : image_(image), interfaces_(interfaces) {}

    /// The adjacency of this key, made if need be; one reference more.
    Result<fib::AdjacencyId> acquire(const AdjacencyKey& key);
    void release(fib::AdjacencyId id);

    /// One that has failed stays so until it answers: that the kernel asks again is no sign of life.
    void set_neighbour(const NeighbourKey& key, const Neighbour& neighbour);
    void remove_neighbour(const NeighbourKey& key);
    /// The kernel forgets a neighbour. True: it had failed and routes use it, so that it is kept as dead.
    bool remember_dead(const NeighbourKey& key);
    [[nodiscard]] const Neighbour* neighbour(const NeighbourKey& key) const;
    [[nodiscard]] const std::map<NeighbourKey, Neighbour>& neighbours() const { return neighbours_; }

    /// MAC address, MTU or state of the interface changed: its adjacencies are written anew.
    void interface_changed(InterfaceId interface);

    [[nodiscard]] std::optional<AdjacencyKey> key_of(fib::AdjacencyId id) const;
    /// Has somebody a next-hop adjacency for this neighbour?
    [[nodiscard]] bool in_use(const NeighbourKey& key) const;
    [[nodiscard]] size_t size() const { return entries_.size(); }
    /// Next hops whose neighbour is not known or has failed: to be asked for again now and then.
    [[nodiscard]] std::vector<NeighbourKey> unresolved() const;
    /// Neighbours that have got their first next hop since the last call, though the kernel has long not
    /// verified them: it is to do so now.
    [[nodiscard]] std::set<NeighbourKey> take_unverified() { return std::exchange(unverified_, {}); }

  private:
    struct Entry {
        fib::AdjacencyId id = 0;
        uint32_t references = 0;
    };
    [[nodiscard]] pp_fib_adjacency value_of(const AdjacencyKey& key) const;
    void rewrite(const NeighbourKey& key);

    fib::FibImage& image_;
    const InterfaceTable& interfaces_;
    std::map<AdjacencyKey, Entry> entries_;
    std::map<fib::AdjacencyId, AdjacencyKey> keys_;
    std::map<NeighbourKey, Neighbour> neighbours_;
    std::set<NeighbourKey> unverified_;
};

}  // namespace pktpit::router
