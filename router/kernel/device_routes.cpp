// SPDX-License-Identifier: BSD-3-Clause
// The routes that the kernel keeps for devices, and what becomes of them without a word: with IFF_UP and with
// the last address IPv4 routes vanish silently (fib_sync_down_dev()), of IPv6 all is told.
#include "router/kernel/device_routes.h"

#include <algorithm>

#include "router/kernel/kernel_state.h"

namespace pktpit::router {
namespace {

/// IPv4 has routes beside each other that differ by who has set them, IPv6 has not.
bool is_same(const DeviceRoute& a, const DeviceRoute& b) {
    if (a.prefix != b.prefix || a.table != b.table || a.metric != b.metric || a.local != b.local)
        return false;
    return a.prefix.address.is_v6() || (a.protocol == b.protocol && a.source == b.source);
}

}  // namespace

bool is_of_device(const RouteEvent& route) {
    if (route.next_hops.size() != 1 || route.next_hops[0].gateway || route.unsupported) return false;
    if (route.type == RTN_LOCAL) return true;
    return route.type == RTN_UNICAST &&
           std::ranges::find(prefix_route_protocols, route.protocol) != prefix_route_protocols.end();
}

void KernelState::on_device_route(const RouteEvent& event) {
    if (!is_of_device(event)) return;
    const auto entry = devices_.find(event.next_hops[0].ifindex);
    if (entry == devices_.end()) return;
    const DeviceRoute route{event.next_hops[0].ifindex, event.prefix,   event.table,  event.metric,
                            event.type == RTN_LOCAL,    event.protocol, event.source, ++device_route_order_};
    auto& routes = entry->second.routes;
    const auto known =
        std::ranges::find_if(routes, [&](const auto& record) { return is_same(record.event, route); });
    if (event.removed) {
        if (known == routes.end()) return;
        const DeviceRoute gone = known->event;
        routes.erase(known);
        listener_.device_route_removed(gone);
        return;
    }
    if (known == routes.end())
        routes.push_back({route, generation_});
    else
        *known = {route, generation_};
    listener_.device_route_set(route);
}

template <class Unwanted>
void KernelState::drop_device_routes(Device& device, Unwanted unwanted) {
    std::vector<DeviceRoute> gone;
    std::erase_if(device.routes, [&](const auto& record) {
        if (!unwanted(record)) return false;
        gone.push_back(record.event);
        return true;
    });
    for (const DeviceRoute& route : gone)
        listener_.device_route_removed(route);
}

void KernelState::device_routes_down(uint32_t ifindex) {
    drop_device_routes(devices_.at(ifindex), [](const auto& record) {
        return record.event.prefix.address.is_v4() && !record.event.local;
    });
}

// fib_disable_ip() with the last one; fib_sync_down_addr() with each.
void KernelState::device_routes_without_address(Device& device, const std::optional<IpAddress>& gone) {
    if (!has_ipv4_address(device))
        drop_device_routes(device, [](const auto& record) { return record.event.prefix.address.is_v4(); });
    if (!gone) return;
    for (auto& [ifindex, other] : devices_)
        drop_device_routes(other, [&](const auto& record) { return record.event.source == *gone; });
}

void KernelState::drop_stale_device_routes(Device& device) {
    drop_device_routes(device, [this](const auto& record) { return record.generation != generation_; });
}

std::vector<DeviceRoute> KernelState::device_routes(uint32_t ifindex) const {
    std::vector<DeviceRoute> all;
    const auto entry = devices_.find(ifindex);
    if (entry == devices_.end()) return all;
    for (const auto& record : entry->second.routes)
        all.push_back(record.event);
    return all;
}

}  // namespace pktpit::router
