// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/kernel_routes.h"

#include <fmt/format.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <vector>

#include "config/protocols.h"

namespace pktpit::router {
namespace {

constexpr auto kernel_source = fib::RouteSource::kernel;
constexpr std::chrono::milliseconds turn_time{2};

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
    transaction.on_rollback("kernel routes", [this, before = connection_] {
        exchange(before);
        close_former();
    });
    transaction.on_commit("kernel routes", [this] { close_former(); });
    exchange(next);
    return {};
}

Result<std::shared_ptr<KernelRoutes::Connection>> KernelRoutes::connect(const config::KernelRoutes& wanted) {
    auto next = std::make_shared<Connection>();
    next->settings = wanted;
    next->filter = filter_of(wanted);
    next->filter.ruled_tables = vrf_ == default_vrf;
    auto kernel = open_(next->filter);
    if (!kernel) return tl::unexpected(kernel.error());
    next->kernel = std::move(*kernel);
    next->state = std::make_unique<KernelState>(next->filter, *this);
    return next;
}

void KernelRoutes::exchange(const std::shared_ptr<Connection>& next) {
    if (next == connection_) return refresh();
    if (next) {
        watcher_.watch(next->kernel->descriptor(), [this] { ask_for_turn(); });
        if (!std::exchange(next->begun, true)) next->kernel->begin_dump();
    }
    unwatch(connection_);
    if (connection_) former_.push_back(connection_);
    std::erase(former_, next);
    connection_ = next;
    forgotten_ = {};
    losses_told_ = 0;
    recovering_ = false;
    refresh();
}

// Behind "kernel routes" where people read of them.
std::string KernelRoutes::of_vrf() const {
    return vrf_ == default_vrf ? "" : " of VRF " + routing_.vrf_name(vrf_).name;
}

void KernelRoutes::unwatch(const std::shared_ptr<Connection>& connection) {
    if (connection) watcher_.unwatch(connection->kernel->descriptor());
}

/// There is no way back to them.
void KernelRoutes::close_former() {
    for (const auto& former : former_)
        former->kernel.reset();
}

void KernelRoutes::refresh() {
    refreshing_ = connection_ != nullptr;
    refreshed_ = {};
    ask_for_turn();
}

void KernelRoutes::ask_for_turn() {
    if (std::exchange(turn_is_due_, true)) return;
    watcher_.after_others([self = std::weak_ptr(self_)] {
        const auto here = self.lock();
        if (!here) return;
        KernelRoutes& routes = **here;
        routes.turn_is_due_ = false;
        Turn turn = Turn::lasting(turn_time);
        if (routes.work(turn)) routes.ask_for_turn();
    });
}

void KernelRoutes::read_now(const std::function<bool()>& enough) {
    while (connection_ && !connection_->state->is_complete() && !enough()) {
        Turn turn = Turn::lasting(std::chrono::milliseconds(50));
        if (work(turn)) continue;
        // It will be read again in a while.
        pollfd readable{connection_->kernel->descriptor(), POLLIN, 0};
        ::poll(&readable, 1, 20);
    }
}

bool KernelRoutes::work(Turn& turn) {
    const auto began = Turn::Clock::now();
    bool more = false;
    if (connection_) {
        // However much there is to follow, the rest has its part of each turn.
        Turn first = refreshing_ || !former_.empty() ? turn.half() : turn;
        const auto followed = follow(*connection_->kernel, *connection_->state, first);
        if (!followed)
            spdlog::warn("kernel routes{}: {}", of_vrf(), followed.error().to_string());
        else
            more = *followed;
        tell_losses();
    }
    more |= install_again(turn);
    more |= forget_former(turn);
    ++turns_;
    longest_turn_ = std::max(
        longest_turn_, std::chrono::duration_cast<std::chrono::microseconds>(Turn::Clock::now() - began));
    return more;
}

bool KernelRoutes::install_again(Turn& turn) {
    if (!refreshing_) return false;
    refreshing_ = connection_->state->routes().for_each(
        [this](const Prefix& prefix, const KernelRoute& route) { install(prefix, route); }, refreshed_, turn);
    return refreshing_;
}

bool KernelRoutes::forget_former(Turn& turn) {
    if (connection_ && !connection_->state->is_complete()) return false;  // asks for turns itself
    while (!former_.empty()) {
        const auto forget = [this](const Prefix& prefix) {
            if (!connection_ || !connection_->state->routes().find(prefix))
                (void)routing_.erase_route(prefix, kernel_source, vrf_);
        };
        if (former_.front()->state->routes().for_each_told(forget, forgotten_, turn)) return true;
        former_.erase(former_.begin());
        forgotten_ = {};
    }
    return false;
}

// Once a burst, and once when it is over.
void KernelRoutes::tell_losses() {
    const KernelCounters counters = connection_->kernel->counters();
    if (std::exchange(losses_told_, counters.overflows) != counters.overflows &&
        !std::exchange(recovering_, true)) {
        spdlog::warn(
            "kernel routes{}: messages of the kernel were lost, since {} KiB of them had not been read "
            "yet. They are all read again; forwarding goes on by what is known. If it happens often, the "
            "daemon gets too little of its CPU",
            of_vrf(), counters.receive_buffer / 1024);
        events_.add(EventKind::kernel_routes,
                    "messages of the kernel were lost; all routes" + of_vrf() + " are read again");
    }
    if (recovering_ && !counters.reading && connection_->state->is_complete()) {
        recovering_ = false;
        spdlog::info("kernel routes{}: complete again, {} prefixes; {} messages were dropped so far",
                     of_vrf(), connection_->state->routes().prefixes(), counters.drops);
        events_.add(EventKind::kernel_routes,
                    "complete again" + of_vrf() + ": " +
                        std::to_string(connection_->state->routes().prefixes()) +
                        " prefixes; messages dropped so far: " + std::to_string(counters.drops));
    }
}

KernelRoutes::Status KernelRoutes::status() const {
    Status status;
    status.turns = turns_;
    status.longest_turn = longest_turn_;
    status.comparisons = comparisons_;
    status.differences = differences_;
    for (const auto& former : former_)
        status.waiting += former->state->routes().prefixes();
    if (!connection_) return status;
    const RouteTable& routes = connection_->state->routes();
    status.followed = true;
    status.routes = routes.prefixes();
    status.netlink = connection_->kernel->counters();
    status.complete = connection_->state->is_complete() && !status.netlink.reading;
    status.waiting += status.netlink.waiting + routes.unsettled() + (refreshing_ ? routes.prefixes() : 0);
    return status;
}

void KernelRoutes::route_set(const Prefix& prefix, const KernelRoute& route) {
    install(prefix, route);
}

void KernelRoutes::route_removed(const Prefix& prefix) {
    connection_->ignored.remove({prefix});
    (void)routing_.erase_route(prefix, kernel_source, vrf_);
}

// Of routes that follow from addresses of the router's interfaces, which are followed already, and of
// prefixes that are never forwarded nobody would expect anything. Nets of other devices are the kernel's to
// reach.
bool KernelRoutes::concerns(const Prefix& prefix, const KernelRoute& route) const {
    if (!connection_->filter.wants(route.protocol)) return false;
    if (route.protocol == RTPROT_KERNEL && connection_->settings.protocols.empty()) {
        const auto is_routers = [&](const KernelNextHop& hop) {
            return routing_.interfaces().by_ifindex(hop.ifindex) != nullptr;
        };
        if (route.type != RTN_UNICAST || std::ranges::any_of(route.next_hops, is_routers)) return false;
        if (prefix.address.is_loopback()) return false;
    }
    return !prefix.address.is_multicast() && (prefix.length == 0 || !prefix.address.is_link_local());
}

// What Pktpit cannot do itself stays the prefix's route, by which the kernel has the packets: a shorter
// prefix would lead them elsewhere.
NextHopSetSpec KernelRoutes::spec_of(const KernelRoute& route) const {
    switch (route.type) {
        case RTN_BLACKHOLE:
            return {PP_ADJ_BLACKHOLE, {}};
        case RTN_UNREACHABLE:
            return {PP_ADJ_UNREACHABLE, {}};
        case RTN_PROHIBIT:
            return {PP_ADJ_PROHIBIT, {}};
        case RTN_UNICAST:
            break;
        default:
            return {PP_ADJ_KERNEL, {}};
    }
    NextHopSetSpec spec;
    spec.resilient = route.resilient;
    spec.idle_timer = route.idle_timer;
    spec.mtu = route.mtu;
    for (const auto& hop : route.next_hops)
        if (const L3Interface* interface = routing_.interfaces().by_ifindex(hop.ifindex))
            spec.next_hops.push_back({hop.gateway, interface->id, hop.weight});
    if (route.unsupported || spec.next_hops.empty()) return {PP_ADJ_KERNEL, {}};
    return spec;
}

void KernelRoutes::rule_changed(const RuleEvent& rule) {
    if (vrf_ != default_vrf) return;
    const bool v6 = rule.family == Family::ipv6;
    const IgnoredRoutes::Route entry{Prefix::of(v6 ? IpAddress{.family = Family::ipv6} : IpAddress{}, 0),
                                     rule.table,
                                     rule.priority,
                                     0,
                                     {},
                                     true};
    if (rule.removed)
        connection_->ignored.remove(entry);
    else
        connection_->ignored.add(entry, IgnoredRoutes::Kind::rule, 0);
    if (rule.removed) {
        std::erase_if(connection_->rules_told, [&](RuleEvent told) {
            told.removed = true;
            return told == rule;
        });
        return;
    }
    if (!connection_->rules_told.insert(rule).second) return;
    spdlog::warn(
        "ip {}rule {}: lookup of table {} is not followed: packets are routed by their destination alone, in "
        "the table of their interface's VRF",
        rule.family == Family::ipv6 ? "-6 " : "", rule.priority, rule.table);
}

void KernelRoutes::selective_route(const SelectiveRouteEvent& route) {
    if (!connection_->filter.wants(route.protocol)) return;
    const IgnoredRoutes::Route entry{route.prefix, route.table, route.metric, route.tos, route.from};
    if (route.removed) return connection_->ignored.remove(entry);
    const bool elsewhere = route.table != connection_->filter.table;
    // Of nets of the kernel's own devices nobody would expect anything; and a VRF's table is followed.
    if (elsewhere && (route.protocol == RTPROT_KERNEL || routing_.vrf_by_table(route.table))) return;
    const auto kind = elsewhere    ? IgnoredRoutes::Kind::table
                      : route.from ? IgnoredRoutes::Kind::from
                                   : IgnoredRoutes::Kind::tos;
    if (connection_->ignored.add(entry, kind, route.protocol))
        spdlog::warn("kernel route {}{}: {}; so it is left out. All of them: pktpit show routes --ignored",
                     route.prefix.to_string(), of_vrf(), reason_of(entry, kind));
}

void KernelRoutes::ruled_tables(const RuledTables& tables) {
    connection_->ignored.ruled_tables(tables.tables, tables.read);
}

void KernelRoutes::resynced() {
    connection_->ignored.resynced();
    if (!recovering_)
        events_.add(EventKind::kernel_routes, "the table" + of_vrf() + " has been read: " +
                                                  std::to_string(connection_->state->routes().prefixes()) +
                                                  " prefixes");
}

void KernelRoutes::compare() {
    if (!connection_ || !connection_->state->is_complete()) return;
    connection_->kernel->compare();
    ask_for_turn();
}

void KernelRoutes::compared(const ComparisonResult& result) {
    ++comparisons_;
    differences_ += result.differences();
    if (result.differences() == 0) return;
    const std::string many =
        fmt::format("{} prefix{} and {} nexthop object{}", result.prefixes, result.prefixes == 1 ? "" : "es",
                    result.nexthops, result.nexthops == 1 ? "" : "s");
    spdlog::warn("kernel routes{}: {} had changed in the kernel without a word, and are put right ({})",
                 of_vrf(), many, result.first);
    events_.add(EventKind::kernel_routes,
                many + of_vrf() + " had changed without a word, and are put right (" + result.first + ")");
}

void KernelRoutes::note_ignored(const Prefix& prefix, const KernelRoute& route) {
    const auto kind = route.unsupported           ? IgnoredRoutes::Kind::encapsulated
                      : route.type == RTN_THROW   ? IgnoredRoutes::Kind::thrown
                      : route.type == RTN_UNICAST ? IgnoredRoutes::Kind::device
                                                  : IgnoredRoutes::Kind::other;
    if (connection_->ignored.add({prefix}, kind, route.protocol))
        spdlog::warn(
            "kernel route {}{}: {}. Its packets are handed to Linux, whose forwarding has to be on for that "
            "(net.ipv4.ip_forward, net.ipv6.conf.all.forwarding). All such routes: pktpit show routes "
            "--ignored",
            prefix.to_string(), of_vrf(), reason_of({prefix}, kind));
}

void KernelRoutes::install(const Prefix& prefix, const KernelRoute& route) {
    if (!concerns(prefix, route)) {
        connection_->ignored.remove({prefix});
        (void)routing_.erase_route(prefix, kernel_source, vrf_);
        return;
    }
    const NextHopSetSpec spec = spec_of(route);
    if (spec.kind == PP_ADJ_KERNEL)
        note_ignored(prefix, route);
    else
        connection_->ignored.remove({prefix});
    // A full FIB refuses a whole table: one line in a thousand tells enough.
    const auto refuse = [&](const Error& error) {
        if (refused_++ % 1000 == 0)
            spdlog::error("kernel route {}{}: not taken over ({} so far): {}", prefix.to_string(), of_vrf(),
                          refused_, error.to_string());
    };
    const auto next_hops = routing_.acquire_next_hops(spec);
    if (!next_hops) return refuse(next_hops.error());
    if (auto set = routing_.set_route(
            {prefix, kernel_source, connection_->settings.preference, route.metric, *next_hops}, vrf_);
        !set)
        refuse(set.error());
    routing_.release_next_hops(*next_hops);
}

}  // namespace pktpit::router
