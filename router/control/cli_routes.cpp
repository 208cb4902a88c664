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

    /// The set that the route has now.
    Result<fib::NextHopSetId> install(const config::StaticRoute& route) {
        if (auto acquired = acquire(route); !acquired) return tl::unexpected(acquired.error());
        auto set = routing_.set_route({route.prefix, cli_source, route.preference, route.metric, next_hops_});
        if (!set) return tl::unexpected(set.error());
        return next_hops_;
    }

  private:
    Result<void> acquire(const config::StaticRoute& route) {
        if (next_hops_ != 0 && !route.counters && !last_.counters && route.type == last_.type &&
            route.next_hops == last_.next_hops && route.backup == last_.backup && route.mtu == last_.mtu)
            return {};
        release();
        auto spec = to_spec(routing_, route.type, route.next_hops, route.backup);
        if (!spec) return tl::unexpected(spec.error());
        spec->mtu = route.mtu;
        if (route.counters) {
            const auto counter = counters_.acquire({route.prefix, cli_source});
            if (!counter) return tl::unexpected(counter.error());
            spec->counter = *counter;
        }
        const auto acquired = routing_.acquire_next_hops(*spec);
        if (!acquired) return tl::unexpected(for_route(route.prefix, acquired.error()));
        next_hops_ = *acquired;
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
};

void CliRoutes::load() {
    Installer installer(*this);
    for (auto& [prefix, route] : journal_.load()) {
        if (auto installed = installer.install(route); !installed)
            spdlog::warn("route {} given by hand is left out: {}", prefix.to_string(),
                         installed.error().to_string());
        else
            routes_.insert_or_assign(prefix, route);
    }
}

void CliRoutes::refresh() {
    Installer installer(*this);
    for (const auto& [prefix, route] : routes_)
        if (auto installed = installer.install(route); !installed) {
            spdlog::warn("route {} given by hand cannot be used now: {}", prefix.to_string(),
                         installed.error().to_string());
            (void)routing_.erase_route(prefix, cli_source);
        }
}

Result<void> CliRoutes::check(Edit edit, const config::StaticRoute& route) const {
    const std::string prefix = route.prefix.to_string();
    const bool known = routes_.contains(route.prefix);
    if (edit == Edit::add && known)
        return fail(prefix, "there is a route given by hand already", "a prefix without one",
                    "pktpit route replace " + prefix + " …");
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
    std::set<Prefix> seen;
    std::vector<config::StaticRoute> differing;
    std::vector<size_t> places;  // of those among `routes`
    for (size_t i = 0; i < routes.size(); i++) {
        const auto& route = routes[i];
        if (routes.size() > 1 && !seen.insert(route.prefix).second)
            return refuse(i, {route.prefix.to_string(), "the prefix stands twice in one request",
                              "each prefix once", ""});
        if (auto good = check(edit, route); !good) return refuse(i, good.error());
        const auto known = routes_.find(route.prefix);
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
            (void)routing_.erase_route(route.prefix, cli_source);
            routes_.erase(route.prefix);
        }
    } else {
        if (auto refused = install_all(differing, changed)) {
            journal_.take_back();
            return refuse(places[refused->index], std::move(refused->error));
        }
        for (auto& route : differing)
            routes_.insert_or_assign(route.prefix, std::move(route));
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
        const auto before = routes_.find(route->prefix);
        if (before == routes_.end()) {
            (void)routing_.erase_route(route->prefix, cli_source);
        } else if (auto installed = installer.install(before->second); !installed) {
            spdlog::error("route {} given by hand did not come back: {}", route->prefix.to_string(),
                          installed.error().to_string());
        }
    }
}

}  // namespace pktpit::router
