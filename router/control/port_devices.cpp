// SPDX-License-Identifier: BSD-3-Clause
// What the kernel's devices are made to be, and what the kernel says of them.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/ports.h"
#include "router/dataplane/device_switches.h"

namespace pktpit::router {

// The last address of the net needs no telling; only another one does.
AddressDetails details_of(const AddressEvent& address) {
    return {address.broadcast == address.net().last() ? std::nullopt : address.broadcast, address.peer,
            address.metric, address.prefix_route};
}

// What the device was is noted before it is changed: whoever gives the role back may be another daemon.
Result<void> Ports::take_role(Port& port) {
    BestEffort effort;
    const std::string& name = port.config.name;
    SwitchValues wanted;
    port.switches_found.clear();
    port.role_due = false;
    for (const RoleSwitch& role : role_switches) {
        const auto value = switches_.sysctl(device_sysctl(name, role.name));
        if (!value) port.role_due = true;
        if (!value || (role.shared && *value == role.value)) continue;
        port.switches_found.emplace(role.name, *value);
        wanted.emplace(role.name, role.value);
    }
    if (is_port(port.config))
        if (const auto on = switches_.receive_vlan_offload(name)) {
            port.switches_found.emplace(vlan_offload_switch, *on ? "1" : "0");
            wanted.emplace(vlan_offload_switch, "0");
        }
    port.switches_noted = port.switches_found;
    for (const auto& [known, value] : memory_.before(port.ifindex))
        port.switches_noted.erase(known);
    effort.attempt(name, [&] { return memory_.remember(port.ifindex, port.switches_found); });
    effort.attempt(name, [&] { return set_switches(name, wanted); });
    return effort.result();
}

// A start that is refused leaves a device as it has found it, which may be an earlier daemon's. What cannot
// be put back stays noted for whoever comes after.
Result<void> Ports::give_role_back(Port& port, Was role) {
    if (port.ifindex == 0) return {};
    BestEffort effort;
    const std::string& name = port.config.name;
    if (role == Was::taken) keep_shared_switches(port.ifindex);
    const SwitchValues before = role == Was::found ? port.switches_found : memory_.before(port.ifindex);
    effort.attempt(name, [&] { return set_switches(name, before); });
    if (!effort.result()) return effort.result();
    // One that could not be given back before, in this change, is still what it was then.
    if (role == Was::taken)
        effort.attempt(name, [&] { memory_.forget(port.ifindex); });
    else if (!port.switches_noted.empty())
        effort.attempt(name, [&] { memory_.forget(port.ifindex, port.switches_noted); });
    return effort.result();
}

// What one device turned for all stays turned as long as another has the role: its note goes on to that one.
void Ports::keep_shared_switches(uint32_t leaving) {
    const auto stays = std::ranges::find_if(ports_, [&](const auto& entry) {
        return entry.second.ifindex != 0 && entry.second.ifindex != leaving;
    });
    if (stays == ports_.end()) return;
    for (const RoleSwitch& role : role_switches)
        if (role.shared) memory_.pass_on(role.name, leaving, stays->second.ifindex);
}

Result<void> Ports::give_former_roles_back() {
    BestEffort effort;
    for (const uint32_t ifindex : memory_.devices()) {
        const auto has_it = [&](const auto& entry) { return entry.second.ifindex == ifindex; };
        if (std::ranges::any_of(ports_, has_it)) continue;
        effort.attempt("device " + std::to_string(ifindex), [&]() -> Result<void> {
            const LinkEvent* link = state_.link(ifindex);
            keep_shared_switches(ifindex);
            const SwitchValues before = memory_.before(ifindex);
            auto back = link ? set_switches(link->name, before) : Result<void>();
            if (back && (!link || are_set(link->name, before))) memory_.forget(ifindex);
            return back;
        });
    }
    return effort.result();
}

Result<void> Ports::set_switches(const std::string& device, const SwitchValues& values) {
    BestEffort effort;
    for (const auto& [name, value] : values)
        effort.attempt(device, [&, &name = name, &value = value]() -> Result<void> {
            if (name == vlan_offload_switch) {
                const bool on = value == "1";
                const auto now = switches_.receive_vlan_offload(device);
                return !now || *now == on ? Result<void>() : switches_.set_receive_vlan_offload(device, on);
            }
            return switches_.set_sysctl(device_sysctl(device, name), value);
        });
    return effort.result();
}

// The kernel tells that a device has another name before its sysctls have it: until then none is there, and
// setting them is no error.
bool Ports::are_set(const std::string& device, const SwitchValues& values) const {
    return std::ranges::all_of(values, [&](const auto& wanted) {
        return wanted.first == vlan_offload_switch ||
               switches_.sysctl(device_sysctl(device, wanted.first)) == wanted.second;
    });
}

Result<void> Ports::set_up(const Port& port, Transaction* transaction) {
    if (port.ifindex == 0) return {};
    const LinkEvent* link = state_.link(port.ifindex);
    const bool mtu_fits = !port.config.mtu || (link && link->mtu == *port.config.mtu);
    if (link && link->admin_up && mtu_fits) return {};
    if (auto raised = raise_outer(port, transaction); !raised) return raised;
    const auto deed = [&] {
        return kernel_.set_link(port.ifindex, true, mtu_fits ? std::nullopt : port.config.mtu);
    };
    if (!transaction || !link) return deed();
    return transaction->make(link->name, deed, [this, before = *link] {
        return kernel_.set_link(before.ifindex, before.admin_up, before.mtu);
    });
}

// What the kernel has known before the interface was the router's.
void Ports::learn(const Port& port) {
    learn_addresses(port);
    for (const auto& neighbour : state_.neighbours())
        if (neighbour.ifindex == port.ifindex && !neighbour.claims_group())
            routing_.set_neighbour(port.interface, neighbour.address,
                                   {neighbour.mac, neighbour.state, false});
}

void Ports::link_changed(const LinkEvent& link) {
    vlans_.link_told(link.ifindex);
    if (vlans_.is_gone(link.ifindex)) return;
    if (const auto found = ports_.find(link.name); found != ports_.end()) bind(found->second, link);
    // A device that was renamed is no longer the one that was configured.
    for (auto& [name, port] : ports_)
        if (port.ifindex == link.ifindex && name != link.name) unbind(port, &link);
    // VLANs without a device of their own live on their parent's state.
    for (auto& [name, port] : ports_)
        if (port.config.parent == link.name) update_link(port);
}

void Ports::link_removed(const LinkEvent& link) {
    vlans_.link_removed(link.ifindex);
    for (auto& [name, port] : ports_)
        if (port.ifindex == link.ifindex) unbind(port, nullptr);
}

void Ports::bind(Port& port, const LinkEvent& link) {
    if (port.ifindex == link.ifindex) return update_link(port);
    if (is_port(port.config) && !link.ethernet) return spdlog::error("{}", not_ethernet(link).to_string());
    if (!is_port(port.config) && !fits(port, link)) return;
    spdlog::info("{}: device is here (index {})", link.name, link.ifindex);
    port.ifindex = link.ifindex;
    port.role_tries = 5;
    if (auto taken = take_role(port); !taken) spdlog::warn("{}", taken.error().to_string());
    update_link(port);
    if (auto up = set_up(port, nullptr); !up) spdlog::error("{}", up.error().to_string());
    if (auto added = add_addresses(port, port.config.addresses, {}, nullptr); !added)
        spdlog::error("{}", added.error().to_string());
    if (is_port(port.config)) restore_vlans(port);
    retry();
}

void Ports::unbind(Port& port, const LinkEvent* renamed) {
    spdlog::warn("{}: device is gone{}", port.config.name,
                 renamed ? ": it is " + renamed->name + " now" : "");
    keep_shared_switches(port.ifindex);
    const SwitchValues before = memory_.before(port.ifindex);
    auto given = renamed ? set_switches(renamed->name, before) : Result<void>();
    if (!given) spdlog::warn("{}", given.error().to_string());
    // Else retry() does it.
    if (given && (!renamed || are_set(renamed->name, before))) memory_.forget(port.ifindex);
    if (is_port(port.config)) dataplane_.detach(port.port);
    port.attachment.reset();
    routing_.forget_prefix_routes(port.interface);
    port.former_ifindex = std::exchange(port.ifindex, 0);
    update_link(port);
    for (auto& [name, vlan] : ports_)
        if (vlan.config.parent == port.config.name) update_link(vlan);
}

// What forwarding needs to know of the device: its own state, or for a VLAN without a device its parent's.
void Ports::update_link(const Port& port) {
    const LinkEvent* own = port.ifindex ? state_.link(port.ifindex) : nullptr;
    LinkState state;
    if (own) state = {own->ifindex, own->up, own->mac, own->mtu};
    state.set_down = own && !own->admin_up;
    state.no_redirect = !port.why_not_redirected.empty();
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
