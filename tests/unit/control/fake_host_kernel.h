// SPDX-License-Identifier: BSD-3-Clause
/// A connection to the host of fake_host.h, which includes this.
#pragma once

#include "tests/unit/control/fake_host.h"

namespace pktpit::router::fake {

inline HostKernel::HostKernel(Host& host, RouteFilter filter)
    : host_(host), filter_(std::move(filter)), descriptor_(++host.last_descriptor_) {
    host_.connections.push_back(this);
}

inline HostKernel::~HostKernel() {
    std::erase(host_.connections, this);
}

inline Result<void> HostKernel::dump(const Deliver& deliver) {
    if (auto allowed = host_.faults_.call("dump"); !allowed) return allowed;
    events_.clear();
    deliver(ResyncBegin{});
    for (const auto& [ifindex, device] : host_.devices)
        deliver(device.link);
    for (const auto& [ifindex, device] : host_.devices)
        for (const auto& [key, address] : device.addresses)
            deliver(address);
    for (const auto& [ifindex, device] : host_.devices)
        for (const auto& [key, neighbour] : device.neighbours)
            deliver(neighbour);
    for (RouteEvent route : host_.device_routes) {
        route.dumped = true;
        if (filter_.of_devices || (filter_.enabled && route.table == filter_.table)) deliver(route);
    }
    if (filter_.enabled)
        for (RouteEvent route : host_.routes) {
            route.dumped = true;
            if (route.table == filter_.table) deliver(route);
        }
    deliver(ResyncEnd{});
    return {};
}

inline Result<void> HostKernel::poll(const Deliver& deliver) {
    if (auto allowed = host_.faults_.call("poll"); !allowed) return allowed;
    for (const auto& event : std::exchange(events_, {}))
        deliver(event);
    return {};
}

// A dump's events wait among the others, and are delivered in the same turns.
inline Result<bool> HostKernel::work(const Deliver& deliver, Turn& turn) {
    if (std::exchange(dump_is_due_, false)) {
        std::deque<KernelEvent> dumped;
        if (auto done = dump([&](const KernelEvent& event) { dumped.push_back(event); }); !done) {
            dump_is_due_ = true;
            return tl::unexpected(done.error());
        }
        events_ = std::move(dumped);
    }
    while (!events_.empty()) {
        const KernelEvent event = std::move(events_.front());
        events_.pop_front();
        deliver(event);
        if (turn.over()) return true;
    }
    if (std::exchange(compare_is_due_, false)) {
        deliver(ComparisonBegin{});
        for (const auto kind : {ComparedKind::nexthops, ComparedKind::ipv4, ComparedKind::ipv6}) {
            for (const auto* routes : {&host_.device_routes, &host_.routes})
                for (RouteEvent route : *routes) {
                    route.dumped = true;
                    const auto its = route.prefix.address.is_v4() ? ComparedKind::ipv4 : ComparedKind::ipv6;
                    if (route.table == filter_.table && its == kind) deliver(Compared{route});
                }
            deliver(ComparisonPiece{true});
            deliver(ComparedAll{kind, true});
        }
        deliver(ComparisonEnd{});
    }
    return false;
}

inline Result<void> HostKernel::probe_neighbour(uint32_t, const IpAddress& address) {
    return host_.faults_.call("probe " + address.to_string());
}

inline Result<void> HostKernel::set_neighbour(uint32_t ifindex, const IpAddress& address,
                                              const MacAddress& mac) {
    if (auto allowed = host_.faults_.call("set neighbour " + address.to_string()); !allowed) return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    host_.put_neighbour(ifindex, address, mac, NeighbourState::permanent);
    return {};
}

inline Result<void> HostKernel::set_stale_neighbour(uint32_t ifindex, const IpAddress& address,
                                                    const MacAddress& mac) {
    if (auto allowed = host_.faults_.call("set stale neighbour " + address.to_string()); !allowed)
        return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    host_.put_neighbour(ifindex, address, mac, NeighbourState::stale);
    return {};
}

inline Result<void> HostKernel::remove_neighbour(uint32_t ifindex, const IpAddress& address) {
    if (auto allowed = host_.faults_.call("remove neighbour " + address.to_string()); !allowed)
        return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    auto& neighbours = host_.devices.at(ifindex).neighbours;
    const auto found = neighbours.find(address);
    if (found == neighbours.end()) return {};
    NeighbourEvent gone = found->second;
    gone.removed = true;
    neighbours.erase(found);
    host_.tell(gone);
    return {};
}

inline Result<void> HostKernel::add_address(uint32_t ifindex, const InterfaceAddress& address) {
    if (auto allowed = host_.faults_.call("add " + address.to_string()); !allowed) return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    for (const auto& other : host_.devices.at(ifindex).order)
        if (!address.address.is_v4() && other.address == address.address && other != address)
            return fail("kernel",
                        "cannot add " + address.to_string() + ": it is there as " + other.to_string());
    host_.set_address(ifindex, address, true);
    return {};
}

inline Result<std::vector<InterfaceAddress>> HostKernel::addresses(uint32_t ifindex) {
    if (auto allowed = host_.faults_.call("read addresses"); !allowed) return tl::unexpected(allowed.error());
    const auto on = host_.devices.find(ifindex);
    return on == host_.devices.end() ? std::vector<InterfaceAddress>() : on->second.order;
}

inline Result<void> HostKernel::remove_address(uint32_t ifindex, const InterfaceAddress& address) {
    if (auto allowed = host_.faults_.call("remove " + address.to_string()); !allowed) return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    if (host_.devices.at(ifindex).addresses.contains(address)) host_.lose_address(ifindex, address);
    return {};
}

inline Result<void> HostKernel::set_link(uint32_t ifindex, bool up, std::optional<uint32_t> mtu) {
    if (auto allowed = host_.faults_.call("set link"); !allowed) return allowed;
    if (!host_.devices.contains(ifindex)) return fail("kernel", "no such device");
    LinkEvent& link = host_.devices.at(ifindex).link;
    const LinkEvent before = link;
    link.up = link.admin_up = link.running = up;
    link.mtu = mtu.value_or(link.mtu);
    if (!up) host_.lose_installed(ifindex);
    if (link != before) host_.tell(link);
    if (up != before.admin_up) host_.keep_device_routes(ifindex, !up);
    return {};
}

inline Result<uint32_t> HostKernel::add_vlan_link(const VlanPlace& place, const std::string& alias) {
    if (auto allowed = host_.faults_.call("make VLAN device " + place.name); !allowed)
        return tl::unexpected(allowed.error());
    if (!host_.vlan_devices) return fail("kernel", "Unknown device type");
    if (!host_.devices.contains(place.parent)) return fail("kernel", "no device below " + place.name);
    if (host_.device(place.name)) return fail("kernel", place.name + " exists");
    for (const auto& [ifindex, other] : host_.devices)
        if (other.link.parent == place.parent && other.link.vlan_id == place.vid &&
            other.link.vlan_protocol == place.protocol)
            return fail("kernel", "VLAN device already exists: " + other.link.name);
    return host_.add_vlan_device(place, alias);
}

inline Result<void> HostKernel::remove_vlan_link(uint32_t ifindex) {
    const auto found = host_.devices.find(ifindex);
    const std::string name = found == host_.devices.end() ? "" : found->second.link.name;
    if (auto allowed = host_.faults_.call("remove VLAN device " + name); !allowed) return allowed;
    if (!name.empty()) host_.remove_device(name);
    return {};
}

}  // namespace pktpit::router::fake
