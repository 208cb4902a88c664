// SPDX-License-Identifier: BSD-3-Clause
/// Gateways without an interface, and what each resolves to: the longest match of the RIB, over a connected
/// net to its interface, else over that route's next hops in turn. Used by NextHopSets. One thread.
///
/// The rules are zebra's: never through the default route unless told to, never through a route that drops,
/// never through a route that needs the gateway itself. A route whose next hops are all unusable is passed
/// over for the next best one, then for a shorter prefix. What a gateway resolves to depends on the routes
/// and interfaces alone, never on what it resolved to before, so no change can make it swing.
///
/// Results are kept. Each remembers the prefix lengths and next-hop sets that it was made from, and a change
/// of a route or an interface throws away only those that it can matter to.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "fib/rib.h"
#include "router/routing/next_hop_spec.h"
#include "router/routing/resolved_hops.h"

namespace pktpit::router {

/// Routes on the way from a gateway to a connected net, the connected one not counted. A deeper one is
/// unresolved; no sane network needs more than three or four.
inline constexpr unsigned deepest_recursion = 16;

struct Resolution {
    enum class State : uint8_t {
        resolved,
        no_route,      ///< no route to the gateway
        only_default,  ///< only the default route, which must not be used
        discards,      ///< its route is a blackhole, unreachable or prohibit one
        kernels,       ///< only the kernel can forward by its route
        own_address,   ///< it is the router's own address, or a broadcast address of its nets
        loop,          ///< its route is reached through the gateway itself
        too_deep,      ///< more than `deepest_recursion` routes one after the other
        unusable,      ///< there are routes to it, but none with a next hop that can be used now
    };
    State state = State::no_route;
    std::optional<Prefix> over;     ///< the route that resolves it, or forbids to
    std::vector<ResolvedHop> hops;  ///< empty unless resolved
    unsigned depth = 0;             ///< 0: `over` is a net of an interface

    [[nodiscard]] bool recursive() const { return state == State::resolved && depth > 0; }
    bool operator==(const Resolution&) const = default;
};

class Gateways {
  public:
    using SetIds = std::vector<fib::NextHopSetId>;
    /// As Rib::for_each_containing(), of a VRF.
    using ForEachContaining =
        std::function<void(VrfId vrf, const IpAddress& address, const fib::Rib::VisitContaining& visit)>;
    using SpecOf = std::function<const NextHopSetSpec&(fib::NextHopSetId id)>;

    Gateways(const InterfaceTable& interfaces, ForEachContaining routes_around, SpecOf spec_of)
        : interfaces_(interfaces), routes_around_(std::move(routes_around)), spec_of_(std::move(spec_of)) {}

    /// A gateway by the routes of a VRF.
    struct Key {
        VrfId vrf = default_vrf;
        IpAddress address;
        static Key of(const NextHopSpec& hop) { return {hop.vrf, *hop.via}; }
    };

    /// The set has the gateway among its next hops.
    void add(const Key& gateway, fib::NextHopSetId user);
    void remove(const Key& gateway, fib::NextHopSetId user);
    /// Resolves where that is not known. The gateway must have been added; the reference is valid until the
    /// next call that changes anything.
    const Resolution& resolve(const Key& gateway);
    /// The last answer; nullptr if there is none.
    [[nodiscard]] const Resolution* find(const Key& gateway) const;

    // What a change makes void, as the sets whose next hops may come out different now.
    /// A route of exactly this prefix was added, replaced or removed.
    SetIds route_changed(VrfId vrf, const Prefix& prefix);
    /// The next hops of these sets that need no gateway resolved (their interfaces) can be used, or no more.
    SetIds sets_changed(const SetIds& sets);
    SetIds set_via_default(bool allowed);
    [[nodiscard]] bool via_default() const { return via_default_; }

  private:
    struct Gateway {
        enum class Progress : uint8_t { unknown, in_progress, known };
        Progress progress = Progress::unknown;
        int shortest = -1;  ///< routes with shorter prefixes do not matter; -1: all do
        Resolution resolution;
        std::set<fib::NextHopSetId> users;
        std::set<fib::NextHopSetId> examined;  ///< sets of routes that it was resolved with
    };
    struct ByFamily {
        bool operator()(const Key& a, const Key& b) const {
            if (a.vrf != b.vrf) return a.vrf < b.vrf;
            return a.address.family != b.address.family ? a.address.family < b.address.family
                                                        : a.address.bytes < b.address.bytes;
        }
    };
    using Table = std::map<Key, Gateway, ByFamily>;
    using Place = Table::iterator;
    class Attempt;

    /// How many gateways begin with this byte, in whatever VRF: most routes of a large table lead to none of
    /// them, and are told so without a search.
    [[nodiscard]] uint32_t& beginning_with(Family family, uint8_t byte) {
        return by_first_byte_[family == Family::ipv6][byte];
    }
    void close_loop(std::vector<Place>& path, Place reached);
    void forget_examined(Place gateway);
    SetIds forget(std::vector<Place> void_gateways, const SetIds& void_sets);

    const InterfaceTable& interfaces_;
    ForEachContaining routes_around_;
    SpecOf spec_of_;
    bool via_default_ = false;
    Table gateways_;
    std::array<std::array<uint32_t, 256>, 2> by_first_byte_{};
    std::map<fib::NextHopSetId, std::set<Key, ByFamily>> examiners_;
};

}  // namespace pktpit::router
