// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/kernel_routes.h"

#include <linux/rtnetlink.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <vector>

#include "config/protocols.h"

namespace pktpit::router {
namespace {

constexpr auto kernel_source = fib::RouteSource::kernel;

RouteFilter filter_of(const config::KernelRoutes& settings) {
    RouteFilter filter{settings.enabled, settings.table, {}};
    for (const auto& name : settings.protocols)
        if (const auto number = config::protocol_number(name)) filter.protocols.push_back(*number);
    return filter;
}

}  // namespace

Result<void> KernelRoutes::configure(const config::KernelRoutes& wanted, Transaction& transaction) {
    const config::KernelRoutes running = connection_ ? connection_->settings : config::KernelRoutes{};
    if (wanted == running || (!wanted.enabled && !running.enabled)) return {};

    std::shared_ptr<Connection> next;
    if (wanted.enabled) {
        auto connected = connect(wanted);
        if (!connected) return tl::unexpected(connected.error());
        next = std::move(*connected);
    }
    transaction.on_rollback("kernel routes", [this, before = connection_] { exchange(before); });
    exchange(next);
    return {};
}

Result<std::shared_ptr<KernelRoutes::Connection>> KernelRoutes::connect(const config::KernelRoutes& wanted) {
    const RouteFilter filter = filter_of(wanted);
    auto kernel = open_(filter);
    if (!kernel) return tl::unexpected(kernel.error());
    auto next = std::make_shared<Connection>();
    next->kernel = std::move(*kernel);
    next->state = std::make_unique<KernelState>(filter, *this);
    next->settings = wanted;
    const struct Silence {
        bool& silent;
        ~Silence() { silent = false; }
    } silence{silent_};
    silent_ = true;
    const auto dumped = next->kernel->dump([&](const KernelEvent& event) { next->state->consume(event); });
    next->state->settle();
    if (!dumped) return tl::unexpected(dumped.error());
    return next;
}

void KernelRoutes::exchange(std::shared_ptr<Connection> next) {
    if (next == connection_) return refresh();
    if (next)
        watcher_.watch(next->kernel->descriptor(), [connection = next] {
            if (auto followed = follow(*connection->kernel, *connection->state); !followed)
                spdlog::warn("kernel routes: {}; reading them all again", followed.error().to_string());
        });
    close(connection_);
    connection_ = std::move(next);
    refresh();
}

void KernelRoutes::close(const std::shared_ptr<Connection>& connection) {
    if (connection) watcher_.unwatch(connection->kernel->descriptor());
}

void KernelRoutes::refresh() {
    std::vector<Prefix> gone;
    for (const Family family : {Family::ipv4, Family::ipv6})
        routing_.rib().for_each_unordered(family, [&](const fib::Route& route, bool) {
            if (route.source == kernel_source &&
                (!connection_ || !connection_->state->routes().find(route.prefix)))
                gone.push_back(route.prefix);
            return true;
        });
    for (const auto& prefix : gone)
        (void)routing_.erase_route(prefix, kernel_source);
    if (!connection_) return;
    connection_->state->routes().for_each(
        [this](const Prefix& prefix, const KernelRoute& route) { install(prefix, route); });
}

void KernelRoutes::route_set(const Prefix& prefix, const KernelRoute& route) {
    if (!silent_) install(prefix, route);
}

void KernelRoutes::route_removed(const Prefix& prefix) {
    if (!silent_) (void)routing_.erase_route(prefix, kernel_source);
}

// What Pktpit can do with the kernel's route; nothing for what has to stay the kernel's business.
std::optional<NextHopSetSpec> KernelRoutes::usable(const Prefix& prefix, const KernelRoute& route) const {
    if (!filter_of(connection_->settings).wants(route.protocol)) return std::nullopt;
    // The kernel's own routes to connected nets follow from addresses, which are followed already.
    if (route.protocol == RTPROT_KERNEL && connection_->settings.protocols.empty()) return std::nullopt;
    if (route.unsupported || prefix.address.is_multicast() ||
        (prefix.length > 0 && prefix.address.is_link_local()))
        return std::nullopt;
    switch (route.type) {
        case RTN_BLACKHOLE:
            return NextHopSetSpec{PP_ADJ_BLACKHOLE, {}};
        case RTN_UNREACHABLE:
            return NextHopSetSpec{PP_ADJ_UNREACHABLE, {}};
        case RTN_PROHIBIT:
            return NextHopSetSpec{PP_ADJ_PROHIBIT, {}};
        case RTN_UNICAST:
            break;
        default:
            return std::nullopt;
    }
    NextHopSetSpec spec;
    spec.resilient = route.resilient;
    spec.idle_timer = route.idle_timer;
    for (const auto& hop : route.next_hops)
        if (const L3Interface* interface = routing_.interfaces().by_ifindex(hop.ifindex))
            spec.next_hops.push_back({hop.gateway, interface->id, hop.weight});
    if (spec.next_hops.empty()) return std::nullopt;  // leaves by a device that is not the router's
    return spec;
}

void KernelRoutes::rule_changed(const RuleEvent& rule) {
    if (rule.removed) {
        std::erase_if(rules_told_, [&](RuleEvent told) {
            told.removed = true;
            return told == rule;
        });
        return;
    }
    if (!rules_told_.insert(rule).second) return;
    spdlog::warn(
        "ip {}rule {}: lookup of table {} is not followed: packets are routed by their destination alone, in "
        "one "
        "table",
        rule.family == Family::ipv6 ? "-6 " : "", rule.priority, rule.table);
}

// What the kernel would do otherwise, once of each route.
void KernelRoutes::tell_not_followed(const Prefix& prefix, const KernelRoute& route) {
    if (!filter_of(connection_->settings).wants(route.protocol)) return;
    std::string what;
    if (route.unsupported)
        what =
            "encapsulates, which Pktpit does not: it is left out, and a shorter prefix takes its packets if "
            "there "
            "is one";
    else if (route.mtu_locked)
        what = "its locked MTU is not kept: packets as large as its link's MTU leave by it";
    else
        return;
    constexpr size_t most = 1000;
    if (not_followed_.size() >= most || !not_followed_.emplace(prefix, what).second) return;
    spdlog::warn("kernel route {}: {}", prefix.to_string(), what);
    if (not_followed_.size() == most) spdlog::warn("kernel routes: no more of this will be told");
}

void KernelRoutes::install(const Prefix& prefix, const KernelRoute& route) {
    tell_not_followed(prefix, route);
    const auto spec = usable(prefix, route);
    if (!spec) {
        (void)routing_.erase_route(prefix, kernel_source);
        return;
    }
    // A full FIB refuses a whole table: one line in a thousand tells enough.
    const auto refuse = [&](const Error& error) {
        if (refused_++ % 1000 == 0)
            spdlog::error("kernel route {}: not taken over ({} so far): {}", prefix.to_string(), refused_,
                          error.to_string());
    };
    const auto next_hops = routing_.acquire_next_hops(*spec);
    if (!next_hops) return refuse(next_hops.error());
    if (auto set = routing_.set_route(
            {prefix, kernel_source, connection_->settings.preference, route.metric, *next_hops});
        !set)
        refuse(set.error());
    routing_.release_next_hops(*next_hops);
}

}  // namespace pktpit::router
