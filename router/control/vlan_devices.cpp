// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/vlan_devices.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "config/config.h"

namespace pktpit::router {
namespace {

constexpr uint16_t customer_tag = 0x8100;  // 802.1Q: that of every inner tag
constexpr uint16_t service_tag = 0x88a8;   // 802.1ad
constexpr size_t longest_name = 15;        // IFNAMSIZ - 1

VlanPlace place_of(const LinkEvent& link) {
    return {link.name, link.parent, link.vlan_id, link.vlan_protocol};
}

// No address is to appear on the outer device by itself: nobody is reached there.
std::string ipv6_switch(const std::string& device) {
    return "ipv6/conf/" + device + "/disable_ipv6";
}

}  // namespace

/// What is put back with a device that is made again.
struct VlanDevices::Former {
    LinkEvent link;
    std::string parent;
    std::vector<InterfaceAddress> addresses;
    bool without_ipv6 = false;
};

std::optional<LinkEvent> VlanDevices::named(const std::string& name) const {
    if (const LinkEvent* link = told(name)) return *link;
    for (const auto& [ifindex, link] : made_)
        if (link.name == name) return link;
    return std::nullopt;
}

const LinkEvent* VlanDevices::told(const std::string& name) const {
    const LinkEvent* link = state_.link(name);
    return link && !is_gone(link->ifindex) ? link : nullptr;
}

std::optional<LinkEvent> VlanDevices::with_index(uint32_t ifindex) const {
    const auto fresh = made_.find(ifindex);
    if (fresh != made_.end()) return fresh->second;
    const LinkEvent* link = state_.link(ifindex);
    return link && !is_gone(ifindex) ? std::optional(*link) : std::nullopt;
}

std::vector<LinkEvent> VlanDevices::all() const {
    std::vector<LinkEvent> all = state_.links();
    std::erase_if(all, [this](const auto& link) { return is_gone(link.ifindex); });
    for (const auto& [ifindex, link] : made_)
        if (!state_.link(ifindex)) all.push_back(link);
    return all;
}

std::optional<LinkEvent> VlanDevices::at(const VlanPlace& place) const {
    for (auto& link : all())
        if (link.kind == "vlan" && link.parent == place.parent && link.vlan_id == place.vid &&
            link.vlan_protocol == place.protocol)
            return std::move(link);
    return std::nullopt;
}

bool VlanDevices::fits(const LinkEvent& link, const config::Interface& vlan, uint32_t port) const {
    if (link.kind != "vlan" || link.vlan_id != vlan.vlan.back()) return false;
    if (vlan.vlan.size() == 1) return link.parent == port && link.vlan_protocol == vlan.vlan_protocol;
    const auto outer = with_index(link.parent);
    return link.vlan_protocol == customer_tag && outer && outer->kind == "vlan" && outer->parent == port &&
           outer->vlan_id == vlan.vlan[0] && outer->vlan_protocol == vlan.vlan_protocol;
}

std::optional<LinkEvent> VlanDevices::outer_of(const config::Interface& vlan, uint32_t port) const {
    if (vlan.vlan.size() != 2) return std::nullopt;
    return at({"", port, vlan.vlan[0], vlan.vlan_protocol});
}

std::string VlanDevices::words_of(const LinkEvent& link) const {
    if (link.kind != "vlan") return link.kind.empty() ? "no VLAN device" : "a " + link.kind + " device";
    LinkEvent elsewhere;
    elsewhere.name = "no device here";
    const auto below = [&](const LinkEvent& vlan) { return with_index(vlan.parent).value_or(elsewhere); };
    const LinkEvent parent = below(link);
    if (parent.kind == "vlan" && link.vlan_protocol == customer_tag)
        return config::describe_vlan({parent.vlan_id, link.vlan_id}, below(parent).name,
                                     parent.vlan_protocol);
    return config::describe_vlan({link.vlan_id}, parent.name, link.vlan_protocol);
}

// By the port's name as far as that fits, and if another device has that, by a number at its end.
std::string VlanDevices::outer_name(const config::Interface& vlan, const std::string& port) const {
    const std::string whole =
        (vlan.vlan_protocol == service_tag ? "ppa" : "ppq") + std::to_string(vlan.vlan[0]) + "." + port;
    std::string name = whole.substr(0, longest_name);
    for (unsigned number = 1; named(name); number++) {
        const std::string end = "~" + std::to_string(number);
        name = whole.substr(0, longest_name - end.size()) + end;
    }
    return name;
}

Result<void> VlanDevices::make(const config::Interface& vlan, const LinkEvent& port,
                               Transaction* transaction) {
    const auto made = std::make_shared<std::vector<std::string>>();
    // Also of what a refusal could not take back.
    if (transaction)
        transaction->on_rollback("VLAN device " + vlan.name, [this, made] { return remove_named(*made); });
    auto done = make_stack(vlan, port, *made);
    if (!done) (void)remove_named(*made);
    return done;
}

Result<void> VlanDevices::make_stack(const config::Interface& vlan, const LinkEvent& port,
                                     std::vector<std::string>& made) {
    if (vlan.vlan.size() == 1)
        return make_one({vlan.name, port.ifindex, vlan.vlan[0], vlan.vlan_protocol}, made);
    if (!outer_of(vlan, port.ifindex))
        if (auto done = make_outer(
                {outer_name(vlan, port.name), port.ifindex, vlan.vlan[0], vlan.vlan_protocol}, made);
            !done)
            return done;
    const auto outer = outer_of(vlan, port.ifindex);
    if (!outer) return fail(vlan.name, "its outer VLAN device has gone meanwhile");
    return make_one({vlan.name, outer->ifindex, vlan.vlan[1], customer_tag}, made);
}

Result<void> VlanDevices::make_outer(const VlanPlace& place, std::vector<std::string>& made) {
    if (auto done = make_one(place, made); !done) return done;
    if (auto done = switches_.set_sysctl(ipv6_switch(place.name), "1"); !done) return done;
    return kernel_.set_link(named(place.name)->ifindex, true, std::nullopt);
}

Result<void> VlanDevices::make_one(const VlanPlace& place, std::vector<std::string>& made) {
    if (const auto other = at(place))
        return fail(place.name, words_of(*other) + " is the device \"" + other->name + "\" already",
                    "one device for a VLAN of a port",
                    "name the interface \"" + other->name + "\", or remove that device");
    const auto ifindex = kernel_.add_vlan_link(place, alias_);
    if (!ifindex) return tl::unexpected(ifindex.error());
    LinkEvent link;
    link.ifindex = *ifindex;
    link.name = place.name;
    link.kind = "vlan";
    link.parent = place.parent;
    link.vlan_id = place.vid;
    link.vlan_protocol = place.protocol;
    link.alias = alias_;
    made_.insert_or_assign(*ifindex, std::move(link));
    made.push_back(place.name);
    return {};
}

Result<void> VlanDevices::remove_named(const std::vector<std::string>& names) {
    BestEffort effort;
    std::for_each(names.rbegin(), names.rend(), [&](const std::string& name) {
        if (const auto link = named(name)) effort.attempt(name, [&] { return remove_one(*link); });
    });
    return effort.result();
}

Result<void> VlanDevices::remove_one(const LinkEvent& link) {
    if (auto done = kernel_.remove_vlan_link(link.ifindex); !done) return done;
    made_.erase(link.ifindex);
    gone_.insert(link.ifindex);
    return {};
}

std::optional<LinkEvent> VlanDevices::in_the_way(const config::Interface& vlan, uint32_t port) const {
    const auto known = named(vlan.name);
    if (known) return is_ours(*known) && !fits(*known, vlan, port) ? known : std::nullopt;
    const auto outer = outer_of(vlan, port);
    if (vlan.vlan.size() == 2 && !outer) return std::nullopt;
    const auto other = vlan.vlan.size() == 1 ? at({"", port, vlan.vlan[0], vlan.vlan_protocol})
                                             : at({"", outer->ifindex, vlan.vlan[1], customer_tag});
    return other && is_ours(*other) ? other : std::nullopt;
}

Result<void> VlanDevices::remove(const LinkEvent& link, Transaction& transaction) {
    for (const auto& above : all())
        if (above.parent == link.ifindex && is_ours(above))
            if (auto done = remove(above, transaction); !done) return done;
    Former former{link, {}, {}, switches_.sysctl(ipv6_switch(link.name)) == "1"};
    if (const auto parent = with_index(link.parent)) former.parent = parent->name;
    for (const auto& address : state_.addresses(link.ifindex))
        if (address.ours) former.addresses.push_back(address.address);
    return transaction.make(
        "VLAN device " + link.name, [&] { return remove_one(link); },
        [this, former = std::move(former)] { return make_again(former); });
}

Result<void> VlanDevices::make_again(const Former& former) {
    const std::string& name = former.link.name;
    const auto parent = named(former.parent);
    if (named(name)) return {};
    if (!parent) return fail(name, "the device below it, \"" + former.parent + "\", is gone");
    VlanPlace place = place_of(former.link);
    place.parent = parent->ifindex;
    std::vector<std::string> made;
    if (auto done = make_one(place, made); !done) return done;
    const uint32_t ifindex = named(name)->ifindex;
    BestEffort effort;
    if (former.without_ipv6)
        effort.attempt(name, [&] { return switches_.set_sysctl(ipv6_switch(name), "1"); });
    effort.attempt(name, [&] { return kernel_.set_link(ifindex, former.link.admin_up, former.link.mtu); });
    for (const auto& address : former.addresses)
        effort.attempt(name, [&] { return kernel_.add_address(ifindex, address); });
    return effort.result();
}

Result<void> VlanDevices::remove_others(const std::set<uint32_t>& needed) {
    BestEffort effort;
    std::set<uint32_t> tried;
    for (bool more = true; std::exchange(more, false);) {
        const auto there = all();
        for (const auto& link : there) {
            const auto lies_on_it = [&](const auto& other) { return other.parent == link.ifindex; };
            if (!is_ours(link) || needed.contains(link.ifindex) || std::ranges::any_of(there, lies_on_it) ||
                !tried.insert(link.ifindex).second)
                continue;
            effort.attempt(link.name, [&] { return remove_one(link); });
            more = true;
        }
    }
    return effort.result();
}

void VlanDevices::link_removed(uint32_t ifindex) {
    gone_.erase(ifindex);
    made_.erase(ifindex);
}

}  // namespace pktpit::router
