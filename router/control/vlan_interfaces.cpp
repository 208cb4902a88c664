// SPDX-License-Identifier: BSD-3-Clause
// VLAN interfaces and their devices in the kernel: made with the interface, made again with the port's
// device, and never taken for it where they are something else.
#include <spdlog/spdlog.h>

#include <utility>

#include "router/control/ports.h"

namespace pktpit::router {

// Its port's.
const LinkEvent* Ports::device_below(const config::Interface& vlan) const {
    const auto parent = ports_.find(*vlan.parent);
    if (parent == ports_.end() || parent->second.ifindex == 0) return nullptr;
    return state_.link(parent->second.ifindex);
}

Error Ports::unfit(const LinkEvent& link, const config::Interface& vlan) const {
    return {
        "/interfaces/" + vlan.name,
        "there is a device \"" + vlan.name + "\" already, and it is " + vlans_.words_of(link),
        config::describe_vlan(vlan.vlan, *vlan.parent, vlan.vlan_protocol) + ", or no device of that name",
        "give the interface another name, or remove the device: ip link del " + vlan.name};
}

Result<void> Ports::prepare_vlan_devices(const config::Config& wanted, Transaction& transaction) {
    for (const auto& [name, vlan] : wanted.interfaces) {
        const LinkEvent* below = is_port(vlan) ? nullptr : device_below(vlan);
        if (!below) continue;
        if (const auto ours = vlans_.in_the_way(vlan, below->ifindex)) {
            if (auto done = vlans_.remove(*ours, transaction); !done) return done;
            continue;
        }
        if (const auto link = vlans_.named(name); link && !vlans_.fits(*link, vlan, below->ifindex))
            return tl::unexpected(unfit(*link, vlan));
    }
    return {};
}

Result<void> Ports::drop_vlan_devices() {
    std::set<uint32_t> needed;
    for (const auto& [name, port] : ports_) {
        if (const auto link = vlans_.named(name)) needed.insert(link->ifindex);
        const LinkEvent* below = is_port(port.config) ? nullptr : device_below(port.config);
        if (!below) continue;
        if (const auto outer = vlans_.outer_of(port.config, below->ifindex)) needed.insert(outer->ifindex);
    }
    return vlans_.remove_others(needed);
}

// A device that is something else is told of once.
bool Ports::fits(Port& vlan, const LinkEvent& link) {
    const LinkEvent* below = device_below(vlan.config);
    if (!below) return false;
    if (vlans_.fits(link, vlan.config, below->ifindex)) {
        vlan.why_no_device.clear();
        vlan.unfit_told = 0;
        return true;
    }
    if (std::exchange(vlan.unfit_told, link.ifindex) != link.ifindex)
        spdlog::error("{}", unfit(link, vlan.config).to_string());
    return false;
}

// Where there is none. A kernel that refuses, as one without such devices does, is told of once.
void Ports::make_vlan_device(Port& vlan, Transaction* transaction) {
    const std::string& name = vlan.config.name;
    const LinkEvent* below = device_below(vlan.config);
    if (!below || vlans_.named(name)) return;
    const auto made = vlans_.make(vlan.config, *below, transaction);
    if (made) return vlan.why_no_device.clear();
    std::string why = made.error().to_string();
    if (std::exchange(vlan.why_no_device, why) == why) return;
    Error warning{name,
                  "the kernel makes no VLAN device (" + why +
                      "): transit works with static neighbours, the router itself cannot be reached there",
                  {},
                  {}};
    if (transaction)
        transaction->warn(std::move(warning));
    else
        spdlog::warn("{}", warning.to_string());
}

void Ports::make_missing_vlan_devices(Transaction& transaction) {
    for (const size_t tags : {1U, 2U})
        for (auto& [name, vlan] : ports_)
            if (vlan.config.vlan.size() == tags) make_vlan_device(vlan, &transaction);
}

// With the port's device they have gone.
void Ports::restore_vlans(const Port& parent) {
    for (const size_t tags : {1U, 2U})
        for (auto& [name, vlan] : ports_) {
            if (vlan.config.vlan.size() != tags || vlan.config.parent != parent.config.name) continue;
            if (const LinkEvent* link = vlans_.told(name))
                bind(vlan, *link);
            else
                make_vlan_device(vlan, nullptr);
        }
}

// An inner device comes up, and gets an MTU, only on an outer one that is up, and whose MTU is not smaller.
Result<void> Ports::raise_outer(const Port& vlan, Transaction* transaction) {
    const LinkEvent* below = vlan.config.vlan.size() == 2 ? device_below(vlan.config) : nullptr;
    const auto outer = below ? vlans_.outer_of(vlan.config, below->ifindex) : std::nullopt;
    if (!outer || !state_.link(outer->ifindex)) return {};
    std::optional<uint32_t> mtu;
    if (vlan.config.mtu && outer->mtu < *vlan.config.mtu && vlans_.is_ours(*outer) &&
        !ports_.contains(outer->name))
        mtu = vlan.config.mtu;
    if (outer->admin_up && !mtu) return {};
    const auto deed = [&] { return kernel_.set_link(outer->ifindex, true, mtu); };
    if (!transaction) return deed();
    return transaction->make(outer->name, deed, [this, before = *outer] {
        return kernel_.set_link(before.ifindex, before.admin_up, before.mtu);
    });
}

// One that the kernel has refused to make is nobody's doing, and one whose port has no device comes with
// that.
void Ports::find_vlan_drift(const Port& vlan, std::vector<DriftItem>& found) const {
    const config::Interface& config = vlan.config;
    if (!device_below(config)) return;
    const std::string wanted = config::describe_vlan(config.vlan, *config.parent, config.vlan_protocol);
    if (const LinkEvent* link = vlans_.told(config.name))
        found.push_back({"device", config.name, wanted, vlans_.words_of(*link), vlans_.is_ours(*link)});
    else if (!vlans_.named(config.name) && vlan.why_no_device.empty())
        found.push_back({"device", config.name, wanted, where_to(vlan),
                         vlan.former_ifindex == 0 || !state_.link(vlan.former_ifindex)});
}

}  // namespace pktpit::router
