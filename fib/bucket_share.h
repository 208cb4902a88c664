// SPDX-License-Identifier: BSD-3-Clause
/// Sharing a group's buckets out among its members after their weights, and again when the members change,
/// with as few flows moved as can be. Pure functions, any thread.
///
/// What a change may move: a bucket leaves a member only if that member is gone or its share (its weight
/// against the sum) shrinks, and goes only to one that is new or whose share grows. So a member that goes
/// takes only its own flows along, one that comes takes only what it needs, and a new weight moves only the
/// difference. (RFC 2992 has the goal; unlike its hash-threshold, nothing else moves here.)
///
/// How exact the shares are: a group gets the fewest buckets, a power of two up to 2^12, that give each
/// member its share with an error below 1 %. What 2^12 cannot do is rounded to whole buckets, at least one
/// each. After a change the rule above comes first: members whose share did not shrink keep what they have,
/// though exact rounding would now be another. What all members together have above their shares stays below
/// a bucket a member; in chains of 60 random changes of up to 256 members, no share of 50 buckets or more was
/// off by more than 2.1 %. Asking for the shares anew (no `members_before`) moves the few buckets that make
/// them exact.
///
/// How much room it takes: equal members that are a power of two take as many buckets as members; 3 take 256,
/// 5 and 6 take 512, 7 to 13 at most 1,024, 14 to 22 at most 2,048, others at most 4,096 (16 KiB in the
/// image). An image's offsets have 32 bits. 65,535 groups of 256 equal members take 16,776,960 buckets, which
/// fit in 2^24 (64 MiB); of 255 or of uneven ones, 2^28 less 4,096 (1 GiB), a quarter of what an image can
/// address.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace pktpit::fib {

/// An adjacency and its weight, 1..65535. An adjacency that is given twice has the sum of its weights.
using WeightedMember = std::pair<uint32_t, uint16_t>;

/// A group never takes more than 2^12 buckets.
inline constexpr unsigned most_bucket_bits = 12;

/// The fewest buckets (log2) that give each member its share with an error below 1 % of that share; where
/// even 2^most_bucket_bits do not, that many.
unsigned bucket_bits_for(std::span<const WeightedMember> members);

/// How many of 2^bits buckets each member gets when there were none before, in the order of `members`, whose
/// adjacencies differ. There must be no more members than buckets.
std::vector<uint32_t> bucket_counts(std::span<const WeightedMember> members, unsigned bits);

/// A group's buckets as they are: a power of two of them; empty if there are none.
struct PresentBuckets {
    std::span<const uint32_t> buckets;
    /// Whose buckets they are. Empty: not known, or of no matter; then every member may win or lose.
    std::span<const WeightedMember> members;
};

/// An adjacency for each of 2^bits buckets, which are no fewer than there are now.
std::vector<uint32_t> share_buckets(std::span<const WeightedMember> members, unsigned bits,
                                    const PresentBuckets& before = {});

}  // namespace pktpit::fib
