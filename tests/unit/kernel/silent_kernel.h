// SPDX-License-Identifier: BSD-3-Clause
/// A kernel as far as its routes go, which does what Linux does, and tells what Linux tells: routes vanish
/// with their link, with nexthop objects and, of IPv4, with their source; IPv6 routes lose their source.
/// Beside, it changes routes without a word where nobody could know. One route of a prefix has one metric.
#pragma once

#include <linux/rtnetlink.h>

#include <array>
#include <deque>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "router/kernel/kernel.h"

namespace pktpit::router::test {

class SilentKernel {
  public:
    explicit SilentKernel(uint32_t seed) : random_(seed) {
        for (const uint32_t ifindex : devices) {
            tell(link(ifindex));
            tell(address(ifindex, base_of(ifindex)));
        }
        for (unsigned number = 0; number < sources; ++number)
            tell(address(2, source(number)));
    }

    /// Something that a follower can know: told, or it follows by rule from what is.
    void change() {
        switch (below(12)) {
            case 0:
                return set_link(one_of_devices(), below(3) != 0);
            case 1:
                return set_source(below(sources), below(2) == 0);
            case 2:
                return set_nexthop(1 + below(3));
            case 3:
                return remove_nexthop(1 + below(3));
            case 4:
            case 5:
                return remove_route(some_route());
            default:
                return set_route();
        }
    }
    /// The prefix of a route that has changed, come or gone without a word.
    Prefix change_silently() {
        const auto place = some_route();
        if (place == routes_.end() || below(4) == 0) {
            const RouteEvent route = new_route();
            routes_[{route.prefix, route.metric}] = route;
            return route.prefix;
        }
        const Prefix prefix = place->second.prefix;
        if (below(2) == 0)
            routes_.erase(place);
        else if (place->second.type == RTN_UNICAST)
            place->second.mtu = 1300 + below(100);
        else
            place->second.type = place->second.type == RTN_BLACKHOLE ? RTN_PROHIBIT : RTN_BLACKHOLE;
        return prefix;
    }

    /// Events that have been sent, in order.
    std::deque<KernelEvent> events;

    /// Everything as it is now.
    [[nodiscard]] std::vector<KernelEvent> dump() const {
        std::vector<KernelEvent> all{ResyncBegin{}};
        for (const uint32_t ifindex : devices)
            all.emplace_back(link(ifindex));
        for (const uint32_t ifindex : devices)
            all.emplace_back(address(ifindex, base_of(ifindex)));
        for (unsigned number = 0; number < sources; ++number)
            if (has_source_[number]) all.emplace_back(address(2, source(number)));
        for (const auto& [id, object] : nexthops_)
            all.emplace_back(as_dumped(object));
        for (const auto& [place, route] : routes_)
            all.emplace_back(as_dumped(route));
        all.emplace_back(ResyncEnd{});
        return all;
    }

    /// The next piece of a comparison's dump, as it is now. Empty: there is no more.
    struct Cursor {
        ComparedKind kind = ComparedKind::nexthops;
        uint32_t id = 0;
        std::optional<std::pair<Prefix, uint32_t>> place;
    };
    std::vector<Compared> piece(Cursor& at) {
        std::vector<Compared> out;
        const unsigned most = 1 + below(4);
        if (at.kind == ComparedKind::nexthops) {
            for (auto object = nexthops_.upper_bound(at.id); object != nexthops_.end() && out.size() < most;
                 ++object) {
                out.push_back({as_dumped(object->second)});
                at.id = object->first;
            }
            return out;
        }
        const bool v4 = at.kind == ComparedKind::ipv4;
        for (auto route = at.place ? routes_.upper_bound(*at.place) : routes_.begin();
             route != routes_.end() && out.size() < most; ++route) {
            at.place = route->first;
            if (route->first.first.address.is_v4() == v4) out.push_back({as_dumped(route->second)});
        }
        return out;
    }

    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }

  private:
    using Routes = std::map<std::pair<Prefix, uint32_t>, RouteEvent>;
    static constexpr std::array<uint32_t, 3> devices{2, 3, 4};
    static constexpr unsigned sources = 4;  ///< two of IPv4, two of IPv6

    template <class Event>
    static Event as_dumped(Event event) {
        event.dumped = true;
        if constexpr (std::is_same_v<Event, RouteEvent>) event.creates = event.exclusive = false;
        return event;
    }
    static InterfaceAddress base_of(uint32_t ifindex) {
        return *InterfaceAddress::parse("10." + std::to_string(ifindex) + ".0.1/24");
    }
    static InterfaceAddress source(unsigned number) {
        const std::string last = std::to_string(number + 1);
        return *InterfaceAddress::parse(number < 2 ? "10.2.0.7" + last + "/24"
                                                   : "2001:db8:9::" + last + "/64");
    }
    LinkEvent link(uint32_t ifindex) const {
        LinkEvent event;
        event.ifindex = ifindex;
        event.name = "eth" + std::to_string(ifindex);
        event.admin_up = event.running = event.up = up_.at(ifindex);
        return event;
    }
    static AddressEvent address(uint32_t ifindex, const InterfaceAddress& address) {
        AddressEvent event;
        event.ifindex = ifindex;
        event.address = address;
        return event;
    }
    template <class Event>
    void tell(Event event, bool removed = false) {
        event.removed = removed;
        events.emplace_back(std::move(event));
    }
    uint32_t one_of_devices() { return devices[below(3)]; }
    Routes::iterator some_route() {
        return routes_.empty() ? routes_.end()
                               : std::next(routes_.begin(), below(static_cast<unsigned>(routes_.size())));
    }
    KernelNextHop hop(uint32_t ifindex, bool v4) {
        return {ifindex,
                *IpAddress::parse((v4 ? "10." + std::to_string(ifindex) + ".0." : "2001:db8::") +
                                  std::to_string(2 + below(3))),
                1, false};
    }

