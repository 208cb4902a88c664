// SPDX-License-Identifier: BSD-3-Clause
/// The kernel's routes of one table, as the kernel has them: several for a prefix, by metric and order; and
/// which of them counts. Follows what the kernel does without telling: routes that vanish with a device, an
/// address or a nexthop object. Used by KernelState alone; one thread; pure.
///
/// What follows from one device for a million prefixes is told in turns (settle()). Between two of them the
/// listener knows of each prefix either what counted before or what counts now: never anything else, and
/// never a removal of what is replaced. Events are told at once all the while, whatever turns are yet to
/// come.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <unordered_map>
#include <vector>

#include "router/kernel/kernel.h"
#include "router/kernel/kernel_listener.h"
#include "router/kernel/route_bodies.h"
#include "router/kernel/route_comparison.h"
#include "router/kernel/route_entries.h"

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
    /// It is up, but for that: whether its next hops are dead a dump does not say.
    void set_without_carrier(uint32_t ifindex, bool without);
    /// IPv4 multipath routes go whole with any of their devices; IPv6 ones lose the next hop.
    void device_removed(uint32_t ifindex);
    /// IPv4 routes with this preferred source go.
    void source_removed(const IpAddress& address);

    /// Tells the listener what followed from the calls above, from nexthop objects and from a resync, by a
    /// walk over all prefixes, and only if there is something. Not during a resync. True: there is more to
    /// tell.
    bool settle(Turn& turn);
    void begin_resync();
    /// What the dump did not mention is gone, if it was complete: settle() tells.
    void end_resync(bool complete);

    /// A comparison with the kernel: what differs is put right and told, by these or by settle(), and
    /// listener.compared() ends it. What events change meanwhile is not judged. Not during a resync, which
    /// breaks it off.
    void begin_comparison();
    void compare(const Compared& compared);
    void end_piece(bool last);
    void compared_all(const ComparedAll& all);
    void end_comparison();

    /// What counts for a prefix.
    [[nodiscard]] std::optional<KernelRoute> find(const Prefix& prefix) const;
    [[nodiscard]] size_t prefixes() const { return entries4_.size() + entries6_.size(); }
    [[nodiscard]] size_t memory_bytes() const { return entries4_.memory_bytes() + entries6_.memory_bytes(); }
    /// Prefixes that a walk under way has not come to.
    [[nodiscard]] size_t unsettled() const;
    [[nodiscard]] size_t nexthops() const { return nexthops_.size(); }
    /// Every prefix with the route that counts; in no order.
    using Visit = std::function<void(const Prefix&, const KernelRoute&)>;
    void for_each(const Visit& visit) const;
    /// The same in turns: from the cursor on, which is left where it stopped. True: there is more. What is
    /// added meanwhile may be left out, since the listener is told of it.
    struct Cursor {
        uint32_t next4 = 0;
        uint32_t next6 = 0;
    };
    bool for_each(const Visit& visit, Cursor& cursor, Turn& turn) const;
    /// So every prefix of which the listener knows a route.
    bool for_each_told(const std::function<void(const Prefix&)>& visit, Cursor& cursor, Turn& turn) const;

  private:
    using BodyId = RouteBodies::Id;
    using Alternative = RouteAlternative;
    using Alternatives = RouteAlternatives;
    struct NextHop {
        NextHopEvent object;
        uint32_t generation = 0;
    };

    RouteBody body_of(const RouteEvent& event) const;
    void insert(Alternatives& alternatives, const RouteEvent& event);
    void erase(Alternatives& alternatives, const RouteEvent& event);
    template <class Unwanted>
    void drop(Alternatives& alternatives, Unwanted unwanted);
    Alternatives::iterator find_same(Alternatives& alternatives, uint32_t metric, const RouteBody& body);
    Alternatives::iterator find_replaced(Alternatives& alternatives, uint32_t metric, const RouteBody& body);
    void set_body(Alternative& alternative, RouteBody body);
    [[nodiscard]] const Alternative* best(const Alternatives& alternatives) const;
    template <class Entry>
    [[nodiscard]] std::optional<KernelRoute> what_counts(const Entry& entry) const;
    [[nodiscard]] KernelRoute resolve(const Alternative& alternative) const;
    [[nodiscard]] bool usable(BodyId body) const;
    void collect(uint32_t id, uint32_t weight, KernelRoute& route) const;
    template <class Key>
    void apply(RouteEntries<Key>& entries, const RouteEvent& event);
    /// Of the entry's `alternatives` as they are now, which it stores; erases it where nothing is left.
    template <class Key>
    void tell(RouteEntries<Key>& entries, RouteEntry<Key>& entry, Alternatives& alternatives);
    template <class Key>
    bool settle(RouteEntries<Key>& entries, uint32_t& next, Turn& turn);
    template <class Entries, class VisitEntry>
    static bool walk(const Entries& entries, uint32_t& next, Turn& turn, VisitEntry visit);
    [[nodiscard]] bool is_stale(const Alternative& alternative) const {
        return alternative.generation < valid_from_;
    }
    void remove_nexthop(uint32_t id);
    // route_comparison.cpp
    void compare(const NextHopEvent& object);
    void compare(const RouteEvent& route);
    void judge_group();
    template <class Key>
    void judge(RouteEntries<Key>& entries, const RouteComparison::Group& group);
    void release(Alternatives& alternatives);
    RouteBody body_found(const RouteEvent& event, const Alternatives& known) const;
    [[nodiscard]] bool differs(const Alternatives& known, const Alternatives& found) const;
    [[nodiscard]] bool dump_leaves_out(const Alternatives& known) const;
    [[nodiscard]] bool is_touched(const Prefix& prefix) const;
    [[nodiscard]] bool is_touched(uint32_t nexthop) const;
    void touch(const Prefix& prefix);
    void touch(uint32_t nexthop);
    bool settle_comparison(Turn& turn);
    template <class Key>
    bool settle_missing(RouteEntries<Key>& entries, RouteComparison::Missing& missing, Turn& turn);

    RouteFilter filter_;
    KernelListener& listener_;
    RouteBodies bodies_;
    RouteEntries<fib::PrefixKey4> entries4_;
    RouteEntries<fib::PrefixKey6> entries6_;
    std::unordered_map<uint32_t, NextHop> nexthops_;
    std::set<uint32_t> without_carrier_;  ///< devices
    uint32_t generation_ = 0;
    bool resyncing_ = false;
    uint32_t valid_from_ = 0;  ///< what is of an older generation, a complete dump has left out: it is gone
    bool walking_ = false;     ///< there is something to tell, from `walk_` on
    bool again_ = false;       ///< and then from the beginning
    Cursor walk_;
    std::unique_ptr<RouteComparison> comparison_;  ///< under way
    mutable Alternatives scratch_;  ///< of the entry that is worked at; here, since it is of every event
};

}  // namespace pktpit::router
