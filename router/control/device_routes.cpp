// SPDX-License-Identifier: BSD-3-Clause
// What the routes that the kernel keeps for devices mean: nets on the links of the router's interfaces, and
// what is the host's.
#include <linux/rtnetlink.h>

#include <algorithm>

#include "router/control/control_plane.h"

namespace pktpit::router {

Result<void> ControlPlane::follow_kernel() {
    auto followed = follow(kernel_, state_);
    // The kernel exchanges routes one by one: what has gone may have been back in what was read.
    routing_.settle_prefix_routes();
    if (host_prefixes_due_) refresh_host_prefixes();
    return followed;
}

void ControlPlane::device_route_set(const DeviceRoute& route) {
    if (route.local) {
        host_prefixes_due_ = true;
        return;
    }
    if (const L3Interface* on = routing_.interfaces().by_ifindex(route.ifindex))
        ports_.learn_prefix_route(on->id, route);
}

// Those of a device that is set down are forgotten when it is set up again: until then its link is not used,
// and what is reached by it is not looked for elsewhere.
void ControlPlane::device_route_removed(const DeviceRoute& route) {
    if (route.local) {
        host_prefixes_due_ = true;
        return;
    }
    const LinkEvent* link = state_.link(route.ifindex);
    if (link && !link->admin_up) return;
    // One of another protocol may be left.
    const auto left = state_.device_routes(route.ifindex);
    const auto is_like = [&](const DeviceRoute& other) {
        return !other.local && other.prefix == route.prefix && other.metric == route.metric;
    };
    if (std::ranges::any_of(left, is_like)) return;
    if (const L3Interface* on = routing_.interfaces().by_ifindex(route.ifindex))
        routing_.remove_prefix_route(on->id, route.prefix, route.metric);
}

// The local table is the default VRF's, but for what the router's interfaces have there; a VRF's own table
// has what the kernel's VRF device has. Others are led to by rules, which are not followed.
std::optional<VrfId> ControlPlane::vrf_of_local(const DeviceRoute& route) const {
    const IpAddress& address = route.prefix.address;
    if (address.is_loopback() || address.is_multicast() || (address.is_v6() && address.is_link_local()))
        return std::nullopt;
    const L3Interface* on = routing_.interfaces().by_ifindex(route.ifindex);
    const bool is_address = route.protocol == RTPROT_KERNEL && route.prefix.length == address.bits();
    const bool goes_with_link = on && on->set_down && address.is_v6();
    if (on && is_address && !goes_with_link) return std::nullopt;  // followed as such
    if (route.table == RT_TABLE_LOCAL || route.table == RT_TABLE_MAIN) return on ? on->vrf : default_vrf;
    return routing_.vrf_by_table(route.table);
}

void ControlPlane::refresh_host_prefixes() {
    host_prefixes_due_ = false;
    std::set<std::pair<VrfId, Prefix>> wanted;
    for (const auto& link : state_.links()) {
        if (!routing_.interfaces().by_ifindex(link.ifindex))
            for (const auto& own : state_.addresses(link.ifindex))
                if (const IpAddress& address = own.address.address; !address.is_loopback())
                    wanted.emplace(default_vrf, Prefix::of(address, address.bits()));
        for (const auto& route : state_.device_routes(link.ifindex))
            if (route.local)
                if (const auto vrf = vrf_of_local(route)) wanted.emplace(*vrf, route.prefix);
    }
    for (const auto& [vrf, prefix] : host_prefixes_)
        if (!wanted.contains({vrf, prefix})) routing_.remove_host_prefix(prefix, vrf);
    for (const auto& [vrf, prefix] : wanted)
        if (!host_prefixes_.contains({vrf, prefix})) routing_.add_host_prefix(prefix, vrf);
    host_prefixes_ = std::move(wanted);
}

// Its routes go with it.
void ControlPlane::remove_vrf(VrfId id) {
    std::erase_if(host_prefixes_, [id](const auto& entry) { return entry.first == id; });
    routing_.remove_vrf(id);
}

}  // namespace pktpit::router
