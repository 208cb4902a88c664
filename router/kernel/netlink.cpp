// SPDX-License-Identifier: BSD-3-Clause
// NetlinkKernel's events and dumps; its requests are in netlink_requests.cpp.
#include "router/kernel/netlink.h"

#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "router/kernel/parse.h"

namespace pktpit::router {

namespace {

using netlink::Received;
using netlink::Request;

constexpr unsigned events_per_poll = 1024;
constexpr unsigned attempts_per_dump = 10;  ///< of one kind of object, when the kernel says it was disturbed
constexpr unsigned attempts_per_resync =
    3;  ///< when events were lost meanwhile; then poll() returns, and retries
constexpr long retry_after_ns = 100'000'000;

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

Request nexthop_dump() {
    Request request(RTM_GETNEXTHOP, 0);
    request.header<nhmsg>().nh_family = AF_UNSPEC;
    return request;
}

Request rule_dump() {
    Request request(RTM_GETRULE, 0);
    request.header<fib_rule_hdr>().family = AF_UNSPEC;
    return request;
}

Request route_dump(uint8_t family, uint32_t table) {
    Request request(RTM_GETROUTE, 0);
    request.header<rtmsg>().rtm_family = family;
    mnl_attr_put_u32(request.message(), RTA_TABLE, table);
    return request;
}

}  // namespace

NetlinkKernel::NetlinkKernel(NetlinkOptions options) : options_(std::move(options)) {}

NetlinkKernel::~NetlinkKernel() {
    if (retry_timer_ >= 0) close(retry_timer_);
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
    events_ = std::move(*events);
    requests_ = std::move(*requests);
    events_->set_receive_buffer(options_.receive_buffer);
    // Without it (before Linux 4.20) the kernel dumps every table; hand_on() filters in any case.
    requests_->set_option(NETLINK_GET_STRICT_CHK, 1);

    std::vector<unsigned> groups = {RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_NEIGH};
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
    retry_timer_ = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    if (epoll_ < 0 || retry_timer_ < 0)
        return fail("netlink", std::string("epoll, timerfd: ") + std::strerror(errno));
    for (const int descriptor : {events_->descriptor(), retry_timer_}) {
        epoll_event interest{};
        interest.events = EPOLLIN;
        if (epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &interest) != 0) {
            return fail("netlink", std::string("epoll_ctl: ") + std::strerror(errno));
        }
    }
    return {};
}

void NetlinkKernel::owe_resync(bool owed) {
    resync_owed_ = owed;
    itimerspec when{};
    if (owed) when.it_value.tv_nsec = retry_after_ns;
    timerfd_settime(retry_timer_, 0, &when, nullptr);
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
    if (route && route->table != options_.routes.table) {
        ++counters_.ignored;
        return;
    }
    ++counters_.events;
    deliver(*parsed);
}

Result<void> NetlinkKernel::poll(const Deliver& deliver) {
    if (resync_owed_) return dump(deliver);
    for (unsigned count = 0; count < events_per_poll; ++count) {
        const auto received = events_->receive();
        if (!received) return tl::unexpected(received.error());
        if (*received == Received::nothing) break;
        if (*received == Received::overflow) {
            ++counters_.overflows;
            return dump(deliver);
        }
        netlink::for_each_message(events_->datagram(), [&](auto message) { hand_on(message, deliver); });
    }
    return {};
}

Result<void> NetlinkKernel::dump(const Deliver& deliver) {
    Result<void> done;
    for (unsigned attempt = 0; attempt < attempts_per_resync; ++attempt) {
        // What has been lost lies behind what is still queued; and the dump says it all.
        discard_events();
        kept_.clear();
        lost_during_dump_ = false;
        deliver(ResyncBegin{});
        done = dump_once(deliver);
        if (done && !lost_during_dump_) {
            keep_events();
            if (!lost_during_dump_) {
                replay_kept_events(deliver);
                deliver(ResyncEnd{});
                ++counters_.resyncs;
                owe_resync(false);
                return {};
            }
        }
        if (!done) break;
        ++counters_.dumps_repeated;
    }
    owe_resync(true);
    if (!done) return done;
    return fail("netlink", "the kernel's tables change faster than they can be read", {},
                "read again in 100 ms; a larger receive buffer helps");
}

Result<void> NetlinkKernel::dump_once(const Deliver& deliver) {
    auto done = dump_kind(link_dump, deliver);
    if (done) done = dump_kind(address_dump, deliver);
    if (done) done = dump_kind(neighbour_dump, deliver);
    if (done && options_.routes.enabled) done = dump_routes(deliver);
    return done;
}

Result<void> NetlinkKernel::dump_routes(const Deliver& deliver) {
    const uint32_t table = options_.routes.table;
    auto done = dump_kind(nexthop_dump, deliver);
    if (done) done = dump_kind(rule_dump, deliver);
    if (done) done = dump_kind([table] { return route_dump(AF_INET, table); }, deliver);
    if (done) done = dump_kind([table] { return route_dump(AF_INET6, table); }, deliver);
    return done;
}

Result<void> NetlinkKernel::dump_kind(const std::function<Request()>& make_request, const Deliver& deliver) {
    for (unsigned attempt = 0; attempt < attempts_per_dump; ++attempt) {
        Request request = make_request();
        const auto undisturbed = requests_->dump(
            request, [&](auto message) { hand_on(message, deliver); }, [this] { keep_events(); });
        if (!undisturbed) return tl::unexpected(undisturbed.error());
        // Repeated on top of what was delivered: an object that is gone by now has its event kept for the
        // replay.
        if (*undisturbed) return {};
        ++counters_.dumps_repeated;
    }
    return fail("netlink", "a dump was disturbed by changes ten times in a row");
}

void NetlinkKernel::discard_events() {
    // Only an empty queue ends the kernel's congestion state, in which it drops events without another
    // ENOBUFS.
    for (auto received = events_->receive(); received && *received != Received::nothing;) {
        received = events_->receive();
    }
}

void NetlinkKernel::keep_events() {
    while (true) {
        const auto received = events_->receive();
        if (!received || *received == Received::nothing) return;
        if (*received == Received::foreign) continue;
        if (*received == Received::overflow || kept_.size() > options_.replay_limit) {
            lost_during_dump_ = true;
            kept_.clear();
            ++counters_.overflows;
            discard_events();
            return;
        }
        const auto bytes = events_->datagram();
        kept_.insert(kept_.end(), bytes.begin(), bytes.end());
        kept_.resize(MNL_ALIGN(kept_.size()));
    }
}

void NetlinkKernel::replay_kept_events(const Deliver& deliver) {
    netlink::for_each_message(kept_, [&](auto message) { hand_on(message, deliver); });
    kept_.clear();
    kept_.shrink_to_fit();
}

std::vector<std::pair<std::string, uint64_t>> NetlinkKernel::counters() const {
    return {{"events", counters_.events},
            {"ignored", counters_.ignored},
            {"malformed", counters_.malformed},
            {"unsupported", counters_.unsupported},
            {"overflows", counters_.overflows},
            {"resyncs", counters_.resyncs},
            {"dumps_repeated", counters_.dumps_repeated}};
}

}  // namespace pktpit::router
