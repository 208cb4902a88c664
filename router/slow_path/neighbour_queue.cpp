// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/neighbour_queue.h"

#include <algorithm>
#include <utility>

namespace pktpit::router {

void NeighbourQueue::drop_oldest_of(Neighbour& neighbour) {
    const Order::iterator oldest = neighbour.waiting.front();
    bytes_ -= charge(oldest->packet);
    neighbour.waiting.pop_front();
    order_.erase(oldest);
}

void NeighbourQueue::drop_oldest() {
    drop_oldest_of(neighbours_.find(order_.front().key)->second);
}

/// Forgets the neighbours for which nothing waits; if there may be none, the one for which waiting began
/// first.
size_t NeighbourQueue::make_room_for_neighbour() {
    if (neighbours_.size() < neighbours_max) return 0;
    if (order_.size() >= neighbours_.size()) return take(NeighbourKey(order_.front().key)).size();
    for (auto item = neighbours_.begin(); item != neighbours_.end();) {
        if (!item->second.waiting.empty()) {
            ++item;
            continue;
        }
        answered(item->first, item->second);
        item = neighbours_.erase(item);
    }
    return 0;
}

NeighbourQueue::Asked NeighbourQueue::ask(const NeighbourKey& key, Neighbour& neighbour,
                                          Clock::time_point now) {
    if (neighbour.asked && now - neighbour.asked_at < request_interval) return Asked::no;
    if (!neighbour.unanswered && unanswered(key.interface) >= unresolved_) return Asked::put_off;
    if (!requests_.has_token(request_limit_, now)) return Asked::no;
    requests_.take(request_limit_, now);
    if (!std::exchange(neighbour.unanswered, true)) unanswered_[key.interface]++;
    neighbour.asked = true;
    neighbour.asked_at = now;
    return Asked::yes;
}

void NeighbourQueue::answered(const NeighbourKey& key, Neighbour& neighbour) {
    if (!std::exchange(neighbour.unanswered, false)) return;
    const auto count = unanswered_.find(key.interface);
    if (--count->second == 0) unanswered_.erase(count);
}

size_t NeighbourQueue::unanswered(uint16_t interface) const {
    const auto count = unanswered_.find(interface);
    return count == unanswered_.end() ? 0 : count->second;
}

NeighbourQueue::Pushed NeighbourQueue::push(const NeighbourKey& key, WaitingPacket packet,
                                            Clock::time_point now) {
    Pushed result;
    if (!neighbours_.contains(key)) result.dropped_memory += make_room_for_neighbour();
    Neighbour& neighbour = neighbours_[key];
    const Asked asked = ask(key, neighbour, now);
    result.request = asked == Asked::yes;
    result.put_off = asked == Asked::put_off;
    const size_t size = charge(packet);
    if (packets_per_neighbour_ == 0 || size > bytes_max) {
        (packets_per_neighbour_ == 0 ? result.dropped_full : result.dropped_memory)++;
        return result;
    }
    for (; neighbour.waiting.size() >= packets_per_neighbour_; result.dropped_full++)
        drop_oldest_of(neighbour);
    for (; bytes_ + size > bytes_max; result.dropped_memory++)
        drop_oldest();

    // Nearly always the end. A packet that has waited for another neighbour before keeps its age, and its
    // place.
    const Clock::time_point since = packet.since;
    const auto is_younger = [&](const Node& node) { return node.packet.since > since; };
    Order::iterator after = order_.end();
    if (!order_.empty() && is_younger(order_.back())) after = std::ranges::find_if(order_, is_younger);
    const auto place =
        std::ranges::find_if(neighbour.waiting, [&](Order::iterator node) { return is_younger(*node); });
    bytes_ += size;
    neighbour.waiting.insert(place, order_.insert(after, Node{key, std::move(packet)}));
    return result;
}

std::vector<WaitingPacket> NeighbourQueue::empty(Neighbour& neighbour) {
    std::vector<WaitingPacket> packets;
    packets.reserve(neighbour.waiting.size());
    for (const Order::iterator node : std::exchange(neighbour.waiting, {})) {
        packets.push_back(std::move(node->packet));
        bytes_ -= charge(packets.back());
        order_.erase(node);
    }
    return packets;
}

std::vector<WaitingPacket> NeighbourQueue::take(const NeighbourKey& key) {
    std::vector<WaitingPacket> packets = take_failed(key);
    neighbours_.erase(key);
    return packets;
}

std::vector<WaitingPacket> NeighbourQueue::take_failed(const NeighbourKey& key) {
    const auto found = neighbours_.find(key);
    if (found == neighbours_.end()) return {};
    answered(key, found->second);
    return empty(found->second);
}

std::vector<WaitingPacket> NeighbourQueue::take_expired(Clock::time_point now) {
    std::vector<WaitingPacket> packets;
    while (!order_.empty() && now - order_.front().packet.since >= patience) {
        packets.push_back(std::move(order_.front().packet));
        bytes_ -= charge(packets.back());
        neighbours_.find(order_.front().key)->second.waiting.pop_front();
        order_.pop_front();
    }
    return packets;
}

size_t NeighbourQueue::drop_interface(uint16_t interface) {
    size_t dropped = 0;
    for (auto item = neighbours_.begin(); item != neighbours_.end();) {
        if (item->first.interface != interface) {
            ++item;
            continue;
        }
        answered(item->first, item->second);
        dropped += empty(item->second).size();
        item = neighbours_.erase(item);
    }
    return dropped;
}

std::vector<NeighbourKey> NeighbourQueue::due_requests(Clock::time_point now) {
    for (auto item = neighbours_.begin(); item != neighbours_.end();) {
        Neighbour& neighbour = item->second;
        const auto since = now - neighbour.asked_at;
        if (neighbour.unanswered && since >= answer_within) answered(item->first, neighbour);
        const bool done = neighbour.waiting.empty() && !neighbour.unanswered &&
                          (!neighbour.asked || since >= request_interval);
        item = done ? neighbours_.erase(item) : std::next(item);
    }
    std::vector<NeighbourKey> due;
    for (auto& [key, neighbour] : neighbours_)
        if (!neighbour.waiting.empty() && ask(key, neighbour, now) == Asked::yes) due.push_back(key);
    return due;
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
