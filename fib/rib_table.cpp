// SPDX-License-Identifier: BSD-3-Clause
#include "fib/rib_table.h"

#include <algorithm>
#include <utility>

namespace pktpit::fib {

void Candidates::insert(const Candidate& candidate) {
    erase(candidate.source);
    size_t place = size_++;
    for (; place > 0 && candidate.rank() < items_[place - 1].rank(); place--)
        items_[place] = items_[place - 1];
    items_[place] = candidate;
}

bool Candidates::erase(RouteSource source) {
    auto* const last = items_.data() + size_;
    auto* const kept =
        std::remove_if(items_.data(), last, [source](const Candidate& c) { return c.source == source; });
    const bool found = kept != last;
    size_ = static_cast<size_t>(kept - items_.data());
    return found;
}

template <class Key>
Candidates RibTable<Key>::unpack(const Slot& slot) const {
    Candidates result;
    result.append(slot.first);
    if (slot.rest)
        for (const Candidate& candidate : rests_[slot.rest - 1])
            if (candidate.next_hops) result.append(candidate);
    return result;
}

template <class Key>
Candidates RibTable<Key>::find(const Key& key) const {
    const Slot* slot = prefixes_.find(key);
    return slot ? unpack(*slot) : Candidates{};
}

template <class Key>
void RibTable<Key>::store(const Key& key, const Candidates& before, const Candidates& after) {
    const Slot* present = prefixes_.find(key);
    uint32_t rest = present ? present->rest : 0;
    if (after.size() > 1 && rest == 0) {
        if (free_rests_.empty()) {
            rests_.emplace_back();
            rest = static_cast<uint32_t>(rests_.size());
        } else {
            rest = free_rests_.back();
            free_rests_.pop_back();
        }
    } else if (after.size() <= 1 && rest != 0) {
        free_rests_.push_back(rest);
        rest = 0;
    }
    if (rest) {
        Rest& others = rests_[rest - 1];
        others.fill({});
        std::copy(after.begin() + 1, after.end(), others.begin());
    }
    if (present && after.size() == 0) order_.erase(key);
    if (!present && after.size() != 0) order_.insert(key);
    if (after.size() == 0)
        prefixes_.erase(key);
    else
        prefixes_.set(key, {*after.begin(), rest});
    count_users(key, before, after);
}

template <class Key>
void RibTable<Key>::count_users(const Key& key, const Candidates& before, const Candidates& after) {
    const auto uses = [](const Candidates& list, NextHopSetId id) {
        return std::ranges::any_of(list, [id](const Candidate& c) { return c.next_hops == id; });
    };
    // A set that two of the prefix's sources share is counted twice and listed twice: both are harmless.
    for (const Candidate& candidate : after) {
        Users& users = users_[candidate.next_hops];
        users.live++;
        users.part_of(key).live++;
        if (!uses(before, candidate.next_hops)) add_user(key, candidate.next_hops, users);
    }
    for (const Candidate& candidate : before) {
        Users& users = users_[candidate.next_hops];
        users.live--;
        users.part_of(key).live--;
        if (users.live == 0) users_.erase(candidate.next_hops);
    }
    for (const Candidate& candidate : after)
        if (Users& users = users_[candidate.next_hops];
            users.parts.size() == 1 && users.parts.front().keys.size() > Users::longest_single)
            split(candidate.next_hops, users);
}

template <class Key>
void RibTable<Key>::add_user(const Key& key, NextHopSetId next_hops, Users& users) {
    Part& part = users.part_of(key);
    part.keys.push_back(key);
    // Only here: what goes makes the list no longer, and a whole table that goes is not looked through.
    if (part.keys.size() > 2 * part.live + 64) weed(next_hops, part);
}

template <class Key>
void RibTable<Key>::weed(NextHopSetId next_hops, Part& part) const {
    part.revision++;
    std::ranges::sort(part.keys);
    part.keys.erase(std::unique(part.keys.begin(), part.keys.end()), part.keys.end());
    std::erase_if(part.keys, [&](const Key& key) { return candidates_of(next_hops, key) == 0; });
}

template <class Key>
size_t RibTable<Key>::candidates_of(NextHopSetId next_hops, const Key& key) const {
    return static_cast<size_t>(std::ranges::count(find(key), next_hops, &Candidate::next_hops));
}

template <class Key>
void RibTable<Key>::split(NextHopSetId next_hops, Users& users) const {
    weed(next_hops, users.parts.front());
    const std::vector<Part> whole = std::exchange(users.parts, std::vector<Part>(Users::most_parts));
    for (const Key& key : whole.front().keys) {
        Part& part = users.part_of(key);
        part.keys.push_back(key);
        part.live += candidates_of(next_hops, key);
    }
}

template <class Key>
std::vector<Key> RibTable<Key>::users_of(NextHopSetId next_hops) {
    std::vector<Key> all;
    const auto found = users_.find(next_hops);
    if (found == users_.end()) return all;
    for (Part& part : found.value().parts) {
        weed(next_hops, part);
        all.insert(all.end(), part.keys.begin(), part.keys.end());
    }
    return all;
}

template <class Key>
std::optional<Key> RibTable<Key>::next_user(NextHopSetId next_hops, Place& place) const {
    const auto found = users_.find(next_hops);
    if (found == users_.end()) return std::nullopt;
    const auto& parts = found->second.parts;
    const auto enter = [&](size_t part) { place = {parts.size(), part, 0, parts[part].revision}; };
    if (place.parts != parts.size())
        enter(0);
    else if (place.revision != parts[place.part].revision)
        enter(place.part);
    while (place.at >= parts[place.part].keys.size()) {
        if (place.part + 1 == parts.size()) return std::nullopt;
        enter(place.part + 1);
    }
    return parts[place.part].keys[place.at++];
}

template class RibTable<PrefixKey4>;
template class RibTable<PrefixKey6>;

}  // namespace pktpit::fib
