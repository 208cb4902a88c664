// SPDX-License-Identifier: BSD-3-Clause
#include "fib/groups.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <functional>

#include "fib/store.h"

namespace pktpit::fib {
namespace {

/// Of an id that is never used: its value is all 0, what a new group has before it is there.
constexpr GroupId no_group = 0;

unsigned bits_to_hold(size_t members) {
    return members <= 1 ? 0 : static_cast<unsigned>(std::bit_width(members - 1));
}

bool any_gone(std::span<const WeightedMember> before, std::span<const WeightedMember> now) {
    std::vector<uint32_t> staying;
    staying.reserve(now.size());
    for (const WeightedMember& member : now)
        staying.push_back(member.first);
    std::ranges::sort(staying);
    return std::ranges::any_of(before, [&](const WeightedMember& member) {
        return !std::ranges::binary_search(staying, member.first);
    });
}

}  // namespace

Groups::Groups(std::byte* image, const pp_fib_geometry& g, const Reclamation& reclamation)
    : groups_(reinterpret_cast<pp_fib_group*>(image + g.group_offset)),
      buckets_(reinterpret_cast<uint32_t*>(image + g.bucket_offset)),
      adjacency_count_(g.adjacency_count),
      ids_(1, g.group_count, reclamation),
      space_(g.bucket_count, reclamation),
      exists_(g.group_count),
      members_(g.group_count) {}

Result<GroupId> Groups::add(std::span<const WeightedMember> members, uint16_t counter) {
    if (auto good = check(members); !good) return tl::unexpected(good.error());
    if (!ids_.reserve(1))
        return fail({},
                    "no next-hop group left: " + std::to_string(ids_.used()) + " of " +
                        std::to_string(ids_.capacity()) + " in use",
                    {}, "raise /fib/next_hop_groups");
    auto value = place(members, no_group, {});
    if (!value) return tl::unexpected(value.error());
    value->counter = counter;
    const GroupId group = ids_.take();
    exists_[group] = true;
    members_[group].assign(members.begin(), members.end());
    publish(group, *value);
    return group;
}

Result<void> Groups::replace(GroupId group, std::span<const WeightedMember> members) {
    assert(exists(group));
    if (auto good = check(members); !good) return good;
    if (auto changed = change(group, members, members_[group]); !changed) return changed;
    members_[group].assign(members.begin(), members.end());
    return {};
}

Result<void> Groups::rebalance(GroupId group) {
    assert(exists(group));
    return change(group, members_[group], {});
}

Result<void> Groups::change(GroupId group, std::span<const WeightedMember> members,
                            std::span<const WeightedMember> members_before) {
    const auto value = place(members, group, members_before);
    if (!value) return tl::unexpected(value.error());
    const pp_fib_group before = groups_[group];
    const bool in_place = value->bucket_bits == before.bucket_bits && value->first == before.first;
    if (in_place) return {};
    publish(group, *value);
    give_back(before);
    return {};
}

void Groups::remove(GroupId group) {
    assert(exists(group));
    // The value stays until the id is used again: a reader may have read the id just before.
    give_back(groups_[group]);
    exists_[group] = false;
    members_[group] = {};
    ids_.give_back(group);
}

Result<void> Groups::check(std::span<const WeightedMember> members) const {
    if (members.size() > 1u << most_bucket_bits)
        return fail({}, "a next-hop group of " + std::to_string(members.size()) + " members",
                    "at most " + std::to_string(1u << most_bucket_bits));
    for (const auto& [adjacency, weight] : members) {
        if (weight == 0) return fail({}, "a next-hop group member of weight 0", "a weight from 1 to 65535");
        if (adjacency == 0 || adjacency >= adjacency_count_)
            return fail({}, "a next-hop group member is adjacency " + std::to_string(adjacency),
                        "an id from 1 to " + std::to_string(adjacency_count_ - 1));
    }
    return {};
}

/// Writes the buckets that `group` is to have; what it returns is not yet published, unless it is where they
/// are now.
Result<pp_fib_group> Groups::place(std::span<const WeightedMember> members, GroupId group,
                                   std::span<const WeightedMember> members_before) {
    const pp_fib_group& before = groups_[group];  // changes when an allocation moves this group's buckets
    const auto value = [&before](uint32_t first, unsigned bits) {
        return pp_fib_group{first, static_cast<uint8_t>(bits), 0, before.counter};
    };
    if (members.empty()) return value(0, 0);
    const unsigned wanted = bucket_bits_for(members);
    if (wanted == 0) return value(members[0].first, 0);
    const auto shared = [&](unsigned bits) {
        const uint32_t single[] = {before.first};
        const std::span<const uint32_t> present =
            before.bucket_bits ? buckets_of(before) : std::span(single, before.first ? 1 : 0);
        return share_buckets(members, bits, {present, members_before});
    };
    // Never fewer than now: in a smaller array the remaining members could not keep the buckets they have.
    const unsigned best = std::max<unsigned>(wanted, before.bucket_bits);
    // A member must be able to leave however full it is, if need be into fewer buckets than the shares ask
    // for.
    const unsigned least = before.bucket_bits && any_gone(members_before, members)
                               ? std::max<unsigned>(before.bucket_bits, bits_to_hold(members.size()))
                               : best;
    // Others are moved out of the way only where there is no other way: a failed link must be out of use
    // soon.
    const bool must = best == least && best > before.bucket_bits;
    for (unsigned bits = best; bits >= least; bits--) {
        if (const auto first = must ? allocate(bits) : space_.allocate(bits)) {
            write_buckets(*first, shared(bits));
            return value(*first, bits);
        }
        if (bits == before.bucket_bits) {
            write_buckets(before.first, shared(bits));
            return before;
        }
    }
    return fail({},
                "no room for " + std::to_string(1u << best) + " next-hop group buckets: " +
                    std::to_string(space_.used()) + " of " + std::to_string(space_.capacity()) + " in use",
                {}, "raise /fib/next_hop_groups");
}

/// Where the free buckets are in too many pieces, moves other groups.
std::optional<uint32_t> Groups::allocate(unsigned bits) {
    auto first = space_.allocate(bits);
    // Each round frees a range of this size, unless what lies in it has no other place in one piece.
    for (int round = 0; !first && round < 2 && space_.capacity() - space_.used() >= 1u << bits; round++) {
        compact(bits);
        first = space_.allocate(bits);
    }
    return first;
}

/// Moves the groups out of the range of 2^bits buckets that holds the fewest, so that it is free after the
/// next grace period. To a reader each move is one store. At most 2^bits buckets are copied.
void Groups::compact(unsigned bits) {
    const auto first = space_.emptiest(bits);
    if (!first) return;
    std::vector<GroupId> inside;
    for (GroupId group = 1; group < exists_.size(); group++)
        if (exists_[group] && groups_[group].bucket_bits && groups_[group].first >> bits == *first >> bits)
            inside.push_back(group);
    // The large ones while there are large places.
    std::ranges::stable_sort(inside, std::greater{},
                             [this](GroupId group) { return groups_[group].bucket_bits; });
    space_.hold(*first, bits);
    for (const GroupId group : inside) {
        pp_fib_group moved = groups_[group];
        const auto place = space_.allocate_now(moved.bucket_bits);
        if (!place) break;
        write_buckets(*place, buckets_of(moved));
        space_.give_back(moved.first, moved.bucket_bits);
        moved.first = *place;
        publish(group, moved);
    }
    space_.release();
}

std::span<const uint32_t> Groups::buckets_of(const pp_fib_group& value) const {
    return {buckets_ + value.first, size_t{1} << value.bucket_bits};
}

void Groups::write_buckets(uint32_t first, std::span<const uint32_t> adjacencies) {
    for (size_t i = 0; i < adjacencies.size(); i++)
        store_release(buckets_ + first + i, adjacencies[i]);
}

void Groups::publish(GroupId group, pp_fib_group value) {
    store_words(groups_ + group, value);
}

void Groups::give_back(pp_fib_group value) {
    if (value.bucket_bits) space_.give_back(value.first, value.bucket_bits);
}

}  // namespace pktpit::fib
