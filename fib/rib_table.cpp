// SPDX-License-Identifier: BSD-3-Clause
#include "fib/rib_table.h"

#include <algorithm>

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
        if (uses(before, candidate.next_hops)) continue;
        users.keys.push_back(key);
        // Only here: what goes makes the list no longer, and a whole table that goes is not looked through.
        if (users.keys.size() > 2 * users.live + 64) weed(candidate.next_hops, users);
    }
    for (const Candidate& candidate : before) {
        Users& users = users_[candidate.next_hops];
        users.live--;
        if (users.live == 0) users_.erase(candidate.next_hops);
    }
}

template <class Key>
void RibTable<Key>::weed(NextHopSetId next_hops, Users& users) {
    users.revision++;
    std::ranges::sort(users.keys);
    users.keys.erase(std::unique(users.keys.begin(), users.keys.end()), users.keys.end());
    std::erase_if(users.keys, [&](const Key& key) {
        return std::ranges::none_of(find(key), [&](const Candidate& c) { return c.next_hops == next_hops; });
    });
}

template <class Key>
std::vector<Key> RibTable<Key>::users_of(NextHopSetId next_hops) {
    const auto found = users_.find(next_hops);
    if (found == users_.end()) return {};
    weed(next_hops, found.value());
    return found->second.keys;
}

template class RibTable<PrefixKey4>;
template class RibTable<PrefixKey6>;

}  // namespace pktpit::fib
