// SPDX-License-Identifier: BSD-3-Clause
// The interfaces of a configuration: those that move are taken off first, VLANs before the ports that carry
// them; then ports come, then VLANs, those with two tags last, since one with one tag may carry them; what
// nobody wants any more goes when all else has succeeded.
#include <algorithm>

#include "router/control/control_plane.h"

namespace pktpit::router {
namespace {

// The same place on the wire: what else differs can be changed without taking the interface away.
bool same_place(const config::Interface& a, const config::Interface& b) {
    return a.parent == b.parent && a.vlan == b.vlan && a.vlan_protocol == b.vlan_protocol && a.pci == b.pci &&
           a.device == b.device && a.wire == b.wire && a.nic_port == b.nic_port && a.payload == b.payload &&
           (a.pci.empty() || a.mtu == b.mtu);
}

/// VLANs before the ports that carry them.
void order_for_removal(std::vector<config::Interface>& interfaces) {
    std::stable_partition(interfaces.begin(), interfaces.end(),
                          [](const auto& each) { return each.parent.has_value(); });
}

}  // namespace

Result<void> ControlPlane::apply_interfaces(const config::Config& wanted, bool first,
                                            Transaction& transaction) {
    take_off_moved(wanted, transaction);
    for (const size_t tags : {0U, 1U, 2U}) {
        if (tags == 1)
            if (auto done = ports_.prepare_vlan_devices(wanted, transaction); !done) return done;
        for (const auto& [name, interface] : wanted.interfaces) {
            if (interface.vlan.size() != tags) continue;
            if (auto wanted_still = go_on(first); !wanted_still) return wanted_still;
            if (auto done = bring(interface, transaction); !done) return done;
        }
    }
    return {};
}

void ControlPlane::take_off_moved(const config::Config& wanted, Transaction& transaction) {
    const auto moves = [&](const std::string& name) {
        const auto to = wanted.interfaces.find(name);
        return to != wanted.interfaces.end() && !same_place(ports_.all().at(name).config, to->second);
    };
    std::vector<config::Interface> moved;
    for (const auto& [name, port] : ports_.all())
        if (moves(name) || (port.config.parent && moves(*port.config.parent))) moved.push_back(port.config);
    order_for_removal(moved);
    for (const auto& interface : moved) {
        if (!wanted.interfaces.contains(interface.name))
            transaction.on_commit(interface.name, [this, id = ports_.all().at(interface.name).interface] {
                slow_path_.interface_gone(id);
            });
        take_off(interface, transaction);
    }
}

void ControlPlane::take_off(const config::Interface& interface, Transaction& transaction) {
    transaction.on_rollback(interface.name + ": neighbours", [this, name = interface.name]() -> Result<void> {
        const L3Interface* again = routing_.interfaces().by_name(name);
        return again ? set_static_neighbours(*again) : Result<void>();
    });
    ports_.take_off(interface.name, transaction);
    if (interface.parent || !dataplane_.own_devices()) return;
    transaction.on_rollback(interface.name, [this, interface] { return make_device(interface); });
    destroy_device(interface);
}

Result<void> ControlPlane::bring(const config::Interface& wanted, Transaction& transaction) {
    const auto known = ports_.all().find(wanted.name);
    if (known != ports_.all().end())
        return known->second.config == wanted ? Result<void>() : ports_.change(wanted, transaction);
    if (!wanted.parent && dataplane_.own_devices()) {
        transaction.on_rollback(wanted.name, [this, wanted] { destroy_device(wanted); });
        if (auto made = make_device(wanted); !made) return made;
    }
    return ports_.add(wanted, transaction);
}

// A device that the dataplane brings along is known to the kernel from now on, perhaps in the place of one
// that has just gone; that has to be read before the port is set up on it.
Result<void> ControlPlane::make_device(const config::Interface& interface) {
    if (auto made = dataplane_.own_devices()->create_device(interface); !made) return made;
    return follow_kernel();
}

void ControlPlane::destroy_device(const config::Interface& interface) {
    if (!interface.parent && dataplane_.own_devices())
        dataplane_.own_devices()->destroy_device(interface.name);
}

void ControlPlane::drop_unwanted(const config::Config& wanted, Transaction& transaction) {
    std::vector<config::Interface> unwanted;
    for (const auto& [name, port] : ports_.all())
        if (!wanted.interfaces.contains(name)) unwanted.push_back(port.config);
    order_for_removal(unwanted);
    for (const auto& interface : unwanted) {
        transaction.on_commit(interface.name, [this, interface]() -> Result<void> {
            BestEffort effort;
            const std::string& name = interface.name;
            effort.attempt(name, [&] { slow_path_.interface_gone(ports_.all().at(name).interface); });
            effort.attempt(name, [&] { return ports_.remove(name); });
            effort.attempt(name, [&] { destroy_device(interface); });
            return effort.result();
        });
    }
    transaction.on_commit("VLAN devices", [this] { return ports_.drop_vlan_devices(); });
    if (!unwanted.empty()) transaction.on_commit("the host's addresses", [this] { refresh_host_prefixes(); });
}

}  // namespace pktpit::router
