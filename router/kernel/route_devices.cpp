// SPDX-License-Identifier: BSD-3-Clause
// RouteTable: what the kernel does to routes without telling, when devices, addresses and nexthop objects
// change. Each case was observed on Linux 6.18; the functions that do it are named.
#include "router/kernel/route_table.h"

namespace pktpit::router {

using Edit = RouteBodies::Edit;

void RouteTable::device_down(uint32_t ifindex, Family family) {
    // fib_sync_down_dev(), fib6_ifdown()
    bodies_.for_each([&](RouteBody& body) {
        if (body.family != family) return Edit::keep;
        bool touched = false;
        bool alive = false;
        for (KernelNextHop& hop : body.next_hops) {
            touched |= hop.ifindex == ifindex && !hop.dead;
            hop.dead |= hop.ifindex == ifindex;
            alive |= !hop.dead;
        }
        return !touched ? Edit::keep : alive ? Edit::changed : Edit::gone;
    });
}

void RouteTable::device_up(uint32_t ifindex, Family family) {
    // fib_sync_up(), fib6_ifup()
    bodies_.for_each([&](RouteBody& body) {
        if (body.family != family) return Edit::keep;
        bool touched = false;
        for (KernelNextHop& hop : body.next_hops) {
            if (hop.ifindex != ifindex || !hop.dead) continue;
            hop.dead = false;
            touched = true;
        }
        return touched ? Edit::changed : Edit::keep;
    });
}

void RouteTable::device_removed(uint32_t ifindex) {
    carrier_lost(ifindex);
    without_carrier_.erase(ifindex);
    bodies_.for_each([&](RouteBody& body) {
        const size_t removed =
            std::erase_if(body.next_hops, [&](const auto& hop) { return hop.ifindex == ifindex; });
        if (removed == 0) return Edit::keep;
        body.forget_weight_of_one();
        return body.family == Family::ipv4 || body.next_hops.empty() ? Edit::gone : Edit::changed;
    });
}

void RouteTable::source_removed(const IpAddress& address) {
    // fib_sync_down_addr(). Linux tells since 6.7.
    bodies_.for_each([&](RouteBody& body) {
        return body.family == Family::ipv4 && body.source == address ? Edit::gone : Edit::keep;
    });
}

void RouteTable::set_without_carrier(uint32_t ifindex, bool without) {
    if (without)
        without_carrier_.insert(ifindex);
    else
        without_carrier_.erase(ifindex);
}

void RouteTable::carrier_lost(uint32_t ifindex) {
    // nexthop_flush_dev()
    std::vector<uint32_t> lost;
    for (const auto& [id, nexthop] : nexthops_) {
        const NextHopEvent& object = nexthop.object;
        if (!object.blackhole && object.members.empty() && object.next_hop.ifindex == ifindex)
            lost.push_back(id);
    }
    for (const uint32_t id : lost)
        remove_nexthop(id);
}

void RouteTable::apply(const NextHopEvent& event) {
    if (comparison_) touch(event.id);
    if (event.removed) return remove_nexthop(event.id);
    nexthops_[event.id] = {event, generation_};
    bodies_.for_each([&](RouteBody& body) {
        if (body.nexthop_id == 0) return Edit::keep;
        if (body.nexthop_id == event.id) return Edit::touch;
        const auto group = nexthops_.find(body.nexthop_id);
        if (group == nexthops_.end()) return Edit::keep;
        const auto& members = group->second.object.members;
        const bool member =
            std::any_of(members.begin(), members.end(), [&](const auto& of) { return of.id == event.id; });
        return member ? Edit::touch : Edit::keep;
    });
}

void RouteTable::remove_nexthop(uint32_t id) {
    if (comparison_) touch(id);
    // remove_nexthop(): its routes go with it, and its groups go on without it, unless it was their last.
    if (nexthops_.erase(id) == 0) return;
    std::vector<uint32_t> changed;
    std::vector<uint32_t> empty;
    for (auto& [group, nexthop] : nexthops_) {
        auto& members = nexthop.object.members;
        if (std::erase_if(members, [&](const auto& member) { return member.id == id; }) == 0) continue;
        (members.empty() ? empty : changed).push_back(group);
    }
    bodies_.for_each([&](RouteBody& body) {
        if (body.nexthop_id == 0) return Edit::keep;
        if (body.nexthop_id == id) return Edit::gone;
        return std::find(changed.begin(), changed.end(), body.nexthop_id) != changed.end() ? Edit::touch
                                                                                           : Edit::keep;
    });
    for (const uint32_t group : empty)
        remove_nexthop(group);
}

}  // namespace pktpit::router
