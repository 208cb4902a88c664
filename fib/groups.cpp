#include "fib/groups.h"

#include <cassert>
#include <cstring>

#include "fib/store.h"

namespace pktpit::fib {

Groups::Groups(std::byte* image, const pp_fib_geometry& g, const GracePeriod& grace_period)
    : groups_(reinterpret_cast<pp_fib_group*>(image + g.group_offset)),
      buckets_(reinterpret_cast<uint32_t*>(image + g.bucket_offset)),
      adjacency_count_(g.adjacency_count),
      ids_(1, g.group_count, grace_period),
      space_(g.bucket_count, grace_period),
      exists_(g.group_count) {}

Result<GroupId> Groups::add(std::span<const WeightedMember> members) {
    if (auto good = check(members); !good) return tl::unexpected(good.error());
    if (!ids_.reserve(1))
        return fail({},
                    "no next-hop group left: " + std::to_string(ids_.used()) + " of " +
                        std::to_string(ids_.capacity()) + " in use",
                    {}, "raise /fib/next_hop_groups");
    const auto value = place(members, {});
    if (!value) return tl::unexpected(value.error());
    const GroupId group = ids_.take();
    exists_[group] = true;
    publish(group, *value);
    return group;
}

Result<void> Groups::replace(GroupId group, std::span<const WeightedMember> members) {
    assert(exists(group));
    if (auto good = check(members); !good) return good;
    const pp_fib_group before = groups_[group];
    const auto value = place(members, before);
    if (!value && members.size() > 1 && bucket_bits_for(members) <= before.bucket_bits) {
        // A member must be able to leave even when there is no room for a second copy of the buckets.
        write_buckets(before.first, share_buckets(members, before.bucket_bits, buckets_of(before)));
        return {};
    }
    if (!value) return tl::unexpected(value.error());
    publish(group, *value);
    give_back(before);
    return {};
}

void Groups::remove(GroupId group) {
    assert(exists(group));
    // The value stays until the id is used again: a reader may have read the id just before.
    give_back(groups_[group]);
    exists_[group] = false;
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

/// Writes the buckets of a group that looks like `before` now; what it returns is not yet published.
Result<pp_fib_group> Groups::place(std::span<const WeightedMember> members, pp_fib_group before) {
    if (members.empty()) return pp_fib_group{};
    if (members.size() == 1) return pp_fib_group{members[0].first, 0};
    // Never fewer than now: in a smaller array the remaining members could not keep the buckets they have.
    const unsigned bits = std::max<unsigned>(bucket_bits_for(members), before.bucket_bits);
    const auto first = space_.allocate(bits);
    if (!first)
        return fail({},
                    "no room for " + std::to_string(1u << bits) +
                        " next-hop group buckets: " + std::to_string(space_.used()) + " of " +
                        std::to_string(space_.capacity()) + " in use",
                    {}, "raise /fib/next_hop_groups");
    const uint32_t single[] = {before.first};
    const auto present = before.bucket_bits ? buckets_of(before) : std::span(single, before.first ? 1 : 0);
    write_buckets(*first, share_buckets(members, bits, present));
    return pp_fib_group{*first, bits};
}

std::span<const uint32_t> Groups::buckets_of(pp_fib_group value) const {
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
