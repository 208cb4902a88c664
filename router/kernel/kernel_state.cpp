// SPDX-License-Identifier: BSD-3-Clause
#include "router/kernel/kernel_state.h"

#include <unordered_set>

namespace pktpit::router {

namespace {

/// What makes an address another one: IPv6 knows it by itself, IPv4 by its net and peer too.
bool same_address(const AddressEvent& a, const AddressEvent& b) {
    if (a.address.address != b.address.address) return false;
    return a.address.address.is_v6() || (a.address.length == b.address.length && a.peer == b.peer);
}

}  // namespace

KernelState::KernelState(RouteFilter filter, KernelListener& listener)
    : listener_(listener), of_devices_(filter.of_devices), routes_(std::move(filter), listener) {}

void KernelState::consume(const KernelEvent& event) {
    // The dump of links is complete once anything else comes.
    if (dumping_links_ && !std::holds_alternative<LinkEvent>(event) &&
        !std::holds_alternative<ResyncBegin>(event)) {
        const auto* end = std::get_if<ResyncEnd>(&event);
        if (!end || end->complete)
            apply_dumped_links();
        else  // it broke off among them
            dumping_links_ = false;
    }
    std::visit([this](const auto& of_kind) { on(of_kind); }, event);
}

void KernelState::on(const LinkEvent& event) {
    if (dumping_links_) {
        dumped_links_.push_back(event);
    } else {
        apply(event);
    }
}

/// Removals first: a device that came back under the same name has another ifindex, and the name must be
/// free.
void KernelState::apply_dumped_links() {
    dumping_links_ = false;
    std::unordered_set<uint32_t> present;
    for (const LinkEvent& link : dumped_links_)
        present.insert(link.ifindex);
    std::vector<uint32_t> gone;
    for (const auto& [ifindex, device] : devices_) {
        if (!present.contains(ifindex)) gone.push_back(ifindex);
    }
    for (const uint32_t ifindex : gone)
        remove_device(ifindex);
    for (const LinkEvent& link : std::exchange(dumped_links_, {}))
        apply(link);
}

void KernelState::apply(const LinkEvent& link) {
    if (link.removed) return remove_device(link.ifindex);
    const auto [entry, fresh] = devices_.try_emplace(link.ifindex);
    LinkEvent& known = entry->second.link;
    if (!fresh && known == link) return;
    const LinkEvent before = std::exchange(known, link);
    if (fresh || before.name != link.name) {
        const auto name = by_name_.find(before.name);
        if (!fresh && name != by_name_.end() && name->second == link.ifindex) by_name_.erase(name);
        by_name_[link.name] = link.ifindex;
    }
    if (!link.admin_up || !link.running) routes_.carrier_lost(link.ifindex);
    routes_.set_without_carrier(link.ifindex, link.admin_up && !link.running);
    if (!fresh && before.admin_up && !link.admin_up) {
        routes_.device_down(link.ifindex, Family::ipv4);
        routes_.device_down(link.ifindex, Family::ipv6);
        device_routes_down(link.ifindex);
    }
    // IPv6 waits for the carrier (addrconf_notify()), IPv4 does not (fib_netdev_event()).
    const auto ready = [](const LinkEvent& of) { return of.admin_up && of.running; };
    if (!fresh && !before.admin_up && link.admin_up) routes_.device_up(link.ifindex, Family::ipv4);
    if (!fresh && !ready(before) && ready(link)) routes_.device_up(link.ifindex, Family::ipv6);
    // With net.ipv4.conf.*.ignore_routes_with_linkdown a dump calls dead what has no carrier.
    if (!fresh && !ready(before) && ready(link) && has_ipv4_address(entry->second))
        routes_.device_up(link.ifindex, Family::ipv4);
    listener_.link_changed(link, fresh ? nullptr : &before);
}

void KernelState::remove_device(uint32_t ifindex) {
    auto entry = devices_.extract(ifindex);
    if (entry.empty()) return;
    const Device& device = entry.mapped();
    routes_.device_removed(ifindex);
    for (const auto& route : device.routes)
        listener_.device_route_removed(route.event);
    for (const auto& [address, neighbour] : device.neighbours)
        listener_.neighbour_removed(neighbour.event);
    for (const auto& address : device.addresses)
        listener_.address_removed(address.event);
    const auto name = by_name_.find(device.link.name);
    if (name != by_name_.end() && name->second == ifindex) by_name_.erase(name);
    listener_.link_removed(device.link);
}

bool KernelState::has_ipv4_address(const Device& device) const {
    return std::any_of(device.addresses.begin(), device.addresses.end(),
                       [](const auto& record) { return record.event.address.address.is_v4(); });
}

// For devices that are not known the next two ignore what they hear: the device came after the dump of links,
// and its own events are still to come; or it is gone.

void KernelState::on(const AddressEvent& event) {
    const auto entry = devices_.find(event.ifindex);
    if (entry == devices_.end()) return;
    Device& device = entry->second;
    auto& addresses = device.addresses;
    const auto known = std::find_if(addresses.begin(), addresses.end(),
                                    [&](const auto& record) { return same_address(record.event, event); });
    if (event.removed) {
        if (known == addresses.end()) return;
        const AddressEvent gone = known->event;
        addresses.erase(known);
        address_gone(device, gone);
        return;
    }
    // fib_inetaddr_event(): any IPv4 address enlivens the next hops that died with the last one.
    if (event.address.address.is_v4() && device.link.admin_up) routes_.device_up(event.ifindex, Family::ipv4);
    // So does IPv6 that is enabled again (dev_disable_change()), which tells of the addresses alone.
    if (event.address.address.is_v6() && device.link.admin_up && device.link.running)
        routes_.device_up(event.ifindex, Family::ipv6);
    if (known == addresses.end()) {
        addresses.push_back({event, generation_});
    } else {
        known->generation = generation_;
        if (known->event == event) return;
        known->event = event;
    }
    listener_.address_changed(event);
}

void KernelState::address_gone(Device& device, const AddressEvent& address) {
    const IpAddress& ip = address.address.address;
    if (ip.is_v4()) {
        // fib_disable_ip(): with its last IPv4 address a device loses its IPv4 routes, silently.
        if (!has_ipv4_address(device)) routes_.device_down(address.ifindex, Family::ipv4);
        const bool elsewhere = std::any_of(devices_.begin(), devices_.end(), [&](const auto& other) {
            const auto& addresses = other.second.addresses;
            return std::any_of(addresses.begin(), addresses.end(),
                               [&](const auto& record) { return record.event.address.address == ip; });
        });
        if (!elsewhere) routes_.source_removed(ip);
        device_routes_without_address(device, elsewhere ? std::nullopt : std::optional(ip));
    }
    listener_.address_removed(address);
}

void KernelState::on(const NeighbourEvent& event) {
    const auto entry = devices_.find(event.ifindex);
    if (entry == devices_.end()) return;
    auto& neighbours = entry->second.neighbours;
    const auto known = neighbours.find(event.address);
    if (event.removed) {
        if (known == neighbours.end()) return;
        const NeighbourEvent gone = known->second.event;
        neighbours.erase(known);
        listener_.neighbour_removed(gone);
        return;
    }
    if (known == neighbours.end()) {
        neighbours.emplace(event.address, Record<NeighbourEvent>{event, generation_});
    } else {
        known->second.generation = generation_;
        // The kernel does not tell when it asks again for a failed neighbour: a failure after a failure is
        // news.
        if (known->second.event == event && event.state != NeighbourState::failed) return;
        known->second.event = event;
    }
    listener_.neighbour_changed(event);
}

void KernelState::on(const RouteEvent& event) {
    if (of_devices_) return on_device_route(event);
    routes_.apply(event);
}
void KernelState::on(const NextHopEvent& event) {
    routes_.apply(event);
}

void KernelState::on(const ResyncBegin&) {
    ++generation_;
    resyncing_ = true;
    complete_ = false;
    dumping_links_ = true;
    dumped_links_.clear();
    routes_.begin_resync();
}

void KernelState::on(const ResyncEnd& end) {
    if (!std::exchange(resyncing_, false)) return;
    routes_.end_resync(end.complete);
    if (!end.complete) return;
    complete_ = true;
    // Without the routes' consequences: the dump of routes came later, and knows better.
    for (auto& [ifindex, device] : devices_) {
        std::erase_if(device.neighbours, [&](const auto& entry) {
            const bool gone = entry.second.generation != generation_;
            if (gone) listener_.neighbour_removed(entry.second.event);
            return gone;
        });
        std::erase_if(device.addresses, [&](const auto& record) {
            const bool gone = record.generation != generation_;
            if (gone) listener_.address_removed(record.event);
            return gone;
        });
        drop_stale_device_routes(device);
    }
    listener_.resynced();
}

void KernelState::on(const ComparisonBegin&) {
    if (complete_) routes_.begin_comparison();
}

const LinkEvent* KernelState::link(uint32_t ifindex) const {
    const auto entry = devices_.find(ifindex);
    return entry == devices_.end() ? nullptr : &entry->second.link;
}

const LinkEvent* KernelState::link(std::string_view name) const {
    const auto entry = by_name_.find(std::string(name));
    return entry == by_name_.end() ? nullptr : link(entry->second);
}

std::vector<LinkEvent> KernelState::links() const {
    std::vector<LinkEvent> all;
    for (const auto& [ifindex, device] : devices_)
        all.push_back(device.link);
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.ifindex < b.ifindex; });
    return all;
}

