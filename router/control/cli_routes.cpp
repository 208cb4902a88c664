// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/cli_routes.h"

#include <spdlog/spdlog.h>

#include "router/control/static_routes.h"

namespace pktpit::router {
namespace {

constexpr auto cli_source = fib::RouteSource::cli;

}  // namespace

/// Puts routes into the RIB. Routes of one batch mostly share their next hops, which are then looked for once
/// while they follow one another; the set is held until another one is wanted.
class CliRoutes::Installer {
  public:
    explicit Installer(CliRoutes& owner) : routing_(owner.routing_), counters_(owner.counters_) {}
    ~Installer() { release(); }
    Installer(const Installer&) = delete;
    Installer& operator=(const Installer&) = delete;

    /// The set that the route has now. Error: the VRF is not there (any more), among others.
    Result<fib::NextHopSetId> install(const config::StaticRoute& route) {
        if (auto acquired = acquire(route); !acquired) return tl::unexpected(acquired.error());
        auto set =
            routing_.set_route({route.prefix, cli_source, route.preference, route.metric, next_hops_}, vrf_);
        if (!set) return tl::unexpected(set.error());
        return next_hops_;
    }

  private:
    Result<void> acquire(const config::StaticRoute& route) {
        if (next_hops_ != 0 && route.vrf == last_.vrf && !route.counters && !last_.counters &&
            route.type == last_.type && route.next_hops == last_.next_hops && route.backup == last_.backup &&
            route.mtu == last_.mtu)
            return {};
        release();
        const auto vrf = routing_.vrf_by_name(route.vrf);
        if (!vrf)
            return fail(route.vrf, "route " + route.prefix.to_string() + ": no such VRF",
                        "a VRF of the configuration", "pktpit show vrfs");
        auto spec = to_spec(routing_, route.type, route.next_hops, route.backup, route.vrf);
        if (!spec) return tl::unexpected(spec.error());
        spec->mtu = route.mtu;
        if (route.counters) {
            const auto counter =
                counters_.acquire({route.prefix, cli_source, routing_.vrf_name(*vrf).kernel_table});
            if (!counter) return tl::unexpected(counter.error());
            spec->counter = *counter;
        }
        const auto acquired = routing_.acquire_next_hops(*spec);
        if (!acquired) return tl::unexpected(for_route(route.prefix, acquired.error()));
        next_hops_ = *acquired;
        vrf_ = *vrf;
        last_ = route;
        return {};
    }
    void release() {
        if (next_hops_ != 0) routing_.release_next_hops(next_hops_);
        next_hops_ = 0;
    }

    Routing& routing_;
    RouteCounters& counters_;
    config::StaticRoute last_;
    fib::NextHopSetId next_hops_ = 0;
    VrfId vrf_ = default_vrf;
};

void CliRoutes::load() {
    Installer installer(*this);
    for (auto& [place, route] : journal_.load()) {
        if (auto installed = installer.install(route); !installed)
            spdlog::warn("route {} given by hand is left out: {}", place.to_string(),
                         installed.error().to_string());
        else
            routes_.insert_or_assign(place, route);
    }
}

void CliRoutes::refresh() {
    Installer installer(*this);
    for (const auto& [place, route] : routes_)
        if (auto installed = installer.install(route); !installed) {
            spdlog::warn("route {} given by hand cannot be used now: {}", place.to_string(),
                         installed.error().to_string());
            erase(place);
        }
}

// With its VRF it has gone already.
void CliRoutes::erase(const VrfPrefix& place) {
    if (const auto vrf = routing_.vrf_by_name(place.vrf))
        (void)routing_.erase_route(place.prefix, cli_source, *vrf);
}

Result<void> CliRoutes::check(Edit edit, const config::StaticRoute& route) const {
    const std::string prefix = place_of(route).to_string();
    const bool known = routes_.contains(place_of(route));
    if (edit == Edit::add && known)
        return fail(prefix, "there is a route given by hand already", "a prefix without one",
                    "pktpit route replace " + route.prefix.to_string() + " …");
    if (edit == Edit::remove && !known)
        return fail(prefix, "no route was given by hand for it",
                    "a prefix of pktpit show routes --source cli",
                    "routes of other sources are changed where they come from");
    return {};
}

tl::expected<CliRoutes::Changed, CliRoutes::Refusal> CliRoutes::change(
    Edit edit, std::span<const config::StaticRoute> routes) {
    const auto refuse = [](size_t index, Error error) {
        return tl::unexpected(Refusal{index, std::move(error)});
    };
    Changed changed;
    std::set<VrfPrefix> seen;
    std::vector<config::StaticRoute> differing;
    std::vector<size_t> places;  // of those among `routes`
    for (size_t i = 0; i < routes.size(); i++) {
        const auto& route = routes[i];
        if (routes.size() > 1 && !seen.insert(place_of(route)).second)
            return refuse(i, {place_of(route).to_string(), "the prefix stands twice in one request",
                              "each prefix once", ""});
        if (auto good = check(edit, route); !good) return refuse(i, good.error());
        const auto known = routes_.find(place_of(route));
        if (edit != Edit::remove && known != routes_.end() && known->second == route) continue;
        changed.counters |= route.counters || (known != routes_.end() && known->second.counters);
        differing.push_back(route);
        places.push_back(i);
    }
    if (differing.empty()) return changed;
    changed.count = differing.size();

    auto kept = edit == Edit::remove ? journal_.remove(differing) : journal_.set(differing);
    if (!kept) return refuse(places.front(), kept.error());
    if (edit == Edit::remove) {
        for (const auto& route : differing) {
            erase(place_of(route));
            routes_.erase(place_of(route));
        }
    } else {
        if (auto refused = install_all(differing, changed)) {
            journal_.take_back();
            return refuse(places[refused->index], std::move(refused->error));
        }
        for (auto& route : differing)
            routes_.insert_or_assign(place_of(route), std::move(route));
    }
    journal_.tidy(routes_);
    return changed;
}

std::optional<CliRoutes::Refusal> CliRoutes::install_all(std::span<const config::StaticRoute> routes,
                                                         Changed& changed) {
    Installer installer(*this);
    for (size_t i = 0; i < routes.size(); i++) {
        auto installed = installer.install(routes[i]);
        if (!installed) {
            put_back(routes.first(i));
            return Refusal{i, installed.error()};
        }
        changed.next_hops.insert(*installed);
    }
    return std::nullopt;
}

// Backwards, so that memory which the old routes had is free again by the time they come back.
void CliRoutes::put_back(std::span<const config::StaticRoute> routes) {
    Installer installer(*this);
    for (auto route = routes.rbegin(); route != routes.rend(); ++route) {
        const auto before = routes_.find(place_of(*route));
        if (before == routes_.end()) {
            erase(place_of(*route));
        } else if (auto installed = installer.install(before->second); !installed) {
            spdlog::error("route {} given by hand did not come back: {}", place_of(*route).to_string(),
                          installed.error().to_string());
        }
    }
}

}  // namespace pktpit::router
