// SPDX-License-Identifier: BSD-3-Clause
// NetlinkKernel's events and dumps; its requests are in netlink_requests.cpp.
#include "router/kernel/netlink.h"

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "router/kernel/comparison_dump.h"
#include "router/kernel/device_routes.h"
#include "router/kernel/dump_requests.h"
#include "router/kernel/parse.h"

namespace pktpit::router {

namespace {

using netlink::nexthop_dump;
using netlink::Received;
using netlink::Request;
using netlink::route_dump;

using std::chrono::milliseconds;

constexpr unsigned events_per_step = 512;
constexpr unsigned attempts_per_kind = 10;  ///< when the kernel says that a dump was disturbed
constexpr unsigned attempts_at_routes = 3;
constexpr unsigned attempts_per_resync = 3;  ///< when events were lost meanwhile; then it waits
constexpr size_t most_ruled = 10'000;        ///< routes of tables that rules lead to, by one dump
constexpr milliseconds rest_time{5};
constexpr milliseconds comparison_pause{5};  ///< between two pieces
constexpr milliseconds first_patience{100};
constexpr milliseconds longest_patience{10'000};

Request link_dump() {
    Request request(RTM_GETLINK, 0);
    request.header<ifinfomsg>().ifi_family = AF_UNSPEC;
    mnl_attr_put_u32(request.message(), IFLA_EXT_MASK, RTEXT_FILTER_SKIP_STATS);
    return request;
}

Request address_dump() {
    Request request(RTM_GETADDR, 0);
    request.header<ifaddrmsg>().ifa_family = AF_UNSPEC;
    return request;
}

Request neighbour_dump() {
    Request request(RTM_GETNEIGH, 0);
    request.header<ndmsg>().ndm_family = AF_UNSPEC;
    return request;
}

Request rule_dump() {
    Request request(RTM_GETRULE, 0);
    request.header<fib_rule_hdr>().family = AF_UNSPEC;
    return request;
}

/// Of all tables: the kernel leaves out what is of another type or of another protocol; 0: of any.
Request device_route_dump(uint8_t family, uint8_t type, uint8_t protocol) {
    Request request(RTM_GETROUTE, 0);
    auto& header = request.header<rtmsg>();
    header.rtm_family = family;
    header.rtm_type = type;
    header.rtm_protocol = protocol;
    return request;
}

bool is_selective(const KernelEvent& event) {
    return std::holds_alternative<SelectiveRouteEvent>(event);
}

void set_timer(int timer, milliseconds after) {
    itimerspec when{};
    when.it_value.tv_sec = after.count() / 1000;
    when.it_value.tv_nsec = after.count() % 1000 * 1'000'000;
    timerfd_settime(timer, 0, &when, nullptr);
}

bool has_expired(int timer) {
    uint64_t expirations = 0;
    return read(timer, &expirations, sizeof expirations) == sizeof expirations;
}

void listen_to(int epoll, int descriptor, uint32_t events) {
    epoll_event interest{};
    interest.events = events;
    epoll_ctl(epoll, EPOLL_CTL_MOD, descriptor, &interest);
}

}  // namespace

NetlinkKernel::NetlinkKernel(NetlinkOptions options) : options_(std::move(options)) {}

NetlinkKernel::~NetlinkKernel() {
    if (timer_ >= 0) close(timer_);
    if (rest_ >= 0) close(rest_);
    if (pace_ >= 0) close(pace_);
    if (epoll_ >= 0) close(epoll_);
}

Result<std::unique_ptr<NetlinkKernel>> NetlinkKernel::open(NetlinkOptions options) {
    std::unique_ptr<NetlinkKernel> kernel(new NetlinkKernel(std::move(options)));
    if (auto started = kernel->start(); !started) return tl::unexpected(started.error());
    return kernel;
}

Result<void> NetlinkKernel::start() {
    auto events = netlink::Socket::open();
    if (!events) return tl::unexpected(events.error());
    auto requests = netlink::Socket::open();
    if (!requests) return tl::unexpected(requests.error());
    auto probes = netlink::Socket::open();
    if (!probes) return tl::unexpected(probes.error());
    events_ = std::move(*events);
    requests_ = std::move(*requests);
    probes_ = std::move(*probes);
    counters_.receive_buffer = events_->set_receive_buffer(options_.receive_buffer);

    std::vector<unsigned> groups = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR};
    if (options_.neighbours) groups.push_back(RTNLGRP_NEIGH);
    if (options_.routes.of_devices) {
        groups.insert(groups.end(), {RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE});
        if (auto only = events_->take_device_routes_only(); !only) return only;
    }
    if (options_.routes.enabled) {
        groups.insert(groups.end(), {RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE,
                                     RTNLGRP_IPV6_RULE, RTNLGRP_NEXTHOP});
    }
    for (const unsigned group : groups) {
        auto joined = events_->join(group);
        // Linux before 5.3 has no nexthop objects.
        if (!joined && group != RTNLGRP_NEXTHOP) return joined;
    }

