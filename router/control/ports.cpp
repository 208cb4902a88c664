// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/ports.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace pktpit::router {
namespace {

std::vector<InterfaceAddress> missing_in(const std::vector<InterfaceAddress>& those,
                                         const std::vector<InterfaceAddress>& addresses) {
    std::vector<InterfaceAddress> missing;
    std::ranges::copy_if(addresses, std::back_inserter(missing), [&](const auto& address) {
        return std::ranges::find(those, address) == those.end();
    });
    return missing;
}

}  // namespace

Error not_ethernet(const LinkEvent& link) {
    const std::string kind = link.kind.empty() ? "device" : "\"" + link.kind + "\" device";
    return {"/interfaces/" + link.name,
            "a " + kind + " without Ethernet frames (no MAC addresses): a port has nothing to rewrite there",
            "an Ethernet device", "leave it to the kernel; of tun/tap devices take a tap"};
}

Ports::~Ports() {
    if (!take_down_) return;
    std::vector<uint32_t> left;
    for (const uint32_t ifindex : memory_.devices()) {
        const LinkEvent* link = state_.link(ifindex);
        if (!link) continue;
        auto back = set_switches(link->name, memory_.before(ifindex));
        if (!back) back = set_switches(link->name, memory_.before(ifindex));
        if (back) continue;
        spdlog::warn("{}", back.error().to_string());
        left.push_back(ifindex);
    }
    memory_.forget_others(left);
}

Result<void> Ports::add(const config::Interface& wanted, Transaction& transaction) {
    const std::string& name = wanted.name;
    Port port;
    port.config = wanted;
    if (auto found = find_port(port, transaction); !found) return found;
    if (!is_port(wanted)) make_vlan_device(port, &transaction);
    transaction.on_rollback(name, [this, name] { return discard(name, false, Was::found); });
    Port& added = ports_.insert_or_assign(name, std::move(port)).first->second;
    const auto former = taken_off_.find(name);
    const auto interface = routing_.add_interface(
        name, added.port, wanted.vlan, wanted.vlan_protocol,
        former == taken_off_.end() ? InterfaceId{0} : former->second.interface, vrf_of(wanted));
    if (!interface) return tl::unexpected(interface.error());
    added.interface = *interface;

    // Of a VLAN's that has just been made the kernel tells afterwards.
    if (const LinkEvent* link = vlans_.told(name)) {
        added.ifindex = link->ifindex;
        if (auto taken = take_role(added); !taken) transaction.warn(taken.error());
    }
    update_link(added);
    if (auto up = set_up(added, &transaction); !up) return up;
    learn(added);
    const auto before =
        former == taken_off_.end() ? std::vector<InterfaceAddress>() : former->second.config.addresses;
    return add_addresses(added, wanted.addresses, before, &transaction);
}

// One that the configuration names is there before its interfaces, and goes after them.
VrfId Ports::vrf_of(const config::Interface& interface) const {
    return routing_.vrf_by_name(interface.vrf).value_or(default_vrf);
}

// The port that carries it.
Result<void> Ports::find_port(Port& port, Transaction& transaction) {
    const config::Interface& wanted = port.config;
    if (!is_port(wanted)) {
        const auto parent = ports_.find(*wanted.parent);
        if (parent == ports_.end())
            return fail("/interfaces/" + wanted.name + "/parent", "no interface \"" + *wanted.parent + "\"",
                        "a port of the configuration");
        port.port = parent->second.port;
        return {};
    }
    const LinkEvent* link = state_.link(wanted.name);
    if (!link)
        return fail("/interfaces/" + wanted.name, "there is no device \"" + wanted.name + "\"",
                    "an existing Linux device", "ip link");
    if (!link->ethernet) return tl::unexpected(not_ethernet(*link));
    if (const auto former = taken_off_.find(wanted.name);
        former != taken_off_.end() && is_port(former->second.config)) {
        // Counted from now on; but if it is put back, it has its counts still.
        port.port = former->second.port;
        transaction.on_commit(wanted.name + ": counters",
                              [this, id = port.port] { dataplane_.reset_counters(id); });
        return {};
    }
    const auto id = choose_port(link->ifindex);
    if (!id) return tl::unexpected(id.error());
    port.port = *id;
    return {};
}

