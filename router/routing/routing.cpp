// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/routing.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

namespace pktpit::router {
namespace {

constexpr uint16_t service_tag = 0x88a8;  ///< IEEE 802.1ad

/// Outer and inner tag as the image has them (struct pp_fib_vlan).
std::pair<uint16_t, uint16_t> tags_of(const std::vector<uint16_t>& vlan, uint16_t protocol) {
    const uint16_t service = protocol == service_tag ? PP_VLAN_SERVICE : 0;
    return {static_cast<uint16_t>(vlan[0] | service), vlan.size() > 1 ? vlan[1] : uint16_t{0}};
}

}  // namespace

Routing::Routing(fib::FibImage& image, Resolve resolve, Refused refused, fib::TableId port_table)
    : image_(image),
      resolve_(std::move(resolve)),
      refused_(std::move(refused)),
      adjacencies_(image, interfaces_),
      sets_(image, interfaces_, adjacencies_,
            [this](VrfId id, const IpAddress& address, const fib::Rib::VisitContaining& visit) {
                // Next hops may name a VRF that has gone.
                if (const auto found = vrfs_.find(id); found != vrfs_.end())
                    visit_routes_around(*found->second, address, visit);
            }),
      default_(&make_vrf(default_vrf, {}, PP_FIB_DEFAULT_TABLE, port_table)) {
    sets_.on_usable_changed([this](fib::NextHopSetId id, bool usable) { return usable_changed(id, usable); });
    sets_.on_links_changed([this] { note_all_neighbours(); });
}

bool Routing::usable_changed(fib::NextHopSetId id, bool usable) {
    for (const auto& [number, vrf] : vrfs_)
        vrf->rib.begin_set_usable(id, usable);
    draining_.erase(id);
    if (settled(id)) return true;
    if (!there_is_work_) {
        constexpr size_t all = std::numeric_limits<size_t>::max();
        for (const auto& [number, vrf] : vrfs_)
            if (auto settled = vrf->rib.settle(all); !settled) refused_(settled.error());
        return true;
    }
    if (!usable) draining_.insert(id);
    there_is_work_();
    return false;
}

bool Routing::settled(fib::NextHopSetId id) const {
    return std::ranges::all_of(vrfs_, [id](const auto& entry) { return entry.second->rib.settled(id); });
}

bool Routing::settled() const {
    return std::ranges::all_of(vrfs_, [](const auto& entry) { return entry.second->rib.settled(); });
}

void Routing::drop_drained() {
    for (auto at = draining_.begin(); at != draining_.end();) {
        if (!settled(*at)) {
            ++at;
            continue;
        }
        sets_.drained(*at);
        at = draining_.erase(at);
    }
}

// What the change of a route means for those inside it.
void Routing::follow_up(Vrf& vrf) {
    sets_.drop_unchained();
    follow_neighbours();
    if (there_is_work_ && ++changes_ > many_changes) busy_ = true;
    if (vrf.rib.settled()) return;
    if (there_is_work_) {
        if (!busy_) there_is_work_();
        return;
    }
    constexpr size_t all = std::numeric_limits<size_t>::max();
    if (auto settled = vrf.rib.settle(all); !settled) refused_(settled.error());
    follow_neighbours();
    sets_.drop_unchained();
}

void Routing::tick(std::chrono::steady_clock::time_point now) {
    sets_.tick(now);
    follow_neighbours();
    busy_ = std::exchange(changes_, 0) > many_changes;
    if (there_is_work_ && !busy_ && !settled()) there_is_work_();
}

bool Routing::settle(size_t prefixes) {
    bool done = true;
    for (const auto& [number, vrf] : vrfs_) {
        if (auto settled = busy_ ? vrf->rib.settle_best(prefixes) : vrf->rib.settle(prefixes); !settled)
            refused_(settled.error());
        done = done && (busy_ ? vrf->rib.best_settled() : vrf->rib.settled());
    }
    follow_neighbours();
    drop_drained();
    sets_.drop_unchained();
    return done;
}

void Routing::settle_best() {
    for (const auto& [number, vrf] : vrfs_)
        if (auto settled = vrf->rib.settle_best(std::numeric_limits<size_t>::max()); !settled)
            refused_(settled.error());
    follow_neighbours();
    drop_drained();
    sets_.drop_unchained();
}

// A route that does not fail (the host's own, a blackhole) needs nothing to stand in for it; nor do connected
// nets and neighbours, of which there may be as many as there are groups.
fib::GroupId Routing::group_for(const fib::Route& best, fib::NextHopSetId second,
                                const std::optional<fib::GroupId>& around) {
    if (second != 0) return sets_.chain(best.next_hops, second);
    const bool may_fail =
        best.source != fib::RouteSource::connected && sets_.spec_of(best.next_hops).kind == PP_ADJ_FORWARD;
    return may_fail && around ? sets_.chain_around(best.next_hops, *around) : sets_.group_of(best.next_hops);
}

// Ports that hold a part of the table lose what the change could make wrong there before it is made.
Result<void> Routing::write_best(Vrf& vrf, const Prefix& prefix, const std::optional<fib::Route>& best,
                                 fib::NextHopSetId second) {
    if (best && !vrf.host_nets.empty() && hidden_by(vrf, *best)) return write_best(vrf, prefix, {}, 0);
    const auto before = image_.standing(prefix, vrf.table);
    std::optional<fib::GroupId> group;
    if (best) group = group_for(*best, second, before.around);
    auto written =
        before.own == group
            ? Result<void>()
            : write_changed(vrf, prefix, best ? sets_.spec_of(best->next_hops).kind : PP_ADJ_INVALID, group);
    // One user more was counted for what the prefix has now, if it is a chain's.
    if (!written) {
        if (group) sets_.release_chain(*group);
        return written;
    }
    if (before.own) sets_.release_chain(*before.own);
    if (before.own != group) {
        vrf.rib.tell_inside(prefix);
        note_neighbours_inside(vrf.id, prefix);
    }
    return written;
}

Result<void> Routing::write_changed(Vrf& vrf, const Prefix& prefix, pp_adjacency_kind kind,
                                    std::optional<fib::GroupId> group) {
    HotRoutes* hot = hot_ && hot_->size() != 0 && vrf.id == default_vrf ? hot_ : nullptr;
    if (hot)
        if (auto prepared = hot->before_change(prefix); !prepared) return prepared;
    const bool host = kind == PP_ADJ_HOST || kind == PP_ADJ_BROADCAST;
    if (prefix.length == prefix.address.bits()) note_source(vrf, prefix.address, host);
    // What is the host's own, in the table of ports that know no more.
    if (vrf.host_table != PP_FIB_DEFAULT_TABLE) {
        auto written = write_group(prefix, host ? group : std::nullopt, vrf.host_table);
        if (!written) return written;
    }
    auto written = write_group(prefix, group, vrf.table);
    if (written || !hot) return written;
    // The full table comes before what only makes it faster.
    hot->clear();
    return write_group(prefix, group, vrf.table);
}

// From the router's own addresses and from broadcast addresses nothing is forwarded.
void Routing::note_source(Vrf& vrf, const IpAddress& address, bool own) {
    if (own) {
        if (vrf.sources.insert(address).second) image_.note_source(address);
    } else if (vrf.sources.erase(address) != 0) {
        image_.forget_source(address);
    }
}

Result<void> Routing::write_group(const Prefix& prefix, std::optional<fib::GroupId> group,
                                  fib::TableId table) {
    if (group) return image_.set(prefix, *group, table);
    if (auto erased = image_.erase(prefix, table); !erased) return tl::unexpected(erased.error());
    return {};
}

Result<InterfaceId> Routing::add_interface(const std::string& name, PortId port,
                                           const std::vector<uint16_t>& vlan, uint16_t vlan_protocol,
                                           InterfaceId keep_id, VrfId vrf) {
    L3Interface interface;
    interface.id = keep_id;
    interface.name = name;
    interface.port = port;
    interface.vlan = vlan;
    interface.vlan_protocol = vlan_protocol;
    interface.vrf = vrf;
    const InterfaceId id = interfaces_.add(std::move(interface));
    if (id == 0) return fail(name, "too many interfaces", "at most 65,534");
    write_tables(*interfaces_.find(id));
    if (!vlan.empty()) {
        const auto [outer, inner] = tags_of(vlan, vlan_protocol);
        if (auto set = image_.set_vlan(port, outer, inner, id); !set) {
            image_.set_interface(id, {});
            interfaces_.remove(id);
            return tl::unexpected(set.error());
        }
    }
    return id;
}

void Routing::remove_interface(InterfaceId id) {
    L3Interface* interface = interfaces_.find(id);
    if (!interface) return;
    while (!interface->addresses.empty()) {
        const InterfaceAddress address = interface->addresses.back();
        const auto known = addresses_.lower_bound({id, address, std::nullopt});
        remove_address(id, address, std::get<2>(known->first));
    }
    carry_out(nets_.remove_interface(id));
    std::vector<IpAddress> neighbours;
    for (const auto& [key, neighbour] : adjacencies_.neighbours())
        if (key.first == id) neighbours.push_back(key.second);
    for (const auto& address : neighbours)
        drop_neighbour(id, address);
    if (interface->is_port()) {
        image_.set_port(interface->port, pp_fib_port{});
    } else {
        const auto [outer, inner] = tags_of(interface->vlan, interface->vlan_protocol);
        image_.erase_vlan(interface->port, outer, inner);
    }
    image_.set_interface(id, {});
    interface->up = false;
    sets_.interface_changed(id);
    follow_neighbours();
    const bool was_port = interface->is_port();
    const PortId port = interface->port;
    interfaces_.remove(id);
    if (!was_port) write_port(port);
}

void Routing::set_link(InterfaceId id, const LinkState& link) {
    L3Interface* interface = interfaces_.find(id);
    if (!interface) return;
    const LinkState before{interface->ifindex, interface->up,          interface->mac,
                           interface->mtu,     interface->no_redirect, interface->set_down};
    if (before == link) return;
    interface->ifindex = link.ifindex;
    interface->up = link.up;
    interface->mac = link.mac;
    interface->mtu = link.mtu;
    interface->no_redirect = link.no_redirect;
    if (interface->is_port())
        write_port(*interface);
    else
        write_port(interface->port);
    // Another link's net of the same prefix is there before this one cannot be used, and this one's after it
    // can.
    if (!link.up) carry_out(nets_.set_up(id, false));
    interface_changed(id);
    if (link.up) carry_out(nets_.set_up(id, true));
    if (std::exchange(interface->set_down, link.set_down) != link.set_down)
        listen_by(*interface, !link.set_down);
    if (link.up && !before.up) resolve_missing();
}

void Routing::interface_changed(InterfaceId id) {
    adjacencies_.interface_changed(id);
    sets_.interface_changed(id);
    follow_neighbours();
}

bool Routing::awaits_dhcp(PortId port) const {
    return std::ranges::any_of(interfaces_.all(), [port](const auto& entry) {
        return entry.second.port == port &&
               std::ranges::none_of(entry.second.addresses, [](const InterfaceAddress& one) {
                   return one.address.family == Family::ipv4;
               });
    });
}

/// One that has no device is written when it gets one.
void Routing::write_port(PortId port) {
    for (const auto& [id, interface] : interfaces_.all())
        if (interface.is_port() && interface.port == port && interface.ifindex != 0)
            return write_port(interface);
}

void Routing::write_port(const L3Interface& interface) {
    pp_fib_port port{};
    std::memcpy(port.mac, interface.mac.bytes.data(), sizeof port.mac);
    port.flags = static_cast<uint16_t>((interface.up ? PP_PORT_UP : 0) |
                                       (interface.no_redirect ? PP_PORT_NO_REDIRECT : 0) |
                                       (awaits_dhcp(interface.port) ? PP_PORT_AWAITS_DHCP : 0));
    port.ifindex = interface.ifindex;
    port.interface = interface.id;
    port.table = static_cast<uint16_t>(vrf(interface.vrf).table);
    image_.set_port(interface.port, port);
}

void Routing::set_neighbour(InterfaceId interface, const IpAddress& address, const Neighbour& neighbour) {
    const Adjacencies::NeighbourKey key{interface, address};
    const Neighbour* before = adjacencies_.neighbour(key);
    const bool was_usable = before && before->usable();
    const bool had_failed = before && before->state == NeighbourState::failed;
    adjacencies_.set_neighbour(key, neighbour);
    follow_neighbour(interface, address);
    const Neighbour& now = *adjacencies_.neighbour(key);
    if (was_usable != now.usable() || had_failed != (now.state == NeighbourState::failed))
        sets_.neighbour_changed(key);
    follow_neighbours();
}

void Routing::remove_neighbour(InterfaceId interface, const IpAddress& address) {
    if (!adjacencies_.remember_dead({interface, address})) drop_neighbour(interface, address);
}

void Routing::drop_neighbour(InterfaceId interface, const IpAddress& address) {
    const Adjacencies::NeighbourKey key{interface, address};
    adjacencies_.remove_neighbour(key);
    follow_neighbour(interface, address);
    sets_.neighbour_changed(key);
    follow_neighbours();
}

void Routing::resolve_missing() {
    sets_.retry();
    for (const auto& [number, vrf] : vrfs_)
        vrf->rib.retry();
    if (!settled()) {
        if (there_is_work_)
            there_is_work_();
        else
            (void)settle(std::numeric_limits<size_t>::max());
    }
    follow_neighbours();
    for (const auto& [interface, address] : adjacencies_.unresolved())
        resolve_(interface, address);
    for (const auto& [interface, address] : adjacencies_.take_unverified())
        resolve_(interface, address);
}

void Routing::resolve_missing_of(fib::NextHopSetId id) {
    for (const auto& hop : sets_.known_hops_of(id)) {
        if (!hop.via) continue;
        const Neighbour* known = adjacencies_.neighbour({hop.interface, *hop.via});
        if (!known || !known->usable()) resolve_(hop.interface, *hop.via);
    }
}

void Routing::wish(VrfId id, const Prefix& prefix, const ConnectedWish& wish, bool add) {
    ConnectedWishes& wishes = vrf(id).connected;
    if (add ? wishes.add(prefix, wish) : wishes.remove(prefix, wish)) install_connected(id, prefix);
    if (wish.strength == ConnectedWish::Strength::host && prefix.length != prefix.address.bits())
        follow_host_net(vrf(id), prefix);
}

void Routing::install_connected(VrfId id, const Prefix& prefix) {
    const ConnectedWish* wish = vrf(id).connected.strongest(prefix);
    if (!wish) {
        (void)erase_route(prefix, fib::RouteSource::connected, id);
        return;
    }
    const auto next_hops = sets_.acquire(wish->spec);
    if (!next_hops) return refused_(next_hops.error());
    const auto set = set_route({prefix, fib::RouteSource::connected, 0, 0, *next_hops}, id);
    sets_.release(*next_hops);
    if (!set) refused_(set.error());
}

Result<void> Routing::set_route(const fib::Route& route, VrfId id) {
    sets_.add_reference(route.next_hops);
    const auto before = vrf(id).rib.exchange(route);
    if (!before) {
        sets_.release(route.next_hops);
        sets_.drop_unchained();
        return tl::unexpected(before.error());
    }
    sets_.route_changed(id, route.prefix);
    if (*before) sets_.release((*before)->next_hops);
    follow_up(vrf(id));
    return {};
}

Result<bool> Routing::erase_route(const Prefix& prefix, fib::RouteSource source, VrfId id) {
    const auto before = vrf(id).rib.take(prefix, source);
    if (!before) {
        sets_.drop_unchained();
        return tl::unexpected(before.error());
    }
    if (!*before) return false;
    sets_.route_changed(id, prefix);
    sets_.release((*before)->next_hops);
    follow_up(vrf(id));
    return true;
}

std::optional<fib::Route> Routing::route(const Prefix& prefix, fib::RouteSource source, VrfId id) const {
    for (const auto& candidate : vrf(id).rib.candidates(prefix))
        if (candidate.source == source) return candidate;
    return std::nullopt;
}

bool Routing::is_broadcast(const IpAddress& address, VrfId id) const {
    const ConnectedWish* wish = vrf(id).connected.strongest(Prefix::of(address, address.bits()));
    return wish && wish->spec.kind == PP_ADJ_BROADCAST;
}

}  // namespace pktpit::router
