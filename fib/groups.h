// SPDX-License-Identifier: BSD-3-Clause
/// The next-hop groups of a FIB image and their buckets. Used by FibImage alone. Writer's thread only.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "fib/bucket_share.h"
#include "fib/bucket_space.h"
#include "fib/id_pool.h"
#include "fib/image.h"

namespace pktpit::fib {

class Groups {
  public:
    Groups(std::byte* image, const pp_fib_geometry& geometry, const Reclamation& reclamation);

    /// A group of these members, up to 4,096. `counter`: index of the counter that a port stage adds the
    /// group's packets to, 0 = none; the group keeps it. When ids or buckets are out: an error, and nothing
    /// has changed.
    Result<GroupId> add(std::span<const WeightedMember> members, uint16_t counter = 0);
    /// Other members or weights, seen by readers with one store whatever number of prefixes use the group;
    /// where there is no room for new buckets beside the old ones, bucket by bucket. Moves only flows that
    /// fib/bucket_share.h says must. A change in which a member goes and none is too many for the buckets the
    /// group has is never refused, if need be with shares less exact than 1 %.
    Result<void> replace(GroupId group, std::span<const WeightedMember> members);
    /// Makes the shares exact again after members have gone (fib/bucket_share.h says how far they may be
    /// off), at the price of flows that move between members that stay. Takes more buckets where that needs
    /// them.
    Result<void> rebalance(GroupId group);
    void remove(GroupId group);
    [[nodiscard]] bool exists(GroupId group) const { return group < exists_.size() && exists_[group]; }
    [[nodiscard]] std::span<const WeightedMember> members(GroupId group) const { return members_[group]; }
    [[nodiscard]] uint32_t used() const { return ids_.used(); }
    [[nodiscard]] uint32_t buckets_used() const { return space_.used(); }

  private:
    Result<void> check(std::span<const WeightedMember> members) const;
    Result<void> change(GroupId group, std::span<const WeightedMember> members,
                        std::span<const WeightedMember> members_before);
    Result<pp_fib_group> place(std::span<const WeightedMember> members, GroupId group,
                               std::span<const WeightedMember> members_before);
    std::optional<uint32_t> allocate(unsigned bits);
    void compact(unsigned bits);
    [[nodiscard]] std::span<const uint32_t> buckets_of(const pp_fib_group& value) const;
    void write_buckets(uint32_t first, std::span<const uint32_t> adjacencies);
    void publish(GroupId group, pp_fib_group value);
    void give_back(pp_fib_group value);

    pp_fib_group* groups_;
    uint32_t* buckets_;
    uint32_t adjacency_count_;
    IdPool ids_;
    BucketSpace space_;
    std::vector<bool> exists_;
    /// What each group was asked to be: the buckets alone do not tell a share from its rounding. 8 bytes a
    /// member: for 65,535 groups of 256, 128 MiB.
    std::vector<std::vector<WeightedMember>> members_;
};

}  // namespace pktpit::fib