// Drivers take a native program or not by the MTU. Under one that is on some refuse a larger MTU, and some
// take it and receive nothing more.
bool Ports::outgrows_page(const Port& port, const config::Interface& wanted) const {
    constexpr uint32_t room = 3000;  // beside headroom and what the kernel has behind a frame
    const LinkEvent* link = state_.link(port.ifindex);
    return link && wanted.mtu && *wanted.mtu > room && *wanted.mtu > link->mtu;
}

Result<void> Ports::change(const config::Interface& wanted, Transaction& transaction) {
    Port& port = ports_.at(wanted.name);
    const config::Interface before = port.config;
    const auto attached = port.attachment;
    const bool other_mode =
        is_port(wanted) && attached && (wanted.xdp_mode != before.xdp_mode || outgrows_page(port, wanted));
    const bool other_forwarding = is_port(wanted) && attached && wanted.forwarding != before.forwarding;
    transaction.on_rollback(before.name, [=, this]() -> Result<void> {
        Port& back = ports_.at(before.name);
        back.config = before;
        routing_.set_interface_vrf(back.interface, vrf_of(before));
        if (!other_mode && !other_forwarding) return {};
        return reattach(before.name, *attached);
    });
    port.config = wanted;
    routing_.set_interface_vrf(port.interface, vrf_of(wanted));
    // A link keeps the mode it was made with, so the port is without a program for a moment.
    if (other_mode) detach(port);
    if (wanted.mtu != before.mtu)
        if (auto up = set_up(port, &transaction); !up) return up;
    const auto new_ones = missing_in(before.addresses, wanted.addresses);
    if (auto done = add_addresses(port, new_ones, before.addresses, &transaction); !done) return done;
    if (wanted.addresses != before.addresses)
        transaction.on_commit(before.name + ": addresses", [=, this] {
            BestEffort effort;
            const Port& changed = ports_.at(before.name);
            const auto unwanted = missing_in(changed.config.addresses, before.addresses);
            effort.attempt(before.name, [&] { return remove_addresses(changed, unwanted); });
            effort.attempt(before.name, [&] { return add_lost_addresses(changed); });
            return effort.result();
        });
    // For another way of forwarding there is another program on the same link: no packet passes without one.
    return !other_mode && other_forwarding ? attach(port) : Result<void>();
}

void Ports::take_off(const std::string& name, Transaction& transaction) {
    Port& port = ports_.at(name);
    taken_off_.insert_or_assign(name, port);
    transaction.on_rollback(name, [this, name] { return put_back(name); });
    transaction.on_commit(name + ": addresses", [this, name]() -> Result<void> {
        const Port former = std::move(taken_off_.extract(name).mapped());
        const auto now = ports_.find(name);
        if (now == ports_.end()) return remove_addresses(former, former.config.addresses);
        BestEffort effort;
        const auto unwanted = missing_in(now->second.config.addresses, former.config.addresses);
        effort.attempt(name, [&] { return remove_addresses(now->second, unwanted); });
        effort.attempt(name, [&] { return add_lost_addresses(now->second); });
        return effort.result();
    });
    if (auto given = give_role_back(port, Was::taken); !given) transaction.warn(given.error());
    if (is_port(port.config)) dataplane_.detach(port.port);
    routing_.remove_interface(port.interface);
    ports_.erase(name);
}