    epoll_ = epoll_create1(EPOLL_CLOEXEC);
    timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    rest_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    pace_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (epoll_ < 0 || timer_ < 0 || rest_ < 0 || pace_ < 0)
        return fail("netlink", std::string("epoll, timerfd: ") + std::strerror(errno));
    for (const int descriptor : {events_->descriptor(), timer_, rest_, pace_}) {
        epoll_event interest{};
        interest.events = EPOLLIN;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &interest) != 0) {
            return fail("netlink", std::string("epoll_ctl: ") + std::strerror(errno));
        }
    }
    return {};
}

void NetlinkKernel::owe_resync(milliseconds after) {
    owed_ = after.count() != 0;
    set_timer(timer_, after);
}

bool NetlinkKernel::resync_is_due() {
    return has_expired(timer_);
}

void NetlinkKernel::begin_rest() {
    resting_ = true;
    listen_to(epoll_, events_->descriptor(), 0);
    set_timer(rest_, rest_time);
}

void NetlinkKernel::end_rest() {
    if (!resting_ || !has_expired(rest_)) return;
    resting_ = false;
    listen_to(epoll_, events_->descriptor(), EPOLLIN);
}

void NetlinkKernel::hand_on(std::span<const std::byte> message, const Deliver& deliver) {
    const auto parsed = parse(message);
    if (!parsed) {
        switch (parsed.error()) {
            case Skip::not_ours:
                ++counters_.ignored;
                break;
            case Skip::malformed:
                ++counters_.malformed;
                break;
            case Skip::unsupported:
                ++counters_.unsupported;
                break;
        }
        return;
    }
    const auto* route = std::get_if<RouteEvent>(&*parsed);
    if (options_.routes.of_devices && (route ? !is_of_device(*route) : is_selective(*parsed))) {
        ++counters_.ignored;
        return;
    }
    if (route && !options_.routes.of_devices && route->table != options_.routes.table) {
        ++counters_.ignored;
        if (is_ruled(route->table)) hand_on_ruled(*route, deliver);
        return;
    }
    if (const auto* selective = std::get_if<SelectiveRouteEvent>(&*parsed)) {
        const bool followed = selective->table == options_.routes.table;
        ++(followed ? counters_.unsupported : counters_.ignored);
        ruled_told_ += is_ruled(selective->table);
        if (followed || is_ruled(selective->table)) deliver(*parsed);
        return;
    }
    if (const auto* rule = std::get_if<RuleEvent>(&*parsed); rule && options_.routes.ruled_tables) {
        if (!reading_ruled_)
            ruled_owed_ = true;
        else if (const auto at = std::ranges::lower_bound(ruled_, rule->table); !is_ruled(rule->table))
            ruled_.insert(at, rule->table);
    }
    ++counters_.events;
    if (comparison_) comparison_->heed(*parsed);
    deliver(*parsed);
}

void NetlinkKernel::hand_on_ruled(const RouteEvent& route, const Deliver& deliver) {
    ++ruled_told_;
    deliver(SelectiveRouteEvent{route.removed, route.prefix, route.table, route.metric, route.protocol, 0,
                                std::nullopt});
}

Result<void> NetlinkKernel::dump(const Deliver& deliver) {
    begin_dump();
    return poll(deliver);
}

