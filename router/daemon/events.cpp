// What the kernel and the port stages tell the daemon while it runs.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/daemon/daemon.h"

namespace pktpit::router {
namespace {

constexpr uint64_t ticks_per_second = 10;
constexpr uint64_t resolve_every = 5 * ticks_per_second;

// The all-ones address needs no telling; only another one does.
std::optional<IpAddress> unusual_broadcast(const AddressEvent& address) {
    return address.broadcast == address.address.net().last() ? std::nullopt : address.broadcast;
}

}  // namespace

void Daemon::link_changed(const LinkEvent& link, const LinkEvent* before) {
    const L3Interface* known = routing_->interfaces().by_ifindex(link.ifindex);
    if (before && known && before->up != link.up)
        spdlog::info("{}: link {}", link.name, link.up ? "up" : "down");
    ports_->link_changed(link);
    const L3Interface* now = routing_->interfaces().by_ifindex(link.ifindex);
    if (now && now != known) {
        set_static_neighbours(now->id);
        kernel_routes_->refresh();
        refresh_host_addresses();
    }
}

void Daemon::link_removed(const LinkEvent& link) {
    if (const L3Interface* known = routing_->interfaces().by_ifindex(link.ifindex))
        slow_path_->interface_gone(known->id);
    ports_->link_removed(link);
}

void Daemon::address_changed(const AddressEvent& address) {
    if (const L3Interface* interface = routing_->interfaces().by_ifindex(address.ifindex)) {
        if (!address.tentative)
            routing_->add_address(interface->id, address.address, unusual_broadcast(address));
    } else {
        refresh_host_addresses();
    }
}

void Daemon::address_removed(const AddressEvent& address) {
    if (const L3Interface* interface = routing_->interfaces().by_ifindex(address.ifindex))
        routing_->remove_address(interface->id, address.address);
    else
        refresh_host_addresses();
}

void Daemon::neighbour_changed(const NeighbourEvent& neighbour) {
    const L3Interface* interface = routing_->interfaces().by_ifindex(neighbour.ifindex);
    if (!interface) return;
    const Neighbour now{neighbour.mac, neighbour.state, false};
    routing_->set_neighbour(interface->id, neighbour.address, now);
    const auto tell = [&](const char* what, auto happened) {
        observations_->follow(
            "neighbour " + neighbour.address.to_string() + " on " + interface->name + what,
            [&] { (slow_path_.get()->*happened)(interface->id, neighbour.address, Clock::now()); });
    };
    if (now.usable())
        tell(" is known", &SlowPath::neighbour_resolved);
    else if (now.state == NeighbourState::failed)
        tell(" does not answer", &SlowPath::neighbour_failed);
    // Forwarded packets do not pass the kernel, which therefore takes the neighbour for unused: it is asked
    // to look again, so that a host that has gone or changed its MAC address is noticed.
    if (now.state == NeighbourState::stale &&
        routing_->adjacencies().in_use({interface->id, neighbour.address}))
        (void)kernel_->probe_neighbour(neighbour.ifindex, neighbour.address);
}

void Daemon::neighbour_removed(const NeighbourEvent& neighbour) {
    const L3Interface* interface = routing_->interfaces().by_ifindex(neighbour.ifindex);
    if (!interface) return;
    const Neighbour* known = routing_->adjacencies().neighbour({interface->id, neighbour.address});
    if (known && !known->configured) routing_->remove_neighbour(interface->id, neighbour.address);
}

void Daemon::resolve(InterfaceId interface, const IpAddress& address) {
    environment_->resolve(interface, address);
}

void Daemon::set_static_neighbours(InterfaceId interface) {
    const L3Interface* on = routing_->interfaces().find(interface);
    for (const auto& neighbour : config_.neighbours)
        if (neighbour.interface == on->name && on->ifindex != 0)
            (void)kernel_->set_neighbour(on->ifindex, neighbour.address, neighbour.mac);
}

void Daemon::refresh_host_addresses() {
    std::set<IpAddress> wanted;
    for (const auto& link : state_->links())
        if (!routing_->interfaces().by_ifindex(link.ifindex))
            for (const auto& address : state_->addresses(link.ifindex))
                if (!address.address.address.is_loopback()) wanted.insert(address.address.address);
    for (const auto& address : host_addresses_)
        if (!wanted.contains(address)) routing_->remove_host_address(address);
    for (const auto& address : wanted)
        if (!host_addresses_.contains(address)) routing_->add_host_address(address);
    host_addresses_ = std::move(wanted);
}

void Daemon::punted(const pp_punt& punt, std::span<uint8_t> frame) {
    observations_->handle(punt, frame);
}

void Daemon::tick() {
    observations_->follow("packets have waited too long", [this] { slow_path_->tick(Clock::now()); });
    dataplane_->tick();
    observations_->tick();
    hot_ports_->tick(ports_->names());
    if (++ticks_ % ticks_per_second == 0) ports_->retry();
    if (ticks_ % resolve_every == 0) routing_->resolve_missing();
}

}  // namespace pktpit::router
