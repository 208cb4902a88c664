// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/link_nets.h"

#include <algorithm>

namespace pktpit::router {
namespace {

/// A route that the kernel has not told of is the last to come.
constexpr uint64_t first_untold = uint64_t{1} << 63;
constexpr uint32_t ipv6_metric = 256;  // IP6_RT_PRIO_ADDRCONF

uint32_t metric_of(const InterfaceAddress& address, const AddressDetails& details) {
    return details.metric == 0 && address.address.is_v6() ? ipv6_metric : details.metric;
}

}  // namespace

// Of several IPv4 addresses in a net the first is the primary one, and makes the route (fib_add_ifaddr()).
// Each IPv6 address makes its own, which is the same one where the metric is the same.
std::set<uint32_t> LinkNets::brought(const Key& key, const Net& net) {
    std::set<uint32_t> metrics;
    for (const Source& source : net.addresses) {
        if (source.prefix_route) metrics.insert(source.metric);
        if (key.second.address.is_v4()) break;
    }
    return metrics;
}

NetRank LinkNets::rank_of(InterfaceId interface, uint32_t metric, Route& route) {
    if (!route.told && !route.untold) route.untold = first_untold + ++untold_;
    return {!up_.contains(interface), metric, route.told ? *route.told : *route.untold};
}

LinkNets::Table::iterator LinkNets::update(Table::iterator at, Changes& changes) {
    const Key& key = at->first;
    auto& routes = at->second.routes;
    const auto metrics = brought(key, at->second);
    for (const uint32_t metric : metrics)
        routes.try_emplace(metric);
    Changes gone;
    for (auto entry = routes.begin(); entry != routes.end();) {
        auto& [metric, route] = *entry;
        const bool is_brought = metrics.contains(metric);
        if (!is_brought && route.doubtful) route.told.reset();
        if (!is_brought) route.withdrawn = route.doubtful = false;
        std::optional<ConnectedWish> wanted;
        if (route.told || (is_brought && !route.withdrawn))
            wanted = wish_of_net(key.first, rank_of(key.first, metric, route));
        if (wanted != route.wish) {
            if (wanted) changes.push_back({key.first, key.second, *wanted, true});
            if (route.wish) gone.push_back({key.first, key.second, *route.wish, false});
            route.wish = wanted;
        }
        entry = route.wish || route.withdrawn ? std::next(entry) : routes.erase(entry);
    }
    changes.insert(changes.end(), gone.begin(), gone.end());
    return at->second.addresses.empty() && routes.empty() ? nets_.erase(at) : std::next(at);
}

LinkNets::Changes LinkNets::add_address(InterfaceId interface, const InterfaceAddress& address,
                                        const AddressDetails& details) {
    Changes changes;
    for (const Prefix& prefix : nets_of(address, details)) {
        const auto at = nets_.try_emplace({interface, prefix}).first;
        auto& sources = at->second.addresses;
        const Source source{address, details.peer, metric_of(address, details), details.prefix_route};
        const auto known = std::ranges::find_if(sources, [&](const Source& other) {
            return other.address == address && other.peer == details.peer;
        });
        if (known != sources.end())
            *known = source;
        else
            sources.push_back(source);
        update(at, changes);
    }
    return changes;
}

LinkNets::Changes LinkNets::remove_address(InterfaceId interface, const InterfaceAddress& address,
                                           const AddressDetails& details) {
    Changes changes;
    for (const Prefix& prefix : nets_of(address, details)) {
        const auto at = nets_.find({interface, prefix});
        if (at == nets_.end()) continue;
        const auto before = brought(at->first, at->second);
        std::erase_if(at->second.addresses, [&](const Source& source) {
            return source.address == address && source.peer == details.peer;
        });
        // Its route goes with it, whether or not the kernel has told so yet.
        const auto after = brought(at->first, at->second);
        for (const uint32_t metric : before)
            if (!after.contains(metric)) at->second.routes[metric].told.reset();
        update(at, changes);
    }
    return changes;
}

LinkNets::Changes LinkNets::set_route(InterfaceId interface, const Prefix& net, uint32_t metric,
                                      uint64_t order) {
    const auto at = nets_.try_emplace({interface, net}).first;
    at->second.routes[metric].be(order);
    Changes changes;
    update(at, changes);
    return changes;
}

LinkNets::Changes LinkNets::remove_route(InterfaceId interface, const Prefix& net, uint32_t metric) {
    const auto at = nets_.find({interface, net});
    if (at == nets_.end()) return {};
    const auto found = at->second.routes.find(metric);
    if (found == at->second.routes.end()) return {};
    if (brought(at->first, at->second).contains(metric)) {
        found->second.doubtful = true;
        doubtful_.insert(at->first);
        return {};
    }
    found->second.told.reset();
    Changes changes;
    update(at, changes);
    return changes;
}

LinkNets::Changes LinkNets::settle() {
    Changes changes;
    for (const Key& key : std::exchange(doubtful_, {})) {
        const auto at = nets_.find(key);
        if (at == nets_.end()) continue;
        for (auto& [metric, route] : at->second.routes)
            if (std::exchange(route.doubtful, false)) {
                route.told.reset();
                route.withdrawn = true;
            }
        update(at, changes);
    }
    return changes;
}

template <class Visit>
LinkNets::Changes LinkNets::each(InterfaceId interface, Visit visit) {
    Changes changes;
    for (auto at = nets_.lower_bound({interface, Prefix{}});
         at != nets_.end() && at->first.first == interface;) {
        visit(at->second);
        at = update(at, changes);
    }
    return changes;
}

LinkNets::Changes LinkNets::forget_routes(InterfaceId interface) {
    return each(interface, [](Net& net) {
        for (auto& [metric, route] : net.routes)
            route.be(std::nullopt);
    });
}

LinkNets::Changes LinkNets::set_up(InterfaceId interface, bool up) {
    if (up)
        up_.insert(interface);
    else
        up_.erase(interface);
    return each(interface, [](const Net&) {});
}

LinkNets::Changes LinkNets::remove_interface(InterfaceId interface) {
    up_.erase(interface);
    return each(interface, [](Net& net) {
        net.addresses.clear();
        for (auto& [metric, route] : net.routes)
            route.be(std::nullopt);
    });
}

void LinkNets::for_each(InterfaceId interface,
                        const std::function<void(const Prefix&, const ConnectedWish&)>& visit) const {
    for (auto at = nets_.lower_bound({interface, Prefix{}});
         at != nets_.end() && at->first.first == interface; ++at)
        for (const auto& [metric, route] : at->second.routes)
            if (route.wish) visit(at->first.second, *route.wish);
}

}  // namespace pktpit::router
