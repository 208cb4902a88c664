// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/neighbour_turns.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace pktpit::router {

NeighbourTurns::Count NeighbourTurns::of_interface(const Interface& interface) const {
    const auto found = interfaces_.find(interface);
    return found == interfaces_.end() ? Count{} : found->second;
}

bool NeighbourTurns::is_interface_full(const NeighbourGroup& group) const {
    return of_interface(interface_of(group)).slots >= slots_;
}

bool NeighbourTurns::is_family_full(Family family) const {
    return of_family(family).slots >= std::max<size_t>(slots_, slots_of_family);
}

void NeighbourTurns::count_waiting(const NeighbourGroup& group, size_t more, size_t less) {
    of_family(group.family).waiting += more - less;
    const auto interface = interfaces_.try_emplace(interface_of(group)).first;
    interface->second.waiting += more - less;
    if (interface->second.waiting + interface->second.slots == 0) interfaces_.erase(interface);
    const auto found = groups_.find(group);
    if (found != groups_.end() && found->second.waiting() + found->second.slots == 0) groups_.erase(found);
}

void NeighbourTurns::count_slots(const NeighbourGroup& group, size_t more, size_t less) {
    of_family(group.family).slots += more - less;
    interfaces_[interface_of(group)].slots += more - less;
    groups_[group].slots += more - less;
    count_waiting(group, 0, 0);
}

void NeighbourTurns::take_slot(const NeighbourKey& key, const NeighbourGroup& group, Clock::time_point now) {
    requests_.take(request_limit_, now);
    count_slots(group, 1, 0);
    entries_[key].slot = taken_.insert(taken_.end(), Slot{key, group, now});
}

void NeighbourTurns::free_slot(Entry& entry) {
    if (!entry.slot) return;
    const Slots::iterator slot = *std::exchange(entry.slot, std::nullopt);
    count_slots(slot->group, 0, 1);
    taken_.erase(slot);
}

void NeighbourTurns::leave_lines(Entry& entry) {
    for (const Place& place : std::exchange(entry.places, {})) {
        place.line->erase(place.waiter);
        count_waiting(place.group, 0, 1);
    }
}

void NeighbourTurns::forget_if_idle(Entries::iterator entry) {
    if (!entry->second.slot && entry->second.places.empty()) entries_.erase(entry);
}

bool NeighbourTurns::ask(const NeighbourKey& key, uint16_t ingress, Clock::time_point now) {
    const NeighbourGroup group = group_of(key, ingress);
    if (of_interface(interface_of(group)).waiting != 0 || is_interface_full(group) ||
        is_family_full(group.family) || !requests_.has_token(request_limit_, now))
        return false;
    take_slot(key, group, now);
    return true;
}

bool NeighbourTurns::ask_or_wait(const NeighbourKey& key, uint16_t ingress, Clock::time_point now) {
    if (!waits(key) && ask(key, ingress, now)) return true;
    wait(key, ingress, now);
    return false;
}

bool NeighbourTurns::ask_again(Clock::time_point now) {
    if (!requests_.has_token(request_limit_, now)) return false;
    requests_.take(request_limit_, now);
    return true;
}

void NeighbourTurns::wait(const NeighbourKey& key, uint16_t ingress, Clock::time_point now) {
    const NeighbourGroup group = group_of(key, ingress);
    Entry& entry = entries_[key];
    if (std::ranges::find(entry.places, group, &Place::group) != entry.places.end()) return;
    Group& waiting = groups_[group];
    Line& line = answered_before_.contains(key) ? waiting.answered_before : waiting.others;
    entry.places.push_back({group, &line, line.insert(line.end(), Waiter{key, now})});
    count_waiting(group, 1, 0);
}

void NeighbourTurns::leave(const NeighbourKey& key) {
    const auto entry = entries_.find(key);
    if (entry == entries_.end()) return;
    leave_lines(entry->second);
    free_slot(entry->second);
    entries_.erase(entry);
}

/// The group that gets the next free slot. Those whose first one has answered before come first, then those
/// that hold fewest, then those that have waited longest.
NeighbourTurns::Groups::iterator NeighbourTurns::first_in_turn() {
    Groups::iterator first = groups_.end();
    std::tuple<bool, size_t, Clock::time_point> rank_of_first;
    for (auto group = groups_.begin(); group != groups_.end(); ++group) {
        const Group& lines = group->second;
        if (lines.waiting() == 0 || is_interface_full(group->first) || is_family_full(group->first.family))
            continue;
        const bool is_new = lines.answered_before.empty();
        const Waiter& waiter = is_new ? lines.others.front() : lines.answered_before.front();
        const std::tuple rank{is_new, lines.slots, waiter.since};
        if (first != groups_.end() && rank_of_first <= rank) continue;
        first = group;
        rank_of_first = rank;
    }
    return first;
}

void NeighbourTurns::hand_out(std::vector<NeighbourKey>& to, Clock::time_point now) {
    while (waiting() != 0 && requests_.has_token(request_limit_, now)) {
        const auto first = first_in_turn();
        if (first == groups_.end()) return;
        const NeighbourGroup group = first->first;
        const Line& line =
            first->second.answered_before.empty() ? first->second.others : first->second.answered_before;
        const NeighbourKey key = line.front().key;
        leave_lines(entries_.find(key)->second);
        take_slot(key, group, now);
        to.push_back(key);
    }
}

std::vector<NeighbourKey> NeighbourTurns::next(Clock::time_point now) {
    std::vector<NeighbourKey> ask;
    hand_out(ask, now);
    return ask;
}

/// Would a group that holds no more get the slot? Else it would come back to its holder at once.
bool NeighbourTurns::is_wanted_by_others(const NeighbourGroup& holder) const {
    const bool family_full = is_family_full(holder.family);
    if (!family_full && !is_interface_full(holder)) return false;
    const size_t held = groups_.find(holder)->second.slots;
    return std::ranges::any_of(groups_, [&](const auto& item) {
        const auto& [group, lines] = item;
        if (lines.waiting() == 0 || lines.slots > held || group.family != holder.family) return false;
        // The family's slot is of no use to an interface that has all of its own, but for one of those.
        return group.egress == holder.egress || (family_full && !is_interface_full(group));
    });
}

NeighbourTurns::Round NeighbourTurns::round(Clock::time_point now) {
    Round round;
    hand_out(round.ask, now);
    for (auto slot = taken_.begin(); slot != taken_.end() && now - slot->since >= slot_time;) {
        if (waiting() == 0 || !requests_.has_token(request_limit_, now)) break;
        const Slot held = *slot++;
        if (!is_wanted_by_others(held.group)) continue;
        round.given_up.push_back({held.key, held.group.ingress});
        failed(held.key);
        hand_out(round.ask, now);
    }
    return round;
}

void NeighbourTurns::answered(const NeighbourKey& key) {
    answered_before_.add(key);
    leave(key);
}

void NeighbourTurns::failed(const NeighbourKey& key) {
    answered_before_.remove(key);
    const auto entry = entries_.find(key);
    if (entry == entries_.end()) return;
    free_slot(entry->second);
    forget_if_idle(entry);
}

bool NeighbourTurns::has_slot(const NeighbourKey& key) const {
    const auto entry = entries_.find(key);
    return entry != entries_.end() && entry->second.slot;
}

bool NeighbourTurns::waits(const NeighbourKey& key) const {
    const auto entry = entries_.find(key);
    return entry != entries_.end() && !entry->second.places.empty();
}

size_t NeighbourTurns::slots(uint16_t interface, Family family) const {
    return of_interface({family, interface}).slots;
}

}  // namespace pktpit::router
