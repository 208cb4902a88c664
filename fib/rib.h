// SPDX-License-Identifier: BSD-3-Clause
/// The RIB: every route of every source, and which one of each prefix is used.
///
/// One thread. It knows next-hop sets by id only: whoever owns them (router/routing) says which are usable,
/// and is told of every change of a best route, so that it can write the FIB.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/result.h"

namespace pktpit::fib {

/// Who a route comes from, strongest first where preference and metric are equal: what a person typed beats
/// the file, and what FRR says by FPM what it has put into the kernel's table. A source has at most one route
/// a prefix; a second one replaces the first.
enum class RouteSource : uint8_t { connected, cli, config, fpm, kernel };
inline constexpr size_t route_source_count = 5;
std::string_view to_string(RouteSource source);

/// Id of an interned next-hop set; 0 is invalid.
using NextHopSetId = uint32_t;

struct Route {
    Prefix prefix;
    RouteSource source = RouteSource::config;
    uint8_t preference = 0;  ///< lower wins, as administrative distance in FRR and preference in Junos
    uint32_t metric = 0;     ///< lower wins among equal preference
    NextHopSetId next_hops = 0;
};

/// The best route of `prefix` is now `best` (nullopt: none), and the next best one, with other next hops, has
/// `second` (0: there is none). Returning an error refuses the change: the RIB then stays as it was before
/// the call that caused it.
using BestRouteChanged =
    std::function<Result<void>(const Prefix& prefix, const std::optional<Route>& best, NextHopSetId second)>;

class Rib {
  public:
    explicit Rib(BestRouteChanged changed);
    ~Rib();

    /// Adds or atomically replaces the source's route for route.prefix.
    Result<void> set(const Route& route);
    /// False if the source had no such route.
    Result<bool> erase(const Prefix& prefix, RouteSource source);
    // The same, for who needs to know what the source had before.
    Result<std::optional<Route>> exchange(const Route& route);
    Result<std::optional<Route>> take(const Prefix& prefix, RouteSource source);
    /// A next-hop set became usable or not; best routes are chosen anew where it is a candidate.
    /// Sets are usable until said otherwise.
    Result<void> set_usable(NextHopSetId next_hops, bool usable);

    // The same for a set of a million prefixes, in pieces.
    /// Best routes are others from now on; of which prefixes is told by settle().
    void begin_set_usable(NextHopSetId next_hops, bool usable);
    /// Tells of up to so many prefixes. What is refused is kept, and told again by a call after retry().
    Result<void> settle(size_t prefixes);
    [[nodiscard]] bool settled() const;
    /// Of the prefix the FIB has something else now: who is told may have to be told again of the longer ones
    /// inside it that have a best route and no second one, since what is around them has changed. Those next
    /// inside it are, by settle(), behind all else. To be called while a best route is told, too.
    void tell_inside(const Prefix& prefix);
    /// Tells of one prefix again, for who lets more decide about it than its routes. What is refused is kept.
    Result<void> tell_again(const Prefix& prefix);
    /// All but what tell_inside() has asked for.
    Result<void> settle_best(size_t prefixes);
    [[nodiscard]] bool best_settled() const;
    /// Is all told that hangs on this set?
    [[nodiscard]] bool settled(NextHopSetId next_hops) const;
    void retry();

    /// All candidates of exactly this prefix, best first; unusable ones last.
    [[nodiscard]] std::vector<Route> candidates(const Prefix& prefix) const;
    [[nodiscard]] std::optional<Route> best(const Prefix& prefix) const;
    /// Longest prefix with a best route that contains the address.
    [[nodiscard]] std::optional<Route> match(const IpAddress& address) const;
    /// The same without routes of the source `connected` to the address alone: what a host on a link is
    /// reached by, before it has a route of its own.
    [[nodiscard]] std::optional<Route> match_of_link(const IpAddress& address) const;
    /// Visits the routes of every prefix that contains the address, usable or not: the longest prefix first,
    /// and of each prefix by preference, metric and source. For resolving next hops, which cannot take the
    /// answer to "is this set usable" for granted: it is what they are about to find out.
    using VisitContaining = std::function<bool(const Route&)>;  ///< returns false to stop
    void for_each_containing(const IpAddress& address, const VisitContaining& visit) const;
    using Visit = std::function<bool(const Route&, bool best)>;  ///< returns false to stop
    /// Visits all routes (best or not) in prefix order, the candidates of a prefix best first.
    void for_each(Family family, const Visit& visit) const;
    /// The same in no order of prefixes, which saves sorting a million of them.
    void for_each_unordered(Family family, const Visit& visit) const;
    /// Visits prefixes in order until told to stop: from `from` on, itself included only if `with_from`;
    /// nothing: from the very first. Whoever goes on from where it has stopped meets each prefix that is
    /// there all the time once, whatever changes in between.
    using VisitPrefix = std::function<bool(const Prefix&)>;  ///< returns false to stop
    void for_each_from(Family family, const std::optional<Prefix>& from, bool with_from,
                       const VisitPrefix& visit) const;
    [[nodiscard]] size_t size(Family family) const;  ///< prefixes with at least one route
    [[nodiscard]] size_t size(Family family, RouteSource source) const;
    [[nodiscard]] size_t size(RouteSource source) const;
    [[nodiscard]] size_t memory_bytes() const;  ///< computed from what its tables hold

  private:
    struct State;
    template <class Table, class Keys>
    void visit_each(const Table& table, const Keys& keys, const Visit& visit) const;
    std::unique_ptr<State> state_;
};

}  // namespace pktpit::fib
