// SPDX-License-Identifier: BSD-3-Clause
// The addresses that the configuration gives to an interface: in the kernel, and in routing.
#include <algorithm>
#include <set>

#include "router/control/ports.h"

namespace pktpit::router {
namespace {

using Addresses = std::vector<InterfaceAddress>;
constexpr uint32_t main_table = 254;

bool contains(const Addresses& those, const InterfaceAddress& address) {
    return std::ranges::find(those, address) != those.end();
}

}  // namespace

// Where the kernel has the address and not its prefix route, somebody has deleted that.
void Ports::learn_addresses(const Port& port) {
    const InterfaceId id = port.interface;
    for (const auto& address : state_.addresses(port.ifindex))
        routing_.add_address(id, address.address, details_of(address));
    std::set<std::pair<Prefix, uint32_t>> there;
    for (const auto& route : state_.device_routes(port.ifindex)) {
        if (route.local) continue;
        learn_prefix_route(id, route);
        there.emplace(route.prefix, route.metric);
    }
    const LinkEvent* link = state_.link(port.ifindex);
    if (!link || !link->admin_up || !state_.is_complete()) return;
    for (const auto& [prefix, metric] : routing_.prefix_routes(id))
        if (!there.contains({prefix, metric})) routing_.remove_prefix_route(id, prefix, metric);
    routing_.settle_prefix_routes();
}

// In the main table, or in that of a VRF.
void Ports::learn_prefix_route(InterfaceId interface, const DeviceRoute& route) {
    const IpAddress& address = route.prefix.address;
    if (route.prefix.length == 0 || address.is_multicast() || (address.is_v6() && address.is_link_local()))
        return;
    if (route.table == main_table || routing_.vrf_by_table(route.table))
        routing_.set_prefix_route(interface, route.prefix, route.metric, route.order);
}

Result<void> Ports::add_addresses(const Port& port, const Addresses& addresses, const Addresses& former,
                                  Transaction* transaction) {
    const std::string& name = port.config.name;
    for (const auto& address : addresses) {
        if (auto added = add_to_kernel(port, address, former, transaction); !added) return added;
        // The kernel has an IPv6 address once, an IPv4 one once for each peer.
        if (address.address.is_v4()
                ? routing_.has_address(port.interface, address)
                : contains(routing_.interfaces().find(port.interface)->addresses, address))
            continue;
        if (transaction)
            transaction->on_rollback(
                name, [this, id = port.interface, address] { routing_.remove_address(id, address); });
        routing_.add_address(port.interface, address);
    }
    return {};
}

// The kernel knows an IPv6 address once: one of ours with another prefix length makes room for it.
Result<void> Ports::add_to_kernel(const Port& port, const InterfaceAddress& wanted, const Addresses& former,
                                  Transaction* transaction) {
    const uint32_t ifindex = port.ifindex;
    if (ifindex == 0) return {};
    const auto make = [&](const auto& deed, auto undo) {
        return transaction ? transaction->make(port.config.name, deed, undo) : deed();
    };
    for (const auto& known : state_.addresses(ifindex)) {
        const InterfaceAddress there = known.address;
        if (there == wanted && !known.peer) return {};
        if (wanted.address.is_v4() || there.address != wanted.address) continue;
        if (!known.ours && !contains(former, there)) continue;
        // This change may have made room before; that has not been told yet.
        const auto now = kernel_.addresses(ifindex);
        if (!now) return tl::unexpected(now.error());
        if (!contains(*now, there)) continue;
        auto removed = make([&] { return kernel_.remove_address(ifindex, there); },
                            [this, ifindex, there] { return kernel_.add_address(ifindex, there); });
        if (!removed) return removed;
    }
    return make([&] { return kernel_.add_address(ifindex, wanted); },
                [this, ifindex, wanted] { return kernel_.remove_address(ifindex, wanted); });
}

Result<void> Ports::remove_addresses(const Port& port, const Addresses& unwanted) {
    BestEffort effort;
    for (const auto& address : unwanted) {
        if (port.ifindex != 0 && state_.link(port.ifindex) && !vlans_.is_gone(port.ifindex))
            effort.attempt(port.config.name, [&] { return kernel_.remove_address(port.ifindex, address); });
        effort.attempt(port.config.name, [&] { routing_.remove_address(port.interface, address); });
    }
    return effort.result();
}

// With an address the kernel takes others away where the role's switches could not be turned.
Result<void> Ports::add_lost_addresses(const Port& port) {
    if (port.ifindex == 0 || !state_.link(port.ifindex) || vlans_.is_gone(port.ifindex)) return {};
    const auto there = kernel_.addresses(port.ifindex);
    if (!there) return tl::unexpected(there.error());
    BestEffort effort;
    for (const auto& address : port.config.addresses)
        if (!contains(*there, address))
            effort.attempt(port.config.name, [&] { return kernel_.add_address(port.ifindex, address); });
    return effort.result();
}

}  // namespace pktpit::router