Result<void> NetlinkKernel::poll(const Deliver& deliver) {
    do {
        if (auto done = step(deliver); !done) return done;
    } while (phase_ != Phase::follow);
    // Not what comes meanwhile: that would be without end where more comes than can be handled.
    for (size_t left = queue_.size(); left > 0; --left) {
        hand_on(queue_.front(), deliver);
        queue_.pop();
    }
    return {};
}

Result<bool> NetlinkKernel::work(const Deliver& deliver, Turn& turn) {
    end_rest();
    const auto heard = [this] { return counters_.events + counters_.ignored; };
    const uint64_t before = heard();
    auto more = work_on(deliver, turn);
    if (more && !*more && heard() != before && !resting_) begin_rest();
    return more;
}

Result<bool> NetlinkKernel::work_on(const Deliver& deliver, Turn& turn) {
    for (;;) {
        if (auto done = step(deliver); !done) return tl::unexpected(done.error());
        if (phase_ != Phase::follow) {
            if (turn.over_after_much()) return true;
            continue;
        }
        for (unsigned count = 0; count < events_per_step && !queue_.empty(); ++count) {
            hand_on(queue_.front(), deliver);
            queue_.pop();
            if (turn.over()) return true;
        }
        if (queue_.empty() && drained_ && !ruled_are_due()) {
            if (auto compared = work_on_comparison(deliver); !compared)
                return tl::unexpected(compared.error());
            return false;
        }
    }
}

void NetlinkKernel::compare() {
    if (!options_.routes.enabled || phase_ != Phase::follow || owed_) return;
    comparison_asked_ = true;
    if (!comparison_) set_timer(pace_, milliseconds(1));
}

// Whatever has been sent is delivered: a piece that was read before can be judged.
Result<void> NetlinkKernel::work_on_comparison(const Deliver& deliver) {
    if (!has_expired(pace_)) return {};
    if (comparison_) {
        const auto more = comparison_->step(deliver);
        if (!more || !*more) comparison_.reset();
        if (!more) return tl::unexpected(more.error());
    } else if (std::exchange(comparison_asked_, false)) {
        auto begun = ComparisonDump::begin(options_.routes.table, deliver);
        if (!begun) return tl::unexpected(begun.error());
        comparison_ = std::move(*begun);
    }
    if (comparison_ || comparison_asked_) set_timer(pace_, comparison_pause);
    return {};
}

void NetlinkKernel::begin_dump() {
    owe_resync(milliseconds(0));
    // What has been lost lies behind what is still queued; and the dump says it all.
    queue_.clear();
    reading_ruled_ = false;
    comparison_.reset();
    comparison_asked_ = false;
    phase_ = Phase::discard;
}

/// Events out of the socket, and the next piece of what stands before they can be handled.
Result<void> NetlinkKernel::step(const Deliver& deliver) {
    if (owed_ && phase_ == Phase::follow && resync_is_due()) begin_dump();
    if (ruled_are_due())
        if (auto begun = begin_ruled(); !begun) return begun;
    if (phase_ != Phase::discard) {
        if (auto taken = take_events(); !taken) return taken;
    }
    switch (phase_) {
        case Phase::discard:
            if (auto discarded = discard_events(); !discarded) return discarded;
            return phase_ == Phase::dump ? start_dump(deliver) : Result<void>();
        case Phase::dump:
            return read_dump(deliver);
        case Phase::follow:
            break;
    }
    return {};
}

Result<void> NetlinkKernel::take_events() {
    drained_ = false;
    for (unsigned count = 0; count < events_per_step && !drained_; ++count) {
        const auto received = events_->receive();
        if (!received) return tl::unexpected(received.error());
        drained_ = *received == Received::nothing;
        if (*received == Received::nothing || *received == Received::foreign) continue;
        if (*received == Received::overflow || queue_.bytes() > options_.queue_limit) {
            lose();
            break;
        }
        if (phase_ == Phase::dump) look_for_disturbance(events_->datagram());
        queue_.append(events_->datagram());
    }
    counters_.most_waiting = std::max<uint64_t>(counters_.most_waiting, queue_.size());
    return {};
}

void NetlinkKernel::lose() {
    ++counters_.overflows;
    counters_.most_waiting = std::max<uint64_t>(counters_.most_waiting, queue_.size());
    if (phase_ == Phase::dump) ++lost_in_a_row_;
    begin_dump();
}

