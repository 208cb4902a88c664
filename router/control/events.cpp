// SPDX-License-Identifier: BSD-3-Clause
// What the kernel tells the control plane while it runs.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/control/control_plane.h"

namespace pktpit::router {

void ControlPlane::link_changed(const LinkEvent& link, const LinkEvent* before) {
    const L3Interface* known = routing_.interfaces().by_ifindex(link.ifindex);
    if (before && known && before->up != link.up)
        spdlog::info("{}: link {}", link.name, link.up ? "up" : "down");
    if (known && (!before || before->up != link.up)) {
        count_link_change(link.name);
        events_.add(EventKind::link, link.name + (link.up ? ": up" : ": down"));
    }
    // The kernel makes its prefix routes anew, and tells of them behind this.
    if (known && before && !before->admin_up && link.admin_up) routing_.forget_prefix_routes(known->id);
    ports_.link_changed(link);
    const L3Interface* now = routing_.interfaces().by_ifindex(link.ifindex);
    if (now && (!before || before->admin_up != link.admin_up || before->running != link.running))
        installed_.device_changed(link.ifindex);
    host_prefixes_due_ |= before && before->admin_up != link.admin_up;
    if (now && now != known) {
        events_.add(EventKind::link, link.name + ": device is here" + (link.up ? ", up" : ", down"));
        if (auto set = set_static_neighbours(*now); !set) spdlog::warn("{}", set.error().to_string());
        refresh_kernel_routes();
        fpm_routes_.refresh();
        refresh_host_prefixes();
    }
}

void ControlPlane::count_link_change(const std::string& name) {
    LinkChanges& changes = link_changes_[name];
    changes.count++;
    changes.last = std::chrono::system_clock::now();
}

void ControlPlane::link_removed(const LinkEvent& link) {
    if (const L3Interface* known = routing_.interfaces().by_ifindex(link.ifindex))
        slow_path_.interface_gone(known->id);
    if (routing_.interfaces().by_ifindex(link.ifindex)) {
        count_link_change(link.name);
        events_.add(EventKind::link, link.name + ": device is gone");
    }
    ports_.link_removed(link);
}

void ControlPlane::address_changed(const AddressEvent& address) {
    if (const L3Interface* interface = routing_.interfaces().by_ifindex(address.ifindex)) {
        if (!address.tentative &&
            std::ranges::find(interface->addresses, address.address) == interface->addresses.end())
            events_.add(EventKind::address, interface->name + ": " + address.address.to_string() + " added");
        if (!address.tentative) routing_.add_address(interface->id, address.address, details_of(address));
        installed_.refresh();
    } else {
        refresh_host_prefixes();
    }
}

void ControlPlane::address_removed(const AddressEvent& address) {
    if (const L3Interface* interface = routing_.interfaces().by_ifindex(address.ifindex)) {
        events_.add(EventKind::address, interface->name + ": " + address.address.to_string() + " removed");
        routing_.remove_address(interface->id, address.address, address.peer);
        installed_.device_changed(address.ifindex);
    } else {
        refresh_host_prefixes();
    }
}

void ControlPlane::neighbour_changed(const NeighbourEvent& neighbour) {
    const L3Interface* interface = routing_.interfaces().by_ifindex(neighbour.ifindex);
    if (!interface) return;
    if (neighbour.claims_group()) return refuse_group_mac(*interface, neighbour);
    const Neighbour now{neighbour.mac, neighbour.state, false};
    note_neighbour(*interface, neighbour.address, now.usable(), "does not answer");
    routing_.set_neighbour(interface->id, neighbour.address, now);
    if (now.usable())
        slow_path_.neighbour_resolved(*interface, neighbour.address);
    else if (now.state == NeighbourState::failed && !asked_anew_.contains({interface->id, neighbour.address}))
        neighbour_failed(*interface, neighbour.address);
    // Forwarded packets do not pass the kernel, which therefore takes the neighbour for unused: it is asked
    // to look again, so that a host that has gone or changed its MAC address is noticed.
    if (now.state == NeighbourState::stale &&
        routing_.adjacencies().in_use({interface->id, neighbour.address}))
        prober_.probe(neighbour.ifindex, neighbour.address);
}

// A scan of a connected net, which fails for address after address, is no event.
void ControlPlane::note_neighbour(const L3Interface& on, const IpAddress& address, bool usable,
                                  const char* what) {
    const Neighbour* before = routing_.adjacencies().neighbour({on.id, address});
    const bool was_usable = before && before->usable();
    if (before && usable == was_usable) return;
    const bool next_hop = routing_.adjacencies().in_use({on.id, address});
    if (!was_usable && !next_hop) return;
    const std::string who = address.to_string() + " on " + on.name;
    if (usable)
        events_.add(EventKind::next_hop, who + " answers");
    else if (next_hop)
        events_.add(EventKind::next_hop,
                    who + " " + what + ": routes leave by their other next hops, where they have any");
    else
        events_.add(EventKind::neighbour, who + " " + what);
}

// The kernel keeps a failed neighbour for a minute. Of one that only packets have asked for it need not: a
// scan of a connected net would fill its table.
void ControlPlane::neighbour_failed(const L3Interface& on, const IpAddress& address) {
    BestEffort effort;
    if (!routing_.adjacencies().in_use({on.id, address}))
        effort.attempt("neighbour", [&] { prober_.withdraw(on.ifindex, address); });
    slow_path_.neighbour_failed(on, address);
}

// The kernel believes such answers. It is told what was known before, or that nothing is, so that it asks
// anew: its own packets to the neighbour would go to the group, too.
void ControlPlane::refuse_group_mac(const L3Interface& on, const NeighbourEvent& claim) {
    constexpr size_t remembered = 1024;  // liars on a link of IPv6 can be many
    if (refused_claims_.size() >= remembered) refused_claims_.clear();
    if (refused_claims_.emplace(on.id, claim.address).second)
        spdlog::warn(
            "{}: {} claims the group MAC address {}: not believed (RFC 1812 3.3.2); said once of each "
            "neighbour",
            on.name, claim.address.to_string(), claim.mac.to_string());
    const Neighbour* known = routing_.adjacencies().neighbour({on.id, claim.address});
    const bool keeps = known && known->usable() && !known->configured;
    BestEffort effort;
    effort.attempt("neighbour", [&] {
        if (keeps) return kernel_.set_stale_neighbour(claim.ifindex, claim.address, known->mac);
        asked_anew_.emplace(on.id, claim.address);
        return kernel_.remove_neighbour(claim.ifindex, claim.address);
    });
}

void ControlPlane::neighbour_removed(const NeighbourEvent& neighbour) {
    const L3Interface* interface = routing_.interfaces().by_ifindex(neighbour.ifindex);
    if (!interface) return;
    const Neighbour* known = routing_.adjacencies().neighbour({interface->id, neighbour.address});
    note_neighbour(*interface, neighbour.address, known && known->configured, "is gone");
    if (known && !known->configured) routing_.remove_neighbour(interface->id, neighbour.address);
    // The kernel has forgotten what it should not have believed.
    if (asked_anew_.erase({interface->id, neighbour.address}) != 0) resolve(interface->id, neighbour.address);
}

// A refusal, of whatever kind, shows as a neighbour that stays unresolved, and is asked for again. The
// routing core calls this in the middle of its work, which must not end there.
void ControlPlane::resolve(InterfaceId interface, const IpAddress& address) {
    const L3Interface* on = routing_.interfaces().find(interface);
    if (!on || on->ifindex == 0) return;
    BestEffort effort;
    effort.attempt("neighbour", [&] { prober_.probe(on->ifindex, address); });
}

// On a device that has come anew: the routing core has lost those that it had, the kernel knows none.
Result<void> ControlPlane::set_static_neighbours(const L3Interface& on) {
    BestEffort effort;
    for (const auto& neighbour : config_.neighbours) {
        if (neighbour.interface != on.name) continue;
        routing_.set_neighbour(on.id, neighbour.address, {neighbour.mac, NeighbourState::permanent, true});
        if (on.ifindex == 0) continue;
        const NeighbourEvent* known = state_.neighbour(on.ifindex, neighbour.address);
        if (known && known->state == NeighbourState::permanent && known->mac == neighbour.mac) continue;
        effort.attempt("neighbour",
                       [&] { return kernel_.set_neighbour(on.ifindex, neighbour.address, neighbour.mac); });
    }
    return effort.result();
}

std::optional<IpAddress> ControlPlane::loopback_address(Family family) const {
    constexpr uint32_t loopback = 1;  // in every network namespace
    for (const auto& own : state_.addresses(loopback)) {
        const IpAddress& address = own.address.address;
        if (address.family == family && !address.is_loopback() && !address.is_link_local()) return address;
    }
    return std::nullopt;
}

}  // namespace pktpit::router
