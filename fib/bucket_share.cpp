// SPDX-License-Identifier: BSD-3-Clause
#include "fib/bucket_share.h"

#include <algorithm>
#include <bit>
#include <cassert>

#include "fib/bucket_quota.h"

namespace pktpit::fib {
namespace {

struct Member {
    uint32_t adjacency;
    uint32_t weight;
};

/// Each adjacency once, in ascending order.
std::vector<Member> merged(std::span<const WeightedMember> members) {
    std::vector<Member> result;
    result.reserve(members.size());
    for (const auto& [adjacency, weight] : members)
        result.push_back({adjacency, weight});
    std::ranges::sort(result, {}, &Member::adjacency);
    size_t kept = 0;
    for (size_t i = 1; i < result.size(); i++) {
        if (result[i].adjacency == result[kept].adjacency)
            result[kept].weight += result[i].weight;
        else
            result[++kept] = result[i];
    }
    if (!result.empty()) result.resize(kept + 1);
    return result;
}

uint64_t total_weight(const std::vector<Member>& members) {
    uint64_t total = 0;
    for (const Member& member : members)
        total += member.weight;
    return total;
}

/// Which member an adjacency is: a hash table, since it is asked for each of up to 4,096 buckets.
class Index {
  public:
    static constexpr uint32_t none = ~0u;

    explicit Index(const std::vector<Member>& members)
        : shift_(32 - static_cast<unsigned>(std::bit_width(members.size() * 2))),
          slots_(size_t{1} << (32 - shift_), {0, none}) {
        for (uint32_t i = 0; i < members.size(); i++) {
            size_t slot = start(members[i].adjacency);
            while (slots_[slot].second != none)
                slot = next(slot);
            slots_[slot] = {members[i].adjacency, i};
        }
    }
    [[nodiscard]] uint32_t of(uint32_t adjacency) const {
        size_t slot = start(adjacency);
        while (slots_[slot].second != none && slots_[slot].first != adjacency)
            slot = next(slot);
        return slots_[slot].second;
    }

  private:
    [[nodiscard]] size_t start(uint32_t adjacency) const { return adjacency * 0x9e3779b1u >> shift_; }
    [[nodiscard]] size_t next(size_t slot) const { return (slot + 1) & (slots_.size() - 1); }

    unsigned shift_;
    std::vector<std::pair<uint32_t, uint32_t>> slots_;
};

/// Against the shares before. Both lists ascend.
void compare_shares(const std::vector<Member>& members, const std::vector<Member>& before,
                    std::vector<Claim>& claims) {
    const uint64_t total = total_weight(members);
    const uint64_t total_before = total_weight(before);
    auto old = before.begin();
    for (size_t i = 0; i < members.size(); i++) {
        while (old != before.end() && old->adjacency < members[i].adjacency)
            ++old;
        if (old == before.end() || old->adjacency != members[i].adjacency) continue;  // new: grows
        const uint64_t is = members[i].weight * total_before;
        const uint64_t was = old->weight * total;
        claims[i].change = is < was   ? ShareChange::shrinks
                           : is > was ? ShareChange::grows
                                      : ShareChange::none;
    }
}

std::vector<Claim> new_claims(const std::vector<Member>& members) {
    std::vector<Claim> claims;
    claims.reserve(members.size());
    for (const Member& member : members)
        claims.push_back({member.weight});
    return claims;
}

}  // namespace

std::vector<uint32_t> bucket_counts(std::span<const WeightedMember> members, unsigned bits) {
    std::vector<Claim> claims;
    for (const auto& [adjacency, weight] : members)
        claims.push_back({weight});
    return quotas(claims, 1u << bits);
}

unsigned bucket_bits_for(std::span<const WeightedMember> members) {
    const std::vector<Claim> claims = new_claims(merged(members));
    if (claims.size() <= 1) return 0;
    auto bits = static_cast<unsigned>(std::bit_width(claims.size() - 1));
    while (bits < most_bucket_bits && !within_one_percent(claims, quotas(claims, 1u << bits), 1u << bits))
        bits++;
    return bits;
}

std::vector<uint32_t> share_buckets(std::span<const WeightedMember> members, unsigned bits,
                                    const PresentBuckets& before) {
    const std::vector<Member> all = merged(members);
    const Index index(all);
    std::vector<Claim> claims = new_claims(all);

    const uint32_t size = 1u << bits;
    assert(before.buckets.size() <= size);
    // The top bits of the hash choose the bucket: bucket i of many lies inside bucket i / (many / few) of
    // few.
    const uint32_t each = before.buckets.empty() ? 0 : size / static_cast<uint32_t>(before.buckets.size());
    std::vector<uint32_t> owners;
    owners.reserve(before.buckets.size());
    for (uint32_t adjacency : before.buckets) {
        owners.push_back(index.of(adjacency));
        if (owners.back() != Index::none) claims[owners.back()].present += each;
    }
    if (!before.members.empty())
        compare_shares(all, merged(before.members), claims);
    else
        for (Claim& claim : claims)
            claim.change = ShareChange::any;

    std::vector<uint32_t> left = quotas(claims, size);
    std::vector<uint32_t> buckets(size);
    std::vector<uint32_t> open;
    for (uint32_t i = 0; i < size; i++) {
        const uint32_t owner = each == 0 ? Index::none : owners[i / each];
        if (owner != Index::none && left[owner] > 0) {
            left[owner]--;
            buckets[i] = all[owner].adjacency;
        } else {
            open.push_back(i);
        }
    }
    auto next = open.begin();
    for (size_t i = 0; i < all.size(); i++)
        for (; left[i] > 0; left[i]--)
            buckets[*next++] = all[i].adjacency;
    return buckets;
}

}  // namespace pktpit::fib
