// SPDX-License-Identifier: BSD-3-Clause
// The VRFs of the routing core: which there are, and which interfaces are in them.
#include <algorithm>
#include <vector>

#include "router/routing/routing.h"

namespace pktpit::router {

// Sets are usable until a RIB is told otherwise, and this one comes late.
Routing::Vrf& Routing::make_vrf(VrfId id, const VrfName& name, fib::TableId table, fib::TableId host_table) {
    auto& place = vrfs_[id];
    place = std::make_unique<Vrf>(
        id, name, table, host_table,
        [this, id](const Prefix& prefix, const std::optional<fib::Route>& best, fib::NextHopSetId second) {
            return write_best(vrf(id), prefix, best, second);
        });
    sets_.for_each_behind(0, [&](fib::NextHopSetId set) {
        if (!sets_.usable(set)) place->rib.begin_set_usable(set, false);
        return true;
    });
    return *place;
}

Result<VrfId> Routing::add_vrf(const VrfName& name) {
    const auto table = image_.add_table();
    if (!table) return fail(name.name, table.error().message, "fewer VRFs");
    fib::TableId host_table = PP_FIB_DEFAULT_TABLE;
    if (default_->host_table != PP_FIB_DEFAULT_TABLE) {
        const auto added = image_.add_table();
        if (!added) {
            image_.remove_table(*table);
            return fail(name.name, added.error().message, "fewer VRFs");
        }
        host_table = *added;
    }
    // Used again as late as can be: next hops may still name it.
    do
        last_vrf_++;
    while (last_vrf_ == default_vrf || vrfs_.contains(last_vrf_));
    make_vrf(last_vrf_, name, *table, host_table);
    return last_vrf_;
}

void Routing::remove_vrf(VrfId id) {
    Vrf& gone = vrf(id);
    std::vector<fib::Route> routes;
    for (const Family family : {Family::ipv4, Family::ipv6})
        gone.rib.for_each_unordered(family, [&](const fib::Route& route, bool) {
            routes.push_back(route);
            return true;
        });
    for (const auto& route : routes)
        if (auto erased = erase_route(route.prefix, route.source, id); !erased) refused_(erased.error());
    for (const auto& [address, next_hops] : std::exchange(gone.peers, {}))
        sets_.release(next_hops);
    for (const auto& address : gone.sources)
        image_.forget_source(address);
    const fib::TableId table = gone.table, host_table = gone.host_table;
    vrfs_.erase(id);
    image_.remove_table(table);
    if (host_table != PP_FIB_DEFAULT_TABLE) image_.remove_table(host_table);
}

std::optional<VrfId> Routing::vrf_by_name(std::string_view name) const {
    for (const auto& [id, vrf] : vrfs_)
        if (vrf->name.name == name) return id;
    return std::nullopt;
}

std::optional<VrfId> Routing::vrf_by_table(uint32_t kernel_table) const {
    for (const auto& [id, vrf] : vrfs_)
        if (vrf->name.kernel_table == kernel_table) return id;
    return std::nullopt;
}

std::vector<VrfId> Routing::vrfs() const {
    std::vector<VrfId> ids;
    for (const auto& [id, vrf] : vrfs_)
        ids.push_back(id);
    return ids;
}

void Routing::set_interface_vrf(InterfaceId id, VrfId to) {
    L3Interface* interface = interfaces_.find(id);
    if (!interface || interface->vrf == to) return;
    const VrfId from = interface->vrf;
    wish_of_interface(*interface, to, true);
    interface->vrf = to;
    write_tables(*interface);
    if (interface->is_port()) write_port(*interface);
    wish_of_interface(*interface, from, false);
}

/// All that its addresses have brought to a VRF; its neighbours follow their nets.
void Routing::wish_of_interface(const L3Interface& interface, VrfId vrf, bool add) {
    for (auto at = addresses_.lower_bound({interface.id, {}, {}});
         at != addresses_.end() && std::get<0>(at->first) == interface.id; ++at)
        for (const auto& [prefix, wanted] :
             wishes_of(interface.id, std::get<1>(at->first), at->second, !interface.set_down))
            wish(vrf, prefix, wanted, add);
    nets_.for_each(interface.id, [&](const Prefix& prefix, const ConnectedWish& wanted) {
        wish_net(vrf, prefix, wanted, add);
    });
}

void Routing::write_tables(const L3Interface& interface) {
    // Zeroes are the default VRF's: a port's own constants say which tables it has.
    pp_fib_interface tables{};
    if (interface.vrf != default_vrf) {
        tables.table = static_cast<uint16_t>(vrf(interface.vrf).table);
        tables.host_table = static_cast<uint16_t>(vrf(interface.vrf).host_table);
    }
    image_.set_interface(interface.id, tables);
}

}  // namespace pktpit::router
