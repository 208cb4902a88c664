// SPDX-License-Identifier: BSD-3-Clause
// What the kernel's devices are made to be, and what the kernel says of them.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>

#include "router/control/ports.h"

namespace pktpit::router {
namespace {

// What a router's interface is to the kernel. `forwarding` is the IPv6 role alone (router flag in
// advertisements, all-routers group, no belief in others' advertisements): transit does not reach the kernel.
// Addresses stay when a link goes down, as IPv4 ones do.
constexpr std::array role_switches{"forwarding", "keep_addr_on_down"};

}  // namespace

Result<void> Ports::take_role(Port& port) {
    BestEffort effort;
    const std::string& name = port.config.name;
    for (const std::string_view role : role_switches)
        effort.attempt(name, [&]() -> Result<void> {
            const std::string path = fmt::format("ipv6/conf/{}/{}", name, role);
            const auto before = switches_.sysctl(path);
            if (!before) return {};
            port.switches_before.try_emplace(path, *before);
            return switches_.set_sysctl(path, "1");
        });
    if (is_port(port.config))
        effort.attempt(name, [&]() -> Result<void> {
            if (!switches_.receive_vlan_offload(name).value_or(false)) return {};
            port.vlan_offload_before = true;
            return switches_.set_receive_vlan_offload(name, false);
        });
    return effort.result();
}

Result<void> Ports::give_role_back(Port& port) {
    BestEffort effort;
    const std::string& name = port.config.name;
    for (const auto& before : std::exchange(port.switches_before, {}))
        effort.attempt(name, [&] { return switches_.set_sysctl(before.first, before.second); });
    if (std::exchange(port.vlan_offload_before, false))
        effort.attempt(name, [&] { return switches_.set_receive_vlan_offload(name, true); });
    return effort.result();
}

Result<void> Ports::set_up(const Port& port, Transaction* transaction) {
    if (port.ifindex == 0) return {};
    const LinkEvent* link = state_.link(port.ifindex);
    const bool mtu_fits = !port.config.mtu || (link && link->mtu == *port.config.mtu);
    if (link && link->admin_up && mtu_fits) return {};
    const auto deed = [&] {
        return kernel_.set_link(port.ifindex, true, mtu_fits ? std::nullopt : port.config.mtu);
    };
    if (!transaction || !link) return deed();
    return transaction->make(link->name, deed, [this, before = *link] {
        return kernel_.set_link(before.ifindex, before.admin_up, before.mtu);
    });
}

Result<void> Ports::add_addresses(const Port& port, const std::vector<InterfaceAddress>& addresses,
                                  Transaction* transaction) {
    const std::string& name = port.config.name;
    for (const auto& address : addresses) {
        const auto known = state_.addresses(port.ifindex);
        const bool there =
            std::ranges::any_of(known, [&](const auto& own) { return own.address == address; });
        if (port.ifindex != 0 && !there) {
            const auto deed = [&] { return kernel_.add_address(port.ifindex, address); };
            auto added = !transaction
                             ? deed()
                             : transaction->make(name, deed, [this, ifindex = port.ifindex, address] {
                                   return kernel_.remove_address(ifindex, address);
                               });
            if (!added) return added;
        }
        const auto& present = routing_.interfaces().find(port.interface)->addresses;
        if (std::ranges::find(present, address) != present.end()) continue;
        if (transaction)
            transaction->on_rollback(
                name, [this, id = port.interface, address] { routing_.remove_address(id, address); });
        routing_.add_address(port.interface, address, std::nullopt);
    }
    return {};
}

Result<void> Ports::remove_addresses(const Port& port, const std::vector<InterfaceAddress>& unwanted) {
    BestEffort effort;
    for (const auto& address : unwanted) {
        if (port.ifindex != 0 && state_.link(port.ifindex))
            effort.attempt(port.config.name, [&] { return kernel_.remove_address(port.ifindex, address); });
        effort.attempt(port.config.name, [&] { routing_.remove_address(port.interface, address); });
    }
    return effort.result();
}

// What the kernel has known before the interface was the router's.
void Ports::learn(const Port& port) {
    for (const auto& address : state_.addresses(port.ifindex))
        routing_.add_address(port.interface, address.address, address.broadcast);
    for (const auto& neighbour : state_.neighbours())
        if (neighbour.ifindex == port.ifindex && !neighbour.claims_group())
            routing_.set_neighbour(port.interface, neighbour.address,
                                   {neighbour.mac, neighbour.state, false});
}

void Ports::link_changed(const LinkEvent& link) {
    if (const auto found = ports_.find(link.name); found != ports_.end()) bind(found->second, link);
    // A device that was renamed is no longer the one that was configured.
    for (auto& [name, port] : ports_)
        if (port.ifindex == link.ifindex && name != link.name) unbind(port);
    // VLANs without a device of their own live on their parent's state.
    for (auto& [name, port] : ports_)
        if (port.config.parent == link.name) update_link(port);
}

void Ports::link_removed(const LinkEvent& link) {
    for (auto& [name, port] : ports_)
        if (port.ifindex == link.ifindex) unbind(port);
}

void Ports::bind(Port& port, const LinkEvent& link) {
    if (port.ifindex == link.ifindex) return update_link(port);
    if (is_port(port.config) && !link.ethernet) return spdlog::error("{}", not_ethernet(link).to_string());
    spdlog::info("{}: device is here (index {})", link.name, link.ifindex);
    port.ifindex = link.ifindex;
    if (auto taken = take_role(port); !taken) spdlog::warn("{}", taken.error().to_string());
    update_link(port);
    if (auto up = set_up(port, nullptr); !up) spdlog::error("{}", up.error().to_string());
    if (auto added = add_addresses(port, port.config.addresses, nullptr); !added)
        spdlog::error("{}", added.error().to_string());
    retry();
}

void Ports::unbind(Port& port) {
    spdlog::warn("{}: device is gone", port.config.name);
    if (is_port(port.config)) dataplane_.detach(port.port);
    port.attachment.reset();
    port.former_ifindex = std::exchange(port.ifindex, 0);
    port.switches_before.clear();  // they went with the device
    port.vlan_offload_before = false;
    update_link(port);
    for (auto& [name, vlan] : ports_)
        if (vlan.config.parent == port.config.name) update_link(vlan);
}

// What forwarding needs to know of the device: its own state, or for a VLAN without a device its parent's.
void Ports::update_link(const Port& port) {
    const LinkEvent* own = port.ifindex ? state_.link(port.ifindex) : nullptr;
    LinkState state;
    if (own) state = {own->ifindex, own->up, own->mac, own->mtu};
    state.by_daemon = !port.why_not_redirected.empty();
    if (!is_port(port.config)) {
        const auto parent = ports_.find(*port.config.parent);
        const LinkEvent* below =
            parent != ports_.end() && parent->second.ifindex ? state_.link(parent->second.ifindex) : nullptr;
        if (!below)
            state.up = false;
        else if (!own)
            state = {0, below->up, below->mac, port.config.mtu.value_or(below->mtu)};
    }
    routing_.set_link(port.interface, state);
}

}  // namespace pktpit::router
