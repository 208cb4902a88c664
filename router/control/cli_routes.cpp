// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/cli_routes.h"

#include <nlohmann/json.hpp>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>

#include "base/errno_text.h"
#include "config/route_json.h"
#include "router/control/static_routes.h"

namespace pktpit::router {
namespace {

constexpr auto cli_source = fib::RouteSource::cli;

}  // namespace

void CliRoutes::load() {
    std::ifstream file(path_);
    if (!file) return;
    const auto kept = nlohmann::json::parse(file, nullptr, false);
    if (!kept.is_array()) {
        spdlog::warn("{}: not readable, routes given by hand are lost", path_);
        return;
    }
    for (const auto& entry : kept) {
        const auto route = config::parse_route(entry);
        if (!route) {
            spdlog::warn("{}: {}", path_, route.error().front().to_string());
            continue;
        }
        if (auto installed = install(*route); !installed)
            spdlog::warn("route {} given by hand is left out: {}", route->prefix.to_string(),
                         installed.error().to_string());
        else
            routes_.insert_or_assign(route->prefix, *route);
    }
}

void CliRoutes::refresh() {
    for (const auto& [prefix, route] : routes_)
        if (auto installed = install(route); !installed) {
            spdlog::warn("route {} given by hand cannot be used now: {}", prefix.to_string(),
                         installed.error().to_string());
            (void)routing_.erase_route(prefix, cli_source);
        }
}

Result<bool> CliRoutes::add(const config::StaticRoute& route) {
    const std::string prefix = route.prefix.to_string();
    if (routes_.contains(route.prefix))
        return fail(prefix, "there is a route given by hand already", "a prefix without one",
                    "pktpit route replace " + prefix + " …");
    return replace(route);
}

Result<bool> CliRoutes::replace(const config::StaticRoute& route) {
    const auto known = routes_.find(route.prefix);
    if (known != routes_.end() && known->second == route) return false;
    auto after = routes_;
    after.insert_or_assign(route.prefix, route);
    if (auto saved = save(after); !saved) return tl::unexpected(saved.error());
    if (auto installed = install(route); !installed) {
        (void)save(routes_);
        return tl::unexpected(installed.error());
    }
    routes_ = std::move(after);
    return true;
}

Result<bool> CliRoutes::remove(const Prefix& prefix) {
    if (!routes_.contains(prefix))
        return fail(prefix.to_string(), "no route was given by hand for it",
                    "a prefix of pktpit show routes --source cli",
                    "routes of other sources are changed where they come from");
    auto after = routes_;
    after.erase(prefix);
    if (auto saved = save(after); !saved) return tl::unexpected(saved.error());
    (void)routing_.erase_route(prefix, cli_source);
    routes_ = std::move(after);
    return true;
}

void CliRoutes::forget() const {
    ::unlink(path_.c_str());
}

Result<void> CliRoutes::install(const config::StaticRoute& route) {
    auto spec = to_spec(routing_.interfaces(), route.type, route.next_hops);
    if (!spec) return tl::unexpected(spec.error());
    if (route.counters) {
        const auto counter = counters_.acquire({route.prefix, cli_source});
        if (!counter) return tl::unexpected(counter.error());
        spec->counter = *counter;
    }
    const auto next_hops = routing_.acquire_next_hops(*spec);
    if (!next_hops) return tl::unexpected(for_route(route.prefix, next_hops.error()));
    auto set = routing_.set_route({route.prefix, cli_source, route.preference, route.metric, *next_hops});
    routing_.release_next_hops(*next_hops);
    return set;
}

// Written beside and renamed over: a reader finds the old routes or the new ones, never half of them.
Result<void> CliRoutes::save(const Routes& routes) const {
    config::Config document;
    for (const auto& [prefix, route] : routes)
        document.routes.push_back(route);
    const std::string incoming = path_ + ".incoming";
    std::ofstream file(incoming, std::ios::trunc);
    file << config::to_json(document)["routes"].dump(1) << '\n';
    file.close();
    if (!file || std::rename(incoming.c_str(), path_.c_str()) != 0)
        return fail(path_, "cannot keep the route over a restart: " + errno_text(errno),
                    "a writable /run/pktpit");
    return {};
}

}  // namespace pktpit::router
