// SPDX-License-Identifier: BSD-3-Clause
/// The routes that zebra has sent by FPM, one of each prefix, and the next-hop objects that they point to.
/// Pure; one thread.
///
/// Routes of equal next hops share a *body*, and a changed next-hop object changes its bodies, not its
/// routes: the listener is told once, however many prefixes there are.
///
/// zebra sends everything anew when it connects and does not say when it is done. So each connection is an
/// epoch: what a former one has said stays (*stale*) until it is said again, removed, or swept. Numbers of
/// next-hop objects mean something within an epoch only, since a new zebra counts from the beginning.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "fib/parted_map.h"
#include "router/fpm/fpm_updates.h"
#include "router/kernel/kernel.h"
#include "router/kernel/kernel_listener.h"

namespace pktpit::router {

using FpmBodyId = uint32_t;

class FpmTable : public FpmUpdates::Receiver {
  public:
    class Listener {
      public:
        virtual ~Listener() = default;
        /// Before the first route that has it.
        virtual void body_made(FpmBodyId body) = 0;
        /// resolve() says something else of it.
        virtual void body_changed(FpmBodyId body) = 0;
        /// After the last. The id is used again.
        virtual void body_gone(FpmBodyId body) = 0;
        /// New, or replaces what it had.
        virtual void route_set(const Prefix& prefix, FpmBodyId body, uint32_t metric) = 0;
        virtual void route_removed(const Prefix& prefix) = 0;
        /// Of a route that is set: the router cannot do it, and leaves its packets to the kernel. `why` is a
        /// constant.
        virtual void route_is_kernels(const Prefix& prefix, const char* why) = 0;
        /// Is it the device of one of the router's interfaces?
        [[nodiscard]] virtual bool is_routers(uint32_t ifindex) const = 0;
    };

    /// Routes of other tables are ignored.
    FpmTable(Listener& listener, uint32_t table) : listener_(listener), table_(table) {}
    void set_table(uint32_t table) { table_ = table; }
    [[nodiscard]] uint32_t kernel_table() const { return table_; }

    void route(const RouteEvent& event) override;
    void next_hop(const NextHopEvent& event) override;

    /// From now on all that there is is stale.
    void begin_epoch();
    /// Removes stale routes until `go_on` says no, which it is asked every so often. True: all are gone.
    bool sweep(const std::function<bool()>& go_on);
    /// Tells all routes that there are now again, after begin_repeat(), until `go_on` says no. True: done.
    bool repeat(const std::function<bool()>& go_on);
    void begin_repeat();

    /// Where its routes lead, as KernelRoute has it: next-hop objects resolved. Without next hops a unicast
    /// route leads nowhere, or, if it is `unsupported`, to the kernel.
    [[nodiscard]] KernelRoute resolve(FpmBodyId body) const;
    /// RTPROT_* of the route of exactly this prefix.
    [[nodiscard]] std::optional<uint8_t> protocol_of(const Prefix& prefix) const;
    [[nodiscard]] size_t routes(Family family) const {
        return family == Family::ipv4 ? table4_.slots.size() : table6_.slots.size();
    }
    [[nodiscard]] size_t routes() const { return table4_.slots.size() + table6_.slots.size(); }
    /// Computed.
    [[nodiscard]] size_t memory_bytes() const { return bytes_of(table4_) + bytes_of(table6_); }
    [[nodiscard]] size_t stale() const { return stale_; }
    [[nodiscard]] size_t next_hops() const { return objects_.size(); }
    [[nodiscard]] std::vector<FpmBodyId> bodies() const;
    /// How many routes of former epochs have been said again: grows as long as zebra repeats its table.
    [[nodiscard]] uint64_t repeated() const { return repeated_; }
    /// What a route was ignored for: another table, connected nets, prefixes that are never forwarded.
    [[nodiscard]] size_t ignored() const { return ignored_; }

  private:
    struct BodyKey {
        uint32_t epoch = 0;  ///< of `nexthop_id`; 0 without
        uint32_t nexthop_id = 0;
        uint8_t type = 0;
        std::vector<KernelNextHop> next_hops;
        uint32_t mtu = 0;
        bool unsupported = false;  ///< nothing else counts then
        bool operator==(const BodyKey&) const = default;
    };
    struct BodyKeyHash {
        size_t operator()(const BodyKey& key) const;
    };
    struct Body {
        const BodyKey* key = nullptr;  ///< in bodies_
        uint32_t uses = 0;
    };
    template <class Key>
    struct Slot {
        Key key;
        FpmBodyId body = 0;
        uint32_t metric = 0;
        uint16_t epoch = 0;
        uint8_t protocol = 0;
    };
    /// Dense, so that a sweep can go through it piece by piece while it changes.
    template <class Key>
    struct Table {
        std::deque<Slot<Key>> slots;
        fib::PartedMap<Key, uint32_t> places;
        // Slots before these have not been looked at since begin_epoch(), begin_repeat(). Downwards, since
        // what is erased is replaced by the last, which has been looked at.
        size_t unswept = 0;
        size_t unrepeated = 0;
    };
    template <class Key>
    static size_t bytes_of(const Table<Key>& table) {
        return table.slots.size() * sizeof(Slot<Key>) + table.places.memory_bytes();
    }
    using Objects = std::unordered_map<uint32_t, NextHopEvent>;

    template <class Key>
    void set(Table<Key>& table, const RouteEvent& event);
    template <class Key>
    void erase(Table<Key>& table, const Prefix& prefix);
    template <class Key>
    void erase_at(Table<Key>& table, size_t place);
    template <class Key, class Look>
    static bool look_down(Table<Key>& table, size_t& cursor, const Look& look,
                          const std::function<bool()>& go_on);
    void remove(const Prefix& prefix);
    [[nodiscard]] const char* why_not(const RouteEvent& event) const;
    FpmBodyId acquire(BodyKey key);
    void release(FpmBodyId body);
    void tell_changed(uint32_t nexthop_id);
    [[nodiscard]] const Objects* objects_of(uint32_t epoch) const;

    [[nodiscard]] bool is_foreign_net(const RouteEvent& event) const;

    Listener& listener_;
    uint32_t table_;
    uint32_t epoch_ = 1;
    size_t stale_ = 0;
    uint64_t repeated_ = 0;
    size_t ignored_ = 0;
    Table<fib::PrefixKey4> table4_;
    Table<fib::PrefixKey6> table6_;
    std::unordered_map<BodyKey, FpmBodyId, BodyKeyHash> bodies_;
    std::vector<Body> slots_ = std::vector<Body>(1);  ///< by id; 0 is none
    std::vector<FpmBodyId> free_;
    Objects objects_;                             ///< of this epoch
    std::map<uint32_t, Objects> former_objects_;  ///< of epochs with routes that have not been swept
    std::unordered_map<uint32_t, std::vector<FpmBodyId>> users_;  ///< of objects of this epoch: bodies
    std::unordered_map<uint32_t, std::vector<uint32_t>> groups_;  ///< the same: groups with the member
};

}  // namespace pktpit::router
