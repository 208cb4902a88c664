// SPDX-License-Identifier: BSD-3-Clause
#include "router/kernel/netlink_route_writer.h"

#include <linux/filter.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/errno_text.h"
#include "router/kernel/parse.h"

namespace pktpit::router {
namespace {

using netlink::Request;

constexpr size_t route_request_bytes = 12'288;  // 256 next hops of IPv6
constexpr unsigned events_per_poll = 256;

uint8_t family_of(const Prefix& prefix) {
    return prefix.address.is_v4() ? AF_INET : AF_INET6;
}

std::span<const uint8_t> bytes_of(const IpAddress& address) {
    return {address.bytes.data(), address.size()};
}

Request route_request(uint16_t type, uint16_t flags, const Prefix& prefix, uint32_t table) {
    Request request(type, flags, route_request_bytes);
    auto& header = request.header<rtmsg>();
    header.rtm_family = family_of(prefix);
    header.rtm_dst_len = prefix.length;
    header.rtm_table = table < 256 ? static_cast<uint8_t>(table) : uint8_t{RT_TABLE_UNSPEC};
    header.rtm_protocol = route_protocol;
    if (prefix.length > 0) request.put(RTA_DST, bytes_of(prefix.address));
    mnl_attr_put_u32(request.message(), RTA_TABLE, table);
    return request;
}

rtmsg& header_of(Request& request) {
    return *static_cast<rtmsg*>(mnl_nlmsg_get_payload(request.message()));
}

/// RTA_GATEWAY is of the route's own family; the other one goes by RTA_VIA (RFC 8950).
void put_gateway(Request& request, const IpAddress& gateway) {
    const uint8_t family = gateway.is_v4() ? AF_INET : AF_INET6;
    if (header_of(request).rtm_family == family) return request.put(RTA_GATEWAY, bytes_of(gateway));
    std::array<uint8_t, sizeof(rtvia) + sizeof(IpAddress::bytes)> via{};
    const uint16_t number = family;
    std::memcpy(via.data(), &number, sizeof number);
    std::ranges::copy(bytes_of(gateway), via.begin() + offsetof(rtvia, rtvia_addr));
    request.put(RTA_VIA, std::span(via).first(offsetof(rtvia, rtvia_addr) + gateway.size()));
}

// The gateway has been resolved by Pktpit: it is on the link, whatever the host's own addresses say.
void put_next_hops(Request& request, const std::vector<HostNextHop>& hops) {
    if (hops.size() == 1) {
        mnl_attr_put_u32(request.message(), RTA_OIF, hops[0].ifindex);
        if (!hops[0].gateway) return;
        put_gateway(request, *hops[0].gateway);
        header_of(request).rtm_flags |= RTNH_F_ONLINK;
        return;
    }
    nlattr* all = mnl_attr_nest_start(request.message(), RTA_MULTIPATH);
    for (const HostNextHop& hop : hops) {
        auto* one = static_cast<rtnexthop*>(mnl_nlmsg_put_extra_header(request.message(), sizeof(rtnexthop)));
        one->rtnh_ifindex = static_cast<int>(hop.ifindex);
        one->rtnh_hops = static_cast<unsigned char>(hop.weight - 1);
        if (hop.gateway) {
            one->rtnh_flags = RTNH_F_ONLINK;
            put_gateway(request, *hop.gateway);
        }
        const auto* end = static_cast<const char*>(mnl_nlmsg_get_payload_tail(request.message()));
        one->rtnh_len = static_cast<unsigned short>(end - reinterpret_cast<const char*>(one));
    }
    mnl_attr_nest_end(request.message(), all);
}

/// Only messages about routes of our protocol; `rtm_protocol` is byte 5 behind the netlink header.
bool hear_ours_alone(const netlink::Socket& events) {
    std::array<sock_filter, 4> program{{
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, sizeof(nlmsghdr) + offsetof(rtmsg, rtm_protocol)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, route_protocol, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
        BPF_STMT(BPF_RET | BPF_K, 0),
    }};
    const sock_fprog filter{program.size(), program.data()};
    return setsockopt(events.descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0;
}

const RouteEvent* route_in(const tl::expected<KernelEvent, Skip>& event) {
    return event ? std::get_if<RouteEvent>(&*event) : nullptr;
}

/// An address inside the prefix that is likely to have no longer match.
IpAddress address_within(const Prefix& prefix) {
    if (prefix.length == 0)
        return IpAddress::parse(prefix.address.is_v4() ? "203.0.113.77" : "2001:db8::77").value();
    IpAddress address = prefix.address;
    if (prefix.length + 1U < address.bits()) address.bytes[address.size() - 1] |= 1;
    return address;
}

}  // namespace

uint32_t route_metric_of(const std::string& instance) {
    if (instance == "default") return lowest_route_metric;
    uint32_t hash = 2166136261;  // FNV-1a
    for (const char letter : instance)
        hash = (hash ^ static_cast<uint8_t>(letter)) * 16777619;
    return lowest_route_metric + 1 + hash % 0xffff;
}

Result<std::unique_ptr<NetlinkRouteWriter>> NetlinkRouteWriter::open(uint32_t metric) {
    auto requests = netlink::Socket::open();
    if (!requests) return tl::unexpected(requests.error());
    auto events = netlink::Socket::open();
    if (!events) return tl::unexpected(events.error());
    (*requests)->set_option(NETLINK_GET_STRICT_CHK, 1);
    if (!hear_ours_alone(**events))
        return fail("netlink", "cannot filter route events: " + errno_text(errno));
    for (const unsigned group : {RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE})
        if (auto joined = (*events)->join(group); !joined) return tl::unexpected(joined.error());
    return std::unique_ptr<NetlinkRouteWriter>(
        new NetlinkRouteWriter(metric, std::move(*requests), std::move(*events)));
}

Result<void> NetlinkRouteWriter::add(const HostRoute& route) {
    auto request = route_request(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, route.prefix, route.table);
    rtmsg& header = header_of(request);
    header.rtm_type = route.type;
    const bool on_link = std::ranges::all_of(route.next_hops, [](const auto& hop) { return !hop.gateway; });
    header.rtm_scope = route.type == RTN_UNICAST && on_link ? RT_SCOPE_LINK : RT_SCOPE_UNIVERSE;
    mnl_attr_put_u32(request.message(), RTA_PRIORITY, metric_);
    if (!route.next_hops.empty()) put_next_hops(request, route.next_hops);
    if (route.mtu != 0) {
        nlattr* metrics = mnl_attr_nest_start(request.message(), RTA_METRICS);
        mnl_attr_put_u32(request.message(), RTAX_MTU, route.mtu);
        mnl_attr_nest_end(request.message(), metrics);
    }
    const auto answer = requests_->transact(request);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->error == 0) return {};
    return fail("route " + route.prefix.to_string(), "the kernel does not take it: " + answer->to_string(),
                {}, answer->error == EEXIST ? "another program has a route of the same metric there" : "");
}

Result<void> NetlinkRouteWriter::remove(uint32_t table, const Prefix& prefix, uint32_t metric) {
    auto request = route_request(RTM_DELROUTE, 0, prefix, table);
    header_of(request).rtm_scope = RT_SCOPE_NOWHERE;  // whatever its scope is
    mnl_attr_put_u32(request.message(), RTA_PRIORITY, metric);
    const auto answer = requests_->transact(request);
    if (!answer) return tl::unexpected(answer.error());
    if (answer->error == 0 || answer->error == ESRCH || answer->error == ENOENT) return {};
    return fail("route " + prefix.to_string(), "cannot be removed from the kernel: " + answer->to_string());
}

Result<std::vector<HostRoute>> NetlinkRouteWriter::installed() {
    std::vector<HostRoute> routes;
    for (const uint8_t family : {uint8_t{AF_INET}, uint8_t{AF_INET6}}) {
        std::vector<HostRoute> found;
        for (unsigned attempt = 0; attempt < 10; attempt++) {
            found.clear();
            Request request(RTM_GETROUTE, 0);
            auto& header = request.header<rtmsg>();
            header.rtm_family = family;
            header.rtm_protocol = route_protocol;
            const auto undisturbed = requests_->dump(request, [&](auto message) {
                const auto event = parse(message);
                const RouteEvent* route = route_in(event);
                if (!route || route->protocol != route_protocol) return;
                const bool former = route->metric == former_metric_;
                if (!former && route->metric != metric_) return;
                HostRoute one{route->prefix, route->table, route->type, {}, route->mtu, former};
                for (const auto& hop : route->next_hops)
                    one.next_hops.push_back({hop.ifindex, hop.gateway, hop.weight});
                std::ranges::sort(one.next_hops);
                found.push_back(std::move(one));
            });
            if (!undisturbed) return tl::unexpected(undisturbed.error());
            if (*undisturbed) break;
        }
        routes.insert(routes.end(), std::make_move_iterator(found.begin()),
                      std::make_move_iterator(found.end()));
    }
    return routes;
}

std::optional<uint8_t> NetlinkRouteWriter::goes_before(uint32_t table, const Prefix& prefix) {
    const IpAddress within = address_within(prefix);
    Request request(RTM_GETROUTE, 0);
    auto& header = request.header<rtmsg>();
    header.rtm_family = family_of(prefix);
    header.rtm_dst_len = static_cast<uint8_t>(within.bits());
    header.rtm_flags = RTM_F_FIB_MATCH;
    request.put(RTA_DST, bytes_of(within));
    std::optional<uint8_t> other;
    const auto asked = requests_->transact(request, [&](auto message) {
        const auto event = parse(message);
        const RouteEvent* route = route_in(event);
        if (route && route->prefix == prefix && route->table == table && route->protocol != route_protocol)
            other = route->protocol;
    });
    return asked ? other : std::nullopt;
}

void NetlinkRouteWriter::poll(const Lost& lost) {
    const uint32_t own = requests_->port_id();
    for (unsigned count = 0; count < events_per_poll; count++) {
        const auto received = events_->receive();
        if (!received || *received == netlink::Received::nothing) return;
        netlink::for_each_message(events_->datagram(), [&](auto message) {
            nlmsghdr header;
            std::memcpy(&header, message.data(), sizeof header);
            if (header.nlmsg_pid == own || header.nlmsg_type != RTM_DELROUTE) return;
            const auto event = parse(message);
            const RouteEvent* route = route_in(event);
            if (route && route->metric == metric_) lost(route->table, route->prefix, header.nlmsg_pid == 0);
        });
    }
}

}  // namespace pktpit::router
