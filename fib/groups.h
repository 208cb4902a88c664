/// The next-hop groups of a FIB image and their buckets. Used by FibImage alone. Writer's thread only.
#pragma once

#include <span>
#include <vector>

#include "fib/bucket_share.h"
#include "fib/bucket_space.h"
#include "fib/id_pool.h"
#include "fib/image.h"

namespace pktpit::fib {

class Groups {
  public:
    Groups(std::byte* image, const pp_fib_geometry& geometry, const GracePeriod& grace_period);

    Result<GroupId> add(std::span<const WeightedMember> members);
    Result<void> replace(GroupId group, std::span<const WeightedMember> members);
    void remove(GroupId group);
    [[nodiscard]] bool exists(GroupId group) const { return group < exists_.size() && exists_[group]; }
    [[nodiscard]] uint32_t used() const { return ids_.used(); }
    [[nodiscard]] uint32_t buckets_used() const { return space_.used(); }

  private:
    Result<void> check(std::span<const WeightedMember> members) const;
    Result<pp_fib_group> place(std::span<const WeightedMember> members, pp_fib_group before);
    [[nodiscard]] std::span<const uint32_t> buckets_of(pp_fib_group value) const;
    void write_buckets(uint32_t first, std::span<const uint32_t> adjacencies);
    void publish(GroupId group, pp_fib_group value);
    void give_back(pp_fib_group value);

    pp_fib_group* groups_;
    uint32_t* buckets_;
    uint32_t adjacency_count_;
    IdPool ids_;
    BucketSpace space_;
    std::vector<bool> exists_;
};

}  // namespace pktpit::fib
