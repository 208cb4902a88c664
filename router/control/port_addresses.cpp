// SPDX-License-Identifier: BSD-3-Clause
// The addresses that the configuration gives to an interface: in the kernel, and in routing.
#include <algorithm>

#include "router/control/ports.h"

namespace pktpit::router {
namespace {

using Addresses = std::vector<InterfaceAddress>;

bool contains(const Addresses& those, const InterfaceAddress& address) {
    return std::ranges::find(those, address) != those.end();
}

}  // namespace

Result<void> Ports::add_addresses(const Port& port, const Addresses& addresses, const Addresses& former,
                                  Transaction* transaction) {
    const std::string& name = port.config.name;
    for (const auto& address : addresses) {
        if (auto added = add_to_kernel(port, address, former, transaction); !added) return added;
        if (contains(routing_.interfaces().find(port.interface)->addresses, address)) continue;
        if (transaction)
            transaction->on_rollback(
                name, [this, id = port.interface, address] { routing_.remove_address(id, address); });
        routing_.add_address(port.interface, address, std::nullopt);
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
        if (there == wanted) return {};
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
