// SPDX-License-Identifier: BSD-3-Clause
// What somebody else has changed of the ports' devices, how it is put right, and which devices redirected
// frames cannot reach.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "router/control/ports.h"
#include "router/dataplane/device_switches.h"

namespace pktpit::router {
void Ports::find_drift(std::vector<DriftItem>& found) {
    for (auto& [name, port] : ports_) {
        if (port.ifindex == 0) {
            if (is_port(port.config))
                found.push_back({"device", name, "there", where_to(port), false});
            else
                find_vlan_drift(port, found);
            continue;
        }
        const LinkEvent* link = state_.link(port.ifindex);
        if (!link) continue;
        if (!link->admin_up) found.push_back({"link", name, "up", "set down"});
        if (port.config.mtu && link->mtu != *port.config.mtu)
            found.push_back({"mtu", name, std::to_string(*port.config.mtu), std::to_string(link->mtu)});
        const auto there = state_.addresses(port.ifindex);
        for (const auto& address : port.config.addresses)
            if (std::ranges::none_of(there, [&](const auto& own) { return own.address == address; }))
                found.push_back({"address", name, address.to_string(), "absent"});
    }
}

void Ports::find_unheard_drift(std::vector<DriftItem>& found) {
    for (auto& [name, port] : ports_) {
        if (port.ifindex == 0 || !state_.link(port.ifindex)) continue;
        find_switch_drift(port, found);
        if (!is_port(port.config) || !port.attachment) continue;
        if (auto replaced = dataplane_.why_detached(port.port); !replaced.empty())
            found.push_back({"xdp", name, "the port stage", std::move(replaced)});
    }
}

std::function<std::string()> Ports::unheard_look() const {
    struct Device {
        std::string name;
        uint32_t ifindex = 0;
        bool is_port = false;
    };
    std::vector<Device> devices;
    for (const auto& [name, port] : ports_)
        if (port.ifindex != 0) devices.push_back({name, port.ifindex, is_port(port.config)});
    return [devices = std::move(devices), &switches = switches_, programs = dataplane_.program_look()] {
        std::string seen = programs();
        for (const auto& device : devices) {
            seen += device.name + " " + std::to_string(device.ifindex);
            for (const RoleSwitch& role : role_switches)
                seen += " " + switches.sysctl(device_sysctl(device.name, role.name)).value_or("-");
            if (device.is_port)
                seen += switches.receive_vlan_offload(device.name).value_or(false) ? " tags off\n" : "\n";
        }
        return seen;
    };
}

void Ports::find_switch_drift(const Port& port, std::vector<DriftItem>& found) {
    const std::string& name = port.config.name;
    for (const RoleSwitch& role : role_switches) {
        std::string path = device_sysctl(name, role.name);
        if (const auto now = switches_.sysctl(path); now && *now != role.value)
            found.push_back({std::move(path), name, std::string(role.value), *now});
    }
    if (is_port(port.config) && switches_.receive_vlan_offload(name).value_or(false))
        found.push_back({"receive VLAN offload", name, "off", "on"});
}

/// A device that is not there under its name: perhaps under another.
std::string Ports::where_to(const Port& port) const {
    const LinkEvent* renamed = port.former_ifindex ? state_.link(port.former_ifindex) : nullptr;
    return renamed ? "renamed to " + renamed->name : "absent";
}

// With the reload that has been asked for; what cannot be put right is left and said.
void Ports::mend(Transaction& transaction) {
    make_missing_vlan_devices(transaction);
    for (auto& [name, port] : ports_) {
        if (port.ifindex == 0 || vlans_.is_gone(port.ifindex)) continue;
        const auto warn = [&](const Result<void>& done) {
            if (!done) transaction.warn(done.error());
        };
        warn(set_up(port, &transaction));
        warn(add_addresses(port, port.config.addresses, {}, &transaction));
        std::vector<DriftItem> turned;
        find_switch_drift(port, turned);
        for (const auto& item : turned) {
            const auto turn = [this, name = name, item](const std::string& to) {
                return item.expected == "off" ? switches_.set_receive_vlan_offload(name, to == "on")
                                              : switches_.set_sysctl(item.what, to);
            };
            warn(transaction.make(
                name, [&] { return turn(item.expected); },
                [turn, found = item.found] { return turn(found); }));
        }
        if (!is_port(port.config) || !port.attachment) continue;
        if (!dataplane_.why_detached(port.port).empty()) detach(port);
    }
}

void Ports::follow_reachability() {
    for (auto& [name, port] : ports_) {
        if (!is_port(port.config) || port.ifindex == 0) continue;
        const std::string why = dataplane_.why_not_redirected(port.port);
        if (why != port.why_not_redirected) {
            port.why_not_redirected = why;
            update_link(port);
        }
        // Many a driver takes redirects from when it has a program on.
        if (!port.attachment || why == port.told_not_redirected) continue;
        port.told_not_redirected = why;
        if (why.empty())
            spdlog::info("{}: redirected frames reach it now", name);
        else
            spdlog::warn("{}: {}; frames for it leave by the {}, more slowly", name, why,
                         dataplane_.sent_by(port.port) == "stack" ? "kernel's stack" : "daemon");
    }
}

}  // namespace pktpit::router