std::vector<AddressEvent> KernelState::addresses(uint32_t ifindex) const {
    std::vector<AddressEvent> all;
    const auto entry = devices_.find(ifindex);
    if (entry == devices_.end()) return all;
    for (const auto& record : entry->second.addresses)
        all.push_back(record.event);
    return all;
}

const NeighbourEvent* KernelState::neighbour(uint32_t ifindex, const IpAddress& address) const {
    const auto entry = devices_.find(ifindex);
    if (entry == devices_.end()) return nullptr;
    const auto known = entry->second.neighbours.find(address);
    return known == entry->second.neighbours.end() ? nullptr : &known->second.event;
}

std::vector<NeighbourEvent> KernelState::neighbours() const {
    std::vector<NeighbourEvent> all;
    for (const auto& [ifindex, device] : devices_) {
        for (const auto& [address, record] : device.neighbours)
            all.push_back(record.event);
    }
    return all;
}

Result<void> follow(Kernel& kernel, KernelState& state) {
    auto done = kernel.poll([&state](const KernelEvent& event) { state.consume(event); });
    state.settle();
    return done;
}

Result<bool> follow(Kernel& kernel, KernelState& state, Turn& turn) {
    // Events come first, since what they replace need not be removed before; but not all of the turn.
    Turn first = state.routes().unsettled() > 0 ? turn.half() : turn;
    auto more = kernel.work([&state](const KernelEvent& event) { state.consume(event); }, first);
    const bool unsettled = state.settle(turn);
    if (more) return *more || unsettled;
    return more;
}

}  // namespace pktpit::router