/// Only an empty queue ends the kernel's congestion state, in which it drops events without another ENOBUFS.
Result<void> NetlinkKernel::discard_events() {
    for (unsigned count = 0; count < events_per_step; ++count) {
        const auto received = events_->receive();
        if (!received) return tl::unexpected(received.error());
        if (*received == Received::nothing) {
            phase_ = Phase::dump;
            break;
        }
    }
    return {};
}

std::vector<NetlinkKernel::DumpKind> NetlinkKernel::kinds() const {
    std::vector<DumpKind> kinds{{link_dump, attempts_per_kind}, {address_dump, attempts_per_kind}};
    if (options_.neighbours) kinds.push_back({neighbour_dump, attempts_per_kind});
    if (options_.routes.of_devices)
        for (const uint8_t family : {uint8_t{AF_INET}, uint8_t{AF_INET6}}) {
            const auto add = [&](uint8_t type, uint8_t protocol) {
                kinds.push_back({[=] { return device_route_dump(family, type, protocol); },
                                 attempts_at_routes, true, family == AF_INET6 ? family : uint8_t{0}});
            };
            add(RTN_LOCAL, RTPROT_UNSPEC);
            for (const uint8_t protocol : prefix_route_protocols)
                add(RTN_UNICAST, protocol);
        }
    if (!options_.routes.enabled) return kinds;
    const uint32_t table = options_.routes.table;
    kinds.push_back({nexthop_dump, attempts_per_kind, true});
    kinds.push_back({rule_dump, attempts_per_kind, true});
    kinds.push_back({[table] { return route_dump(AF_INET, table); }, attempts_at_routes, true});
    // fib6_dump_table() begins at the root again when the tree has changed, and skips as many routes as it
    // has dumped: where one of those is gone, one is left out that it has not.
    kinds.push_back({[table] { return route_dump(AF_INET6, table); }, attempts_at_routes, true, AF_INET6});
    return kinds;
}

Result<void> NetlinkKernel::start_dump(const Deliver& deliver) {
    auto socket = netlink::Socket::open();
    ruled_owed_ = options_.routes.ruled_tables;
    deliver(ResyncBegin{});
    kinds_ = kinds();
    kind_ = attempt_ = 0;
    complete_ = true;
    disturbed_ = false;
    if (!socket) return give_up(socket.error(), deliver);
    dumps_ = std::move(*socket);
    // Without it (before Linux 4.20) the kernel dumps every table; hand_on() filters in any case.
    dumps_->set_option(NETLINK_GET_STRICT_CHK, 1);
    Request request = kinds_.front().request();
    if (auto begun = dumps_->begin_dump(request); !begun) return give_up(begun.error(), deliver);
    return {};
}

Result<void> NetlinkKernel::read_dump(const Deliver& deliver) {
    if (lost_in_a_row_ >= attempts_per_resync) {
        return give_up({"netlink",
                        "the kernel's tables change faster than they can be read",
                        {},
                        "they are read again in a while; a larger receive buffer helps"},
                       deliver);
    }
    const auto state = dumps_->read_dump([&](auto message) { hand_on(message, deliver); });
    if (!state) return give_up(state.error(), deliver);
    if (reading_ruled_ && ruled_told_ > most_ruled) {
        kind_ = kinds_.size();  // of a socket that is not read to its end nothing else can be asked
        return next_of_ruled(true, deliver);
    }
    if (*state == netlink::Socket::DumpState::goes_on) return {};
    return next_kind(disturbed_ || *state == netlink::Socket::DumpState::ended_disturbed, deliver);
}

