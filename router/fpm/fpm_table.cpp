// SPDX-License-Identifier: BSD-3-Clause
#include "router/fpm/fpm_table.h"

#include <linux/rtnetlink.h>

#include <algorithm>

namespace pktpit::router {
namespace {

/// How many slots are looked at between two questions to `go_on`.
constexpr size_t slots_a_question = 64;

void add_once(std::vector<uint32_t>& list, uint32_t value) {
    if (std::ranges::find(list, value) == list.end()) list.push_back(value);
}

}  // namespace

size_t FpmTable::BodyKeyHash::operator()(const BodyKey& key) const {
    size_t hash = (size_t{key.epoch} << 32 | key.nexthop_id) * 0x9e3779b97f4a7c15U + key.type +
                  (key.unsupported ? size_t{1} << 16 : 0);
    const auto mix = [&hash](size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15U + (hash >> 29); };
    if (key.mtu != 0) mix(key.mtu);
    for (const KernelNextHop& hop : key.next_hops) {
        mix(size_t{hop.ifindex} << 16 | hop.weight);
        if (hop.gateway) mix(std::hash<IpAddress>{}(*hop.gateway));
    }
    return hash;
}

/// Why the router cannot do it itself; null: it can.
const char* FpmTable::why_not(const RouteEvent& event) const {
    if (event.unsupported) return "encapsulates, which Pktpit does not";
    switch (event.type) {
        case RTN_UNICAST:
        case RTN_BLACKHOLE:
        case RTN_UNREACHABLE:
        case RTN_PROHIBIT:
            return nullptr;
        default:
            return "is of a type that Pktpit does not have";
    }
}

void FpmTable::route(const RouteEvent& event) {
    const Prefix& prefix = event.prefix;
    if (event.table != table_) {
        ignored_++;
        return;
    }
    if (event.removed) return remove(prefix);
    // zebra repeats the kernel's own routes. Those of the router's interfaces follow from addresses; what its
    // best route was before is gone all the same.
    const bool kernels = event.protocol == RTPROT_KERNEL && !is_foreign_net(event);
    const bool never_forwarded =
        prefix.address.is_multicast() || (prefix.length > 0 && prefix.address.is_link_local());
    if (kernels || never_forwarded) {
        ignored_++;
        return remove(prefix);
    }
    if (prefix.address.family == Family::ipv4)
        set(table4_, event);
    else
        set(table6_, event);
    if (const char* why = why_not(event)) listener_.route_is_kernels(prefix, why);
}

/// A net of a device that is none of the router's: the kernel has its packets.
bool FpmTable::is_foreign_net(const RouteEvent& event) const {
    if (event.type != RTN_UNICAST || event.prefix.address.is_loopback()) return false;
    if (event.nexthop_id == 0)
        return !event.next_hops.empty() && std::ranges::none_of(event.next_hops, [&](const auto& hop) {
            return listener_.is_routers(hop.ifindex);
        });
    const auto object = objects_.find(event.nexthop_id);
    return object != objects_.end() && object->second.members.empty() && !object->second.blackhole &&
           !listener_.is_routers(object->second.next_hop.ifindex);
}

void FpmTable::remove(const Prefix& prefix) {
    if (prefix.address.family == Family::ipv4)
        erase(table4_, prefix);
    else
        erase(table6_, prefix);
}

template <class Key>
void FpmTable::set(Table<Key>& table, const RouteEvent& event) {
    BodyKey wanted{event.nexthop_id != 0 ? epoch_ : 0, event.nexthop_id, event.type, {}, event.mtu};
    if (event.nexthop_id == 0) wanted.next_hops = event.next_hops;
    if (why_not(event)) wanted = {0, 0, RTN_UNICAST, {}, 0, true};
    const FpmBodyId body = acquire(std::move(wanted));
    const Key key = Key::of(event.prefix);
    const auto now = static_cast<uint16_t>(epoch_);
    const auto [place, is_new] = table.places.try_add(key, static_cast<uint32_t>(table.slots.size()));
    if (is_new) {
        table.slots.push_back({key, body, event.metric, now, event.protocol});
        return listener_.route_set(event.prefix, body, event.metric);
    }
    Slot<Key>& slot = table.slots[*place];
    if (slot.epoch != now) {
        stale_--;
        repeated_++;
    }
    const FpmBodyId before = std::exchange(slot.body, body);
    const uint32_t metric_before = std::exchange(slot.metric, event.metric);
    slot.epoch = now;
    slot.protocol = event.protocol;
    if (before != body || metric_before != event.metric)
        listener_.route_set(event.prefix, body, event.metric);
    release(before);
}

template <class Key>
void FpmTable::erase(Table<Key>& table, const Prefix& prefix) {
    if (const uint32_t* place = table.places.find(Key::of(prefix))) erase_at(table, *place);
}

template <class Key>
void FpmTable::erase_at(Table<Key>& table, size_t place) {
    const Slot<Key> gone = table.slots[place];
    if (gone.epoch != static_cast<uint16_t>(epoch_)) stale_--;
    table.places.erase(gone.key);
    if (place + 1 != table.slots.size()) {
        table.slots[place] = table.slots.back();
        *table.places.find(table.slots[place].key) = static_cast<uint32_t>(place);
    }
    table.slots.pop_back();
    if (table.slots.empty()) table.places = {};  // whose memory was a full table's
    listener_.route_removed(gone.key.prefix());
    release(gone.body);
}

void FpmTable::begin_epoch() {
    if (!objects_.empty()) former_objects_.emplace(epoch_, std::move(objects_));
    objects_.clear();
    users_.clear();
    groups_.clear();
    epoch_++;
    stale_ = routes();
    table4_.unswept = table4_.slots.size();
    table6_.unswept = table6_.slots.size();
}

template <class Key, class Look>
bool FpmTable::look_down(Table<Key>& table, size_t& cursor, const Look& look,
                         const std::function<bool()>& go_on) {
    cursor = std::min(cursor, table.slots.size());
    for (size_t seen = 1; cursor > 0; seen++) {
        look(--cursor);
        if (seen % slots_a_question == 0 && !go_on()) return false;
    }
    return true;
}

bool FpmTable::sweep(const std::function<bool()>& go_on) {
    const auto sweep_in = [&](auto& table) {
        const auto look = [&](size_t place) {
            if (table.slots[place].epoch != static_cast<uint16_t>(epoch_)) erase_at(table, place);
        };
        return look_down(table, table.unswept, look, go_on);
    };
    if (!sweep_in(table4_) || !sweep_in(table6_)) return false;
    former_objects_.clear();
    return true;
}

void FpmTable::begin_repeat() {
    table4_.unrepeated = table4_.slots.size();
    table6_.unrepeated = table6_.slots.size();
}

bool FpmTable::repeat(const std::function<bool()>& go_on) {
    const auto repeat_in = [&](auto& table) {
        const auto look = [&](size_t place) {
            const auto& slot = table.slots[place];
            listener_.route_set(slot.key.prefix(), slot.body, slot.metric);
        };
        return look_down(table, table.unrepeated, look, go_on);
    };
    return repeat_in(table4_) && repeat_in(table6_);
}

FpmBodyId FpmTable::acquire(BodyKey key) {
    const auto [entry, is_new] = bodies_.try_emplace(std::move(key), 0);
    if (!is_new) {
        slots_[entry->second].uses++;
        return entry->second;
    }
    if (free_.empty()) {
        entry->second = static_cast<FpmBodyId>(slots_.size());
        slots_.emplace_back();
    } else {
        entry->second = free_.back();
        free_.pop_back();
    }
    slots_[entry->second] = {&entry->first, 1};
    if (const uint32_t id = entry->first.nexthop_id) users_[id].push_back(entry->second);
    listener_.body_made(entry->second);
    return entry->second;
}

void FpmTable::release(FpmBodyId body) {
    if (--slots_[body].uses > 0) return;
    listener_.body_gone(body);
    const BodyKey& key = *slots_[body].key;
    if (key.nexthop_id != 0 && key.epoch == epoch_) {
        const auto users = users_.find(key.nexthop_id);
        std::erase(users->second, body);
        if (users->second.empty()) users_.erase(users);
    }
    bodies_.erase(bodies_.find(key));
    slots_[body] = {};
    free_.push_back(body);
}

void FpmTable::next_hop(const NextHopEvent& event) {
    const auto forget_members = [this](const NextHopEvent& group) {
        for (const auto& member : group.members)
            if (const auto of = groups_.find(member.id); of != groups_.end()) {
                std::erase(of->second, group.id);
                if (of->second.empty()) groups_.erase(of);
            }
    };
    const auto known = objects_.find(event.id);
    if (known != objects_.end()) forget_members(known->second);
    if (event.removed) {
        if (known == objects_.end()) return;
        objects_.erase(known);
    } else {
        objects_.insert_or_assign(event.id, event);
        for (const auto& member : event.members)
            add_once(groups_[member.id], event.id);
    }
    tell_changed(event.id);
    if (const auto of = groups_.find(event.id); of != groups_.end())
        for (const uint32_t group : of->second)
            tell_changed(group);
}

void FpmTable::tell_changed(uint32_t nexthop_id) {
    if (const auto users = users_.find(nexthop_id); users != users_.end())
        for (const FpmBodyId body : users->second)
            listener_.body_changed(body);
}

const FpmTable::Objects* FpmTable::objects_of(uint32_t epoch) const {
    if (epoch == epoch_) return &objects_;
    const auto former = former_objects_.find(epoch);
    return former == former_objects_.end() ? nullptr : &former->second;
}

KernelRoute FpmTable::resolve(FpmBodyId body) const {
    const BodyKey& key = *slots_[body].key;
    KernelRoute route;
    route.type = key.type;
    if (key.type != RTN_UNICAST) return route;
    route.mtu = key.mtu;
    route.unsupported = key.unsupported;
    if (key.nexthop_id == 0) {
        route.next_hops = key.next_hops;
        return route;
    }
    const Objects* objects = objects_of(key.epoch);
    if (!objects) return route;
    const auto collect = [&](uint32_t id, uint16_t weight) {
        const auto found = objects->find(id);
        if (found == objects->end() || !found->second.members.empty()) return;
        const NextHopEvent& object = found->second;
        route.unsupported |= object.unsupported;
        if (object.blackhole) {
            route.type = RTN_BLACKHOLE;
            return;
        }
        KernelNextHop hop = object.next_hop;
        hop.weight = weight;
        if (!object.unsupported) route.next_hops.push_back(hop);
    };
    const auto object = objects->find(key.nexthop_id);
    if (object == objects->end()) return route;
    if (object->second.members.empty()) collect(key.nexthop_id, 1);
    for (const auto& member : object->second.members)
        collect(member.id, member.weight);
    // Packets have somewhere to go: a member that discards takes no part.
    if (!route.next_hops.empty()) route.type = RTN_UNICAST;
    return route;
}

std::optional<uint8_t> FpmTable::protocol_of(const Prefix& prefix) const {
    const auto in = [](const auto& table, const auto& key) -> std::optional<uint8_t> {
        const uint32_t* place = table.places.find(key);
        if (!place) return std::nullopt;
        return table.slots[*place].protocol;
    };
    return prefix.address.family == Family::ipv4 ? in(table4_, fib::PrefixKey4::of(prefix))
                                                 : in(table6_, fib::PrefixKey6::of(prefix));
}

std::vector<FpmBodyId> FpmTable::bodies() const {
    std::vector<FpmBodyId> ids;
    for (const auto& [key, id] : bodies_)
        ids.push_back(id);
    return ids;
}

}  // namespace pktpit::router
