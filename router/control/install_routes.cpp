// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>
#include <span>

#include "router/control/static_routes.h"

namespace pktpit::router {
namespace {

constexpr auto config_source = fib::RouteSource::config;

/// What a prefix had before it was changed; holds the references that the old routes need to come back.
class Journal {
  public:
    explicit Journal(Routing& routing) : routing_(routing) {}
    ~Journal() {
        for (const auto& [vrf, prefix, before] : entries_)
            if (before) routing_.release_next_hops(before->next_hops);
    }
    Journal(const Journal&) = delete;
    Journal& operator=(const Journal&) = delete;

    void remember(VrfId vrf, const Prefix& prefix, const std::optional<fib::Route>& before) {
        if (before) routing_.add_next_hops_reference(before->next_hops);
        entries_.push_back({vrf, prefix, before});
    }
    // Memory that the old routes had is free again by the time they come back.
    Result<void> undo() {
        BestEffort effort;
        for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry)
            effort.attempt("routes", [&]() -> Result<void> {
                if (entry->before) return routing_.set_route(*entry->before, entry->vrf);
                const auto erased = routing_.erase_route(entry->prefix, config_source, entry->vrf);
                return erased ? Result<void>() : tl::unexpected(erased.error());
            });
        return effort.result();
    }

  private:
    struct Entry {
        VrfId vrf;
        Prefix prefix;
        std::optional<fib::Route> before;
    };
    Routing& routing_;
    std::vector<Entry> entries_;
};

/// References on the wanted next-hop sets for as long as routes are being set.
class AcquiredSets {
  public:
    AcquiredSets(Routing& routing, RouteCounters& counters) : routing_(routing), counters_(counters) {}
    ~AcquiredSets() {
        for (const auto id : ids_)
            routing_.release_next_hops(id);
    }
    AcquiredSets(const AcquiredSets&) = delete;
    AcquiredSets& operator=(const AcquiredSets&) = delete;

    Result<void> acquire(const WantedRoutes& wanted) {
        for (const auto& set : wanted.next_hop_sets) {
            auto spec = to_spec(routing_, set.type, set.next_hops, set.backup, set.vrf);
            if (!spec) return tl::unexpected(for_user_of(wanted, spec.error()));
            spec->mtu = set.mtu;
            if (set.counted_for) {
                const auto vrf = routing_.vrf_by_name(set.vrf).value_or(default_vrf);  // to_spec() knows it
                const auto counter =
                    counters_.acquire({*set.counted_for, config_source, routing_.vrf_name(vrf).kernel_table});
                if (!counter) return tl::unexpected(counter.error());
                spec->counter = *counter;
            }
            const auto id = routing_.acquire_next_hops(*spec);
            if (!id) return tl::unexpected(for_user_of(wanted, id.error()));
            ids_.push_back(*id);
        }
        return {};
    }
    [[nodiscard]] fib::NextHopSetId operator[](size_t index) const { return ids_[index]; }

  private:
    /// Names the first route that wants the set which could not be had.
    [[nodiscard]] Error for_user_of(const WantedRoutes& wanted, const Error& error) const {
        const auto user = std::ranges::find(wanted.routes, ids_.size(), &WantedRoutes::Wanted::next_hops);
        return user == wanted.routes.end() ? error : for_route(user->prefix, error);
    }

    Routing& routing_;
    RouteCounters& counters_;
    std::vector<fib::NextHopSetId> ids_;
};

/// Of the VRF, by its index.
std::span<const WantedRoutes::Wanted> wanted_of(const WantedRoutes& wanted, size_t vrf) {
    const auto begin = std::ranges::lower_bound(wanted.routes, vrf, {}, &WantedRoutes::Wanted::vrf);
    return {begin, std::ranges::upper_bound(wanted.routes, vrf, {}, &WantedRoutes::Wanted::vrf)};
}

std::vector<Prefix> unwanted_prefixes(const fib::Rib& rib, std::span<const WantedRoutes::Wanted> wanted) {
    std::vector<Prefix> unwanted;
    for (const Family family : {Family::ipv4, Family::ipv6})
        rib.for_each_unordered(family, [&](const fib::Route& route, bool) {
            if (route.source == config_source &&
                !std::ranges::binary_search(wanted, route.prefix, {}, &WantedRoutes::Wanted::prefix))
                unwanted.push_back(route.prefix);
            return true;
        });
    return unwanted;
}

Result<void> install_in(VrfId vrf, std::span<const WantedRoutes::Wanted> wanted, const AcquiredSets& sets,
                        Routing& routing, Journal& journal) {
    const bool had_routes = routing.rib(vrf).size(config_source) > 0;
    for (const auto& route : wanted) {
        const fib::Route now{route.prefix, config_source, route.preference, route.metric,
                             sets[route.next_hops]};
        const auto before = had_routes ? routing.route(route.prefix, config_source, vrf) : std::nullopt;
        if (before && before->preference == now.preference && before->metric == now.metric &&
            before->next_hops == now.next_hops)
            continue;
        // First: the change may take the last reference off what it replaces.
        journal.remember(vrf, route.prefix, before);
        if (auto set = routing.set_route(now, vrf); !set) return set;
    }
    if (!had_routes) return {};
    for (const auto& prefix : unwanted_prefixes(routing.rib(vrf), wanted)) {
        const auto before = routing.route(prefix, config_source, vrf);
        journal.remember(vrf, prefix, before);
        if (auto erased = routing.erase_route(prefix, config_source, vrf); !erased)
            return tl::unexpected(erased.error());
    }
    return {};
}

}  // namespace

Result<void> install_wanted_routes(Routing& routing, RouteCounters& counters, const WantedRoutes& wanted,
                                   Transaction& transaction) {
    AcquiredSets sets(routing, counters);
    if (auto acquired = sets.acquire(wanted); !acquired) return acquired;

    auto journal = std::make_shared<Journal>(routing);
    transaction.on_rollback("routes", [journal] { return journal->undo(); });
    for (size_t i = 0; i < wanted.vrfs.size(); i++) {
        const auto vrf = routing.vrf_by_name(wanted.vrfs[i]);
        if (!vrf) return fail(wanted.vrfs[i], "no such VRF", "a VRF of the configuration");
        if (auto done = install_in(*vrf, wanted_of(wanted, i), sets, routing, *journal); !done) return done;
    }
    return {};
}

}  // namespace pktpit::router