    /// By devices that are up, or to nowhere; with a source that is there, now and then.
    RouteEvent new_route() {
        RouteEvent route;
        const bool v4 = below(2) == 0;
        const std::string number = std::to_string(below(40));
        route.prefix = *Prefix::parse(v4 ? "192.0." + number + ".0/24" : "2001:db8:1" + number + "::/48");
        route.table = RT_TABLE_MAIN;
        route.protocol = RTPROT_STATIC;
        route.type = RTN_UNICAST;
        route.metric = 10 + below(2);
        std::vector<uint32_t> usable;
        for (const uint32_t ifindex : devices)
            if (up_.at(ifindex)) usable.push_back(ifindex);
        const unsigned way = usable.empty() ? 0 : below(6);
        const auto object = nexthops_.find(1 + below(3));
        if (way == 0) {
            route.type = RTN_BLACKHOLE;
        } else if (way == 1 && object != nexthops_.end() && object->second.next_hop.gateway->is_v4() == v4) {
            route.nexthop_id = object->first;
            route.next_hops = {object->second.next_hop};
        } else if (way == 2 && usable.size() > 1) {
            route.next_hops = {hop(usable[0], v4), hop(usable[1], v4)};
        } else {
            route.next_hops = {hop(usable[below(static_cast<unsigned>(usable.size()))], v4)};
        }
        const unsigned from = (v4 ? 0 : 2) + below(2);
        if (below(3) == 0 && has_source_[from]) route.source = source(from).address;
        return route;
    }
    void set_route() {
        RouteEvent route = new_route();
        const std::pair place{route.prefix, route.metric};
        const bool there = routes_.contains(place);
        routes_[place] = route;
        route.creates = route.exclusive = !there;
        route.replaces = there;
        tell(route);
    }
    void remove_route(Routes::iterator place) {
        if (place == routes_.end()) return;
        tell(place->second, true);
        routes_.erase(place);
    }
    template <class Is>
    void lose_routes(Is is) {
        std::erase_if(routes_, [&](const auto& entry) { return is(entry.second); });
    }
    void set_link(uint32_t ifindex, bool up) {
        if (std::exchange(up_.at(ifindex), up) == up) return;
        const auto by_device = [&](const KernelNextHop& hop) { return hop.ifindex == ifindex; };
        if (!up) {
            std::vector<uint32_t> gone;
            for (const auto& [id, object] : nexthops_)
                if (by_device(object.next_hop)) gone.push_back(id);
            for (const uint32_t id : gone)
                lose_nexthop(id);
        }
        for (auto& [place, route] : routes_)
            for (auto& hop : route.next_hops)
                if (by_device(hop)) hop.dead = !up;
        lose_routes([](const RouteEvent& route) {
            return !route.next_hops.empty() && std::all_of(route.next_hops.begin(), route.next_hops.end(),
                                                           [](auto& hop) { return hop.dead; });
        });
        tell(link(ifindex));
    }
    void set_source(unsigned number, bool there) {
        if (std::exchange(has_source_[number], there) == there) return;
        const IpAddress gone = source(number).address;
        if (!there && gone.is_v4())
            lose_routes([&](const RouteEvent& route) { return route.source == gone; });
        for (auto& [place, route] : routes_)
            if (!there && route.source == gone) route.source.reset();
        tell(address(2, source(number)), !there);
    }
    void set_nexthop(uint32_t id) {
        const uint32_t ifindex = one_of_devices();
        if (nexthops_.contains(id) || !up_.at(ifindex)) return;
        NextHopEvent object;
        object.id = id;
        object.next_hop = hop(ifindex, below(2) == 0);
        nexthops_[id] = object;
        tell(object);
    }
    void remove_nexthop(uint32_t id) {
        const auto object = nexthops_.find(id);
        if (object == nexthops_.end()) return;
        tell(object->second, true);
        lose_nexthop(id);
    }
    void lose_nexthop(uint32_t id) {
        lose_routes([id](const RouteEvent& route) { return route.nexthop_id == id; });
        nexthops_.erase(id);
    }

    std::mt19937 random_;
    std::map<uint32_t, bool> up_{{2, true}, {3, true}, {4, true}};
    std::array<bool, sources> has_source_{true, true, true, true};
    Routes routes_;
    std::map<uint32_t, NextHopEvent> nexthops_;
};

}  // namespace pktpit::router::test
