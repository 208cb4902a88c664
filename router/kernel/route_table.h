// SPDX-License-Identifier: BSD-3-Clause
/// The kernel's routes of one table, as the kernel has them: several for a prefix, by metric and order; and
/// which of them counts. Follows what the kernel does without telling: routes that vanish with a device, an
/// address or a nexthop object. Used by KernelState alone; one thread; pure.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "router/kernel/kernel.h"
#include "router/kernel/kernel_listener.h"
#include "router/kernel/route_bodies.h"

namespace pktpit::router {

class RouteTable {
  public:
    RouteTable(RouteFilter filter, KernelListener& listener)
        : filter_(std::move(filter)), listener_(listener) {}

    void apply(const RouteEvent& event);
    void apply(const NextHopEvent& event);

    /// IFF_UP was cleared (or, for IPv4, the last address went): routes with no other device go, next hops of
    /// multipath routes become dead.
    void device_down(uint32_t ifindex, Family family);
    /// Dead next hops of the device live again.
    void device_up(uint32_t ifindex, Family family);
    /// No carrier: the kernel drops the device's nexthop objects, and with them their routes.
    void carrier_lost(uint32_t ifindex);
    /// IPv4 multipath routes go whole with any of their devices; IPv6 ones lose the next hop.
    void device_removed(uint32_t ifindex);
    /// IPv4 routes with this preferred source go.
    void source_removed(const IpAddress& address);

    /// Tells the listener what followed from the calls above, and from nexthop objects: one scan of the
    /// table, and only if there is something. Not during a resync.
    void settle();
    void begin_resync();
    /// Drops what the dump did not mention, and tells the listener every difference.
    void end_resync();

    /// What counts for a prefix.
    [[nodiscard]] std::optional<KernelRoute> find(const Prefix& prefix) const;
    [[nodiscard]] size_t prefixes() const { return entries_.size(); }
    [[nodiscard]] size_t nexthops() const { return nexthops_.size(); }
    /// Every prefix with the route that counts; in no order.
    void for_each(const std::function<void(const Prefix&, const KernelRoute&)>& visit) const;

  private:
    using BodyId = RouteBodies::Id;
    struct Alternative {
        uint32_t metric = 0;
        BodyId body = RouteBodies::none;
        uint32_t generation = 0;
    };
    struct Entry {
        std::vector<Alternative> alternatives;  ///< of one metric: in the kernel's order
        uint32_t told_metric = 0;
        BodyId told = RouteBodies::none;  ///< what the listener knows; held
    };
    struct NextHop {
        NextHopEvent object;
        uint32_t generation = 0;
    };
    using Alternatives = std::vector<Alternative>;

    RouteBody body_of(const RouteEvent& event) const;
    void insert(Alternatives& alternatives, const RouteEvent& event);
    void erase(Alternatives& alternatives, const RouteEvent& event);
    template <class Unwanted>
    void drop(Alternatives& alternatives, Unwanted unwanted);
    Alternatives::iterator find_same(Alternatives& alternatives, uint32_t metric, const RouteBody& body);
    Alternatives::iterator find_replaced(Alternatives& alternatives, uint32_t metric, const RouteBody& body);
    void set_body(Alternative& alternative, RouteBody body);
    [[nodiscard]] const Alternative* best(const Entry& entry) const;
    [[nodiscard]] KernelRoute resolve(const Alternative& alternative) const;
    [[nodiscard]] bool usable(BodyId body) const;
    void collect(uint32_t id, uint32_t weight, KernelRoute& route) const;
    /// False: the entry is empty and may be erased.
    bool tell(const Prefix& prefix, Entry& entry);
    void remove_nexthop(uint32_t id);

    RouteFilter filter_;
    KernelListener& listener_;
    RouteBodies bodies_;
    std::unordered_map<Prefix, Entry> entries_;
    std::unordered_map<uint32_t, NextHop> nexthops_;
    uint32_t generation_ = 0;
    bool resyncing_ = false;
};

}  // namespace pktpit::router