/// Repeated on top of what was delivered: of an object that is gone by now an event waits in the queue.
Result<void> NetlinkKernel::next_kind(bool disturbed, const Deliver& deliver) {
    if (reading_ruled_) return next_of_ruled(disturbed, deliver);
    disturbed_ = false;
    const DumpKind& kind = kinds_[kind_];
    if (disturbed && ++attempt_ < kind.attempts) {
        ++counters_.dumps_repeated;
    } else {
        if (disturbed && !kind.may_be_partial)
            return give_up({"netlink", "a dump was disturbed by changes ten times in a row", {}, {}},
                           deliver);
        complete_ &= !disturbed;
        attempt_ = 0;
        ++kind_;
    }
    if (kind_ < kinds_.size()) {
        Request request = kinds_[kind_].request();
        if (auto begun = dumps_->begin_dump(request); !begun) return give_up(begun.error(), deliver);
        return {};
    }
    dumps_.reset();
    phase_ = Phase::follow;
    lost_in_a_row_ = 0;
    ++counters_.resyncs;
    patience_ =
        complete_ ? milliseconds(0) : std::clamp(2 * patience_, 10 * first_patience, longest_patience);
    if (!complete_) owe_resync(patience_);
    deliver(ResyncEnd{complete_});
    return {};
}

/// The rules, and what they lead to: the kernel's own lead to the main table and the one behind it, and those
/// of the local one are the kernel's matter.
Result<void> NetlinkKernel::begin_ruled() {
    ruled_owed_ = false;
    auto socket = netlink::Socket::open();
    if (!socket) return tl::unexpected(socket.error());
    dumps_ = std::move(*socket);
    dumps_->set_option(NETLINK_GET_STRICT_CHK, 1);
    kinds_ = {{rule_dump, 1, true}};
    kind_ = attempt_ = 0;
    disturbed_ = false;
    complete_ = true;
    ruled_ = {RT_TABLE_DEFAULT, RT_TABLE_MAIN};
    ruled_told_ = 0;
    Request request = kinds_.front().request();
    if (auto begun = dumps_->begin_dump(request); !begun) return begun;
    reading_ruled_ = true;
    phase_ = Phase::dump;
    return {};
}

Result<void> NetlinkKernel::next_of_ruled(bool disturbed, const Deliver& deliver) {
    disturbed_ = false;
    complete_ &= !disturbed;
    if (kind_ == 0) {
        std::erase_if(ruled_, [this](uint32_t table) {
            return table == RT_TABLE_UNSPEC || table == RT_TABLE_LOCAL || table == options_.routes.table;
        });
        deliver(RuledTables{ruled_, false});
        for (const uint32_t table : ruled_)
            for (const uint8_t family : {uint8_t{AF_INET}, uint8_t{AF_INET6}})
                kinds_.push_back({[table, family] { return route_dump(family, table); }, 1, true});
    }
    if (++kind_ < kinds_.size()) {
        Request request = kinds_[kind_].request();
        if (auto begun = dumps_->begin_dump(request)) return {};
        complete_ = false;
    }
    dumps_.reset();
    phase_ = Phase::follow;
    reading_ruled_ = false;
    // Disturbed: a change of the rules has owed it again; of the routes, its events are still to come.
    if (complete_) deliver(RuledTables{ruled_, true});
    return {};
}

/// Events are followed meanwhile, as well as can be.
Result<void> NetlinkKernel::give_up(Error error, const Deliver& deliver) {
    dumps_.reset();
    phase_ = Phase::follow;
    lost_in_a_row_ = 0;
    if (std::exchange(reading_ruled_, false)) return tl::unexpected(std::move(error));
    patience_ = std::clamp(2 * patience_, first_patience, longest_patience);
    owe_resync(patience_);
    deliver(ResyncEnd{false});
    return tl::unexpected(std::move(error));
}

void NetlinkKernel::look_for_disturbance(std::span<const std::byte> datagram) {
    if (kinds_[kind_].deletions_matter == 0) return;
    netlink::for_each_message(datagram, [this](auto message) {
        nlmsghdr header;
        rtmsg route;
        if (message.size() < sizeof header + sizeof route) return;
        std::memcpy(&header, message.data(), sizeof header);
        std::memcpy(&route, message.data() + sizeof header, sizeof route);
        disturbed_ |= header.nlmsg_type == RTM_DELROUTE && route.rtm_family == kinds_[kind_].deletions_matter;
    });
}

KernelCounters NetlinkKernel::counters() const {
    KernelCounters counters = counters_;
    counters.waiting = queue_.size();
    if (counters.overflows != 0) counters.drops = events_->drops();
    counters.reading = phase_ != Phase::follow && !reading_ruled_;
    return counters;
}

}  // namespace pktpit::router