// With the ids that it had. Every part is tried: what is missing then is said, and most of it comes back when
// the kernel next tells of the device.
Result<void> Ports::put_back(const std::string& name) {
    const auto former = taken_off_.find(name);
    if (former == taken_off_.end()) return {};
    Port port = former->second;
    BestEffort effort;
    // If it was not taken off wholly.
    effort.attempt(name, [&] { return discard(name, false, Was::taken); });
    taken_off_.erase(name);
    const auto attachment = std::exchange(port.attachment, std::nullopt);
    const LinkEvent* link = vlans_.told(name);
    const uint32_t former_ifindex = std::exchange(port.ifindex, link ? link->ifindex : 0);
    const config::Interface& config = port.config;
    const auto interface = routing_.add_interface(name, port.port, config.vlan, config.vlan_protocol,
                                                  port.interface, vrf_of(config));
    if (!interface) return tl::unexpected(interface.error());
    Port& again = ports_.insert_or_assign(name, port).first->second;
    // A VLAN device goes with the device below. What it is to have comes when the kernel tells of it.
    if (!is_port(config) && former_ifindex != 0 && !vlans_.named(name))
        if (const LinkEvent* below = device_below(config))
            effort.attempt(name, [&] { return vlans_.make(config, *below, nullptr); });
    effort.attempt(name, [&] { return again.ifindex == 0 ? Result<void>() : take_role(again); });
    effort.attempt(name, [&] { update_link(again); });
    effort.attempt(name, [&] { return set_up(again, nullptr); });
    effort.attempt(name, [&] { learn(again); });
    for (const auto& address : again.config.addresses)
        effort.attempt(name, [&] { return add_addresses(again, {address}, {}, nullptr); });
    if (attachment) effort.attempt(name, [&] { return reattach(name, *attachment); });
    return effort.result();
}

Result<void> Ports::remove(const std::string& name) {
    return discard(name, true, Was::taken);
}

Result<void> Ports::discard(const std::string& name, bool addresses, Was role) {
    const auto found = ports_.find(name);
    if (found == ports_.end()) return {};
    Port& port = found->second;
    BestEffort effort;
    // By the role others' addresses outlive ours.
    if (addresses) effort.attempt(name, [&] { return remove_addresses(port, port.config.addresses); });
    effort.attempt(name, [&] { return give_role_back(port, role); });
    if (is_port(port.config)) effort.attempt(name, [&] { dataplane_.detach(port.port); });
    effort.attempt(name, [&] { routing_.remove_interface(port.interface); });
    ports_.erase(found);
    return effort.result();
}

std::map<std::string, PortId> Ports::names() const {
    std::map<std::string, PortId> names;
    for (const auto& [name, port] : ports_)
        if (is_port(port.config)) names.emplace(name, port.port);
    return names;
}

const Ports::Port* Ports::by_interface(InterfaceId id) const {
    const auto found =
        std::ranges::find_if(ports_, [&](const auto& entry) { return entry.second.interface == id; });
    return found == ports_.end() ? nullptr : &found->second;
}

// The same device keeps the id an earlier daemon gave it, and with it its counters.
Result<PortId> Ports::choose_port(uint32_t ifindex) const {
    static const std::map<uint32_t, uint16_t> none;
    const PortStages* stages = dataplane_.port_stages();
    const auto& previous = stages ? stages->previous_ports() : none;
    const auto taken = [&](PortId id) {
        const auto has_it = [&](const auto& entry) { return entry.second.port == id; };
        return std::ranges::any_of(ports_, has_it) || std::ranges::any_of(taken_off_, has_it);
    };
    if (const auto known = previous.find(ifindex); known != previous.end() && !taken(known->second))
        return known->second;
    for (PortId id = 1; id < PP_MAX_PORTS; id++) {
        const bool reserved =
            std::ranges::any_of(previous, [&](const auto& entry) { return entry.second == id; });
        if (taken(id) || reserved) continue;
        dataplane_.reset_counters(id);
        return id;
    }
    return fail("/interfaces", "too many ports", "at most " + std::to_string(PP_MAX_PORTS - 1));
}

}  // namespace pktpit::router
