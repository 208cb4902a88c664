// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/neighbour_queue.h"

#include <algorithm>
#include <utility>

namespace pktpit::router {

/// Takes a packet out of everything but the turns.
WaitingPacket NeighbourQueue::remove(Neighbour& neighbour,
                                     const std::deque<Order::iterator>::iterator& place) {
    const Order::iterator node = *place;
    WaitingPacket packet = std::move(node->packet);
    const auto group = groups_.find(group_of(node->key, packet.ingress_interface));
    neighbour.waiting.erase(place);
    bytes_ -= charge(packet);
    group->second.bytes -= charge(packet);
    packets_--;
    group->second.order.erase(node);
    if (neighbour.waiting.empty()) {
        waited_for_--;
        const auto first = groups_.find(neighbour.group);
        first->second.neighbours--;
        if (first != group && first->second.neighbours == 0 && first->second.order.empty())
            groups_.erase(first);
    }
    if (group->second.neighbours == 0 && group->second.order.empty()) groups_.erase(group);
    return packet;
}

/// It is the oldest of its neighbour that is among the group's, since both are in order.
void NeighbourQueue::drop_oldest(Group& group) {
    const NeighbourKey key = group.order.front().key;
    Neighbour& neighbour = neighbours_.find(key)->second;
    (void)remove(neighbour, std::ranges::find(neighbour.waiting, group.order.begin()));
    if (neighbour.waiting.empty() && !turns_.has_slot(key)) turns_.leave(key);
}

/// The group that packets wait for most neighbours of gives up the one that came last. Returns how many
/// packets that dropped; 0: nothing, since the group that asks is the one.
size_t NeighbourQueue::make_room_for_neighbour(const NeighbourGroup& group) {
    const auto most = std::ranges::max_element(
        groups_, {}, [](const Groups::value_type& item) { return item.second.neighbours; });
    const auto own = groups_.find(group);
    if (own != groups_.end() && own->second.neighbours == most->second.neighbours) return 0;
    const Order& order = most->second.order;
    const auto last = std::find_if(order.rbegin(), order.rend(), [&](const Node& node) {
        return neighbours_.find(node.key)->second.group == most->first;
    });
    if (last == order.rend()) return 0;
    const NeighbourKey key = last->key;
    return empty(key, neighbours_.find(key)->second).size();
}

void NeighbourQueue::ask(const NeighbourKey& key, Neighbour& neighbour, uint16_t ingress,
                         Clock::time_point now, Pushed& result) {
    if (neighbour.rests(now)) return;
    // Where nothing can wait, nothing has a turn either.
    if (turns_.has_slot(key))
        result.request = turns_.ask_again(now);
    else if (packets_per_neighbour_ == 0)
        result.request = turns_.ask(key, ingress, now);
    else
        result.request = turns_.ask_or_wait(key, ingress, now);
    result.put_off = !result.request && !turns_.has_slot(key);
    if (!result.request) return;
    neighbour.asked = true;
    neighbour.asked_at = now;
}

NeighbourQueue::Pushed NeighbourQueue::push(const NeighbourKey& key, WaitingPacket packet,
                                            Clock::time_point now) {
    Pushed result;
    const NeighbourGroup group = group_of(key, packet.ingress_interface);
    const size_t size = charge(packet);
    const bool is_first = waiting(key) == 0;
    if (size > bytes_max) {
        result.dropped_memory++;
        return result;
    }
    if (is_first && packets_per_neighbour_ != 0 && waited_for_ >= neighbours_max) {
        result.dropped_memory = make_room_for_neighbour(group);
        if (result.dropped_memory == 0) {
            result.dropped_memory++;
            return result;
        }
    }
    Neighbour& neighbour = neighbours_[key];
    ask(key, neighbour, packet.ingress_interface, now, result);
    if (packets_per_neighbour_ == 0) {
        if (!neighbour.asked && neighbour.waiting.empty()) neighbours_.erase(key);
        result.dropped_full++;
        return result;
    }
    for (; neighbour.waiting.size() >= packets_per_neighbour_; result.dropped_full++)
        (void)remove(neighbour, neighbour.waiting.begin());
    for (; bytes_ + size > bytes_max; result.dropped_memory++)
        drop_oldest(std::ranges::max_element(groups_, {}, [](const Groups::value_type& item) {
                        return item.second.bytes;
                    })->second);

    // Nearly always the end. A packet that has waited for another neighbour before keeps its age, and its
    // place.
    if (neighbour.waiting.empty()) {
        neighbour.group = group;
        groups_[group].neighbours++;
        waited_for_++;
    }
    Group& own = groups_[group];
    const Clock::time_point since = packet.since;
    const auto is_younger = [&](const Node& node) { return node.packet.since > since; };
    Order::iterator after = own.order.end();
    if (!own.order.empty() && is_younger(own.order.back()))
        after = std::ranges::find_if(own.order, is_younger);
    const auto place =
        std::ranges::find_if(neighbour.waiting, [&](Order::iterator node) { return is_younger(*node); });
    bytes_ += size;
    own.bytes += size;
    packets_++;
    neighbour.waiting.insert(place, own.order.insert(after, Node{key, std::move(packet)}));
    return result;
}

std::vector<WaitingPacket> NeighbourQueue::empty(const NeighbourKey& key, Neighbour& neighbour) {
    std::vector<WaitingPacket> packets;
    packets.reserve(neighbour.waiting.size());
    while (!neighbour.waiting.empty())
        packets.push_back(remove(neighbour, neighbour.waiting.begin()));
    if (!turns_.has_slot(key)) turns_.leave(key);
    return packets;
}

std::vector<WaitingPacket> NeighbourQueue::take(const NeighbourKey& key) {
    turns_.answered(key);
    const auto found = neighbours_.find(key);
    if (found == neighbours_.end()) return {};
    std::vector<WaitingPacket> packets = empty(key, found->second);
    neighbours_.erase(found);
    return packets;
}

std::vector<WaitingPacket> NeighbourQueue::take_failed(const NeighbourKey& key) {
    turns_.failed(key);
    const auto found = neighbours_.find(key);
    if (found == neighbours_.end() || turns_.waits(key)) return {};
    return empty(key, found->second);
}

NeighbourQueue::Expired NeighbourQueue::take_expired(Clock::time_point now) {
    Expired expired;
    const auto is_over = [&](const Groups::value_type& item) {
        return !item.second.order.empty() && now - item.second.order.front().packet.since >= patience;
    };
    for (auto item = groups_.begin(); item != groups_.end();) {
        const NeighbourGroup group = item->first;
        if (!is_over(*item)) {
            ++item;
            continue;
        }
        const NeighbourKey key = item->second.order.front().key;
        Neighbour& neighbour = neighbours_.find(key)->second;
        const auto place = std::ranges::find(neighbour.waiting, item->second.order.begin());
        if (!neighbour.asked) expired.not_asked++;
        expired.packets.push_back(remove(neighbour, place));
        if (neighbour.waiting.empty() && !turns_.has_slot(key)) turns_.leave(key);
        item = groups_.lower_bound(group);  // groups without anything in them are gone
    }
    std::ranges::stable_sort(expired.packets, {}, &WaitingPacket::since);
    return expired;
}

size_t NeighbourQueue::drop_interface(uint16_t interface) {
    size_t dropped = 0;
    for (auto item = neighbours_.begin(); item != neighbours_.end();) {
        if (item->first.interface != interface) {
            ++item;
            continue;
        }
        dropped += empty(item->first, item->second).size();
        turns_.leave(item->first);
        item = neighbours_.erase(item);
    }
    return dropped;
}

void NeighbourQueue::count_asked(const std::vector<NeighbourKey>& keys, Clock::time_point now) {
    for (const NeighbourKey& key : keys) {
        Neighbour& neighbour = neighbours_.find(key)->second;
        neighbour.asked = true;
        neighbour.asked_at = now;
    }
}

NeighbourQueue::Requests NeighbourQueue::due_requests(Clock::time_point now) {
    Requests due;
    for (auto item = neighbours_.begin(); item != neighbours_.end();) {
        auto& [key, neighbour] = *item;
        if (turns_.has_slot(key) && now - neighbour.asked_at >= answer_within) turns_.leave(key);
        const bool done = neighbour.waiting.empty() && !turns_.has_slot(key) && !neighbour.rests(now);
        item = done ? neighbours_.erase(item) : std::next(item);
    }
    auto round = turns_.round(now);
    for (const auto& [key, ingress] : round.given_up) {
        const auto found = neighbours_.find(key);
        if (!found->second.waiting.empty())
            turns_.wait(key, ingress, now);
        else
            neighbours_.erase(found);
        due.withdraw.push_back(key);
    }
    due.ask = std::move(round.ask);
    count_asked(due.ask, now);
    for (auto& [key, neighbour] : neighbours_) {
        if (neighbour.waiting.empty() || neighbour.rests(now) || turns_.waits(key)) continue;
        const uint16_t ingress = neighbour.waiting.front()->packet.ingress_interface;
        if (turns_.has_slot(key) ? turns_.ask_again(now) : turns_.ask_or_wait(key, ingress, now)) {
            neighbour.asked = true;
            neighbour.asked_at = now;
            due.ask.push_back(key);
        }
    }
    return due;
}

std::vector<NeighbourKey> NeighbourQueue::next_requests(Clock::time_point now) {
    std::vector<NeighbourKey> next = turns_.next(now);
    count_asked(next, now);
    return next;
}

size_t NeighbourQueue::waiting(const NeighbourKey& key) const {
    const auto found = neighbours_.find(key);
    return found == neighbours_.end() ? 0 : found->second.waiting.size();
}

std::vector<std::pair<NeighbourKey, size_t>> NeighbourQueue::all_waiting() const {
    std::vector<std::pair<NeighbourKey, size_t>> result;
    for (const auto& [key, neighbour] : neighbours_)
        if (!neighbour.waiting.empty()) result.emplace_back(key, neighbour.waiting.size());
    return result;
}

}  // namespace pktpit::router
