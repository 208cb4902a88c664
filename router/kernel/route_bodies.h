// SPDX-License-Identifier: BSD-3-Clause
/// What routes have in common, kept once: a full table has a million prefixes and a few thousand distinct
/// sets of next hops. Used by RouteTable alone; one thread; knows nothing of prefixes.
///
/// A body is edited where it lies when a device goes down or comes up, for all of its routes at once, as the
/// kernel does; the table then scans its prefixes once for a whole batch of such events.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "router/kernel/kernel.h"

namespace pktpit::router {

struct RouteBody {
    Family family = Family::ipv4;
    uint8_t protocol = 0;
    uint8_t type = 0;
    uint8_t scope = 0;
    uint8_t preference = 0;
    bool unsupported = false;
    uint32_t nexthop_id = 0;
    std::optional<IpAddress> source;  ///< of IPv4 alone
    std::vector<KernelNextHop>
        next_hops;     ///< as the route said them; empty where a known nexthop object says them
    uint32_t mtu = 0;  ///< as RouteEvent has it

    bool operator==(const RouteBody&) const = default;
    /// The same route, whether or not one of its devices is down just now.
    [[nodiscard]] bool same_route(const RouteBody& other) const;
    /// May be one of several next hops that the kernel merges into one IPv6 route (rt6_qualify_for_ecmp()).
    [[nodiscard]] bool merges() const;
    /// Some next hops are gone. Of one alone the kernel tells no weight.
    void forget_weight_of_one() {
        if (next_hops.size() == 1) next_hops.front().weight = 1;
    }
    /// The same route, and nothing about it differs.
    [[nodiscard]] bool same_in_all(const RouteBody& other) const;
};

class RouteBodies {
  public:
    using Id = uint32_t;
    static constexpr Id none = 0;  ///< no body; so that a zeroed table entry holds nothing

    /// The id of an equal body, new or old, with one more use.
    Id acquire(RouteBody body);
    Id share(Id id);
    void release(Id id);
    const RouteBody& operator[](Id id) const { return slots_[id].body; }
    /// The kernel dropped every route with this body, without a word.
    [[nodiscard]] bool is_gone(Id id) const { return slots_[id].gone; }
    /// Edited since the last clear_changed(), or marked with touch().
    [[nodiscard]] bool is_changed(Id id) const { return slots_[id].changed; }
    /// Some have been edited since the last call of this.
    [[nodiscard]] bool take_news() { return std::exchange(news_, false); }
    void clear_changed();
    /// How often for_each() has been called.
    [[nodiscard]] uint64_t edits() const { return edits_; }
    [[nodiscard]] size_t size() const { return index_.size(); }

    enum class Edit : uint8_t { keep, touch, changed, gone };
    /// Lets `edit` look at, and change, every body in use. touch: something that it refers to has changed.
    void for_each(const std::function<Edit(RouteBody&)>& edit);

  private:
    struct Slot {
        RouteBody body;
        uint32_t uses = 0;
        bool gone = false;
        bool changed = false;
    };
    struct Hash {
        size_t operator()(const RouteBody& body) const;
    };
    void forget(Id id);

    std::vector<Slot> slots_ = std::vector<Slot>(1);
    std::vector<Id> free_;
    std::unordered_map<RouteBody, Id, Hash> index_;
    bool news_ = false;
    uint64_t edits_ = 0;
};

}  // namespace pktpit::router
