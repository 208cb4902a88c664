/// Sharing a group's buckets out among its members after their weights. Pure functions, any thread.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace pktpit::fib {

/// An adjacency and its weight, 1..65535.
using WeightedMember = std::pair<uint32_t, uint16_t>;

/// A group never takes more than 2^12 buckets. Members whose share cannot be met within 1 % by that many (a
/// share that is not small against 1/4096) get the nearest whole number of buckets, and at least one.
inline constexpr unsigned most_bucket_bits = 12;

/// The fewest buckets (log2) that give each member its share with an error below 1 % of that share.
unsigned bucket_bits_for(std::span<const WeightedMember> members);

/// How many of 2^bits buckets each member gets: the rounding that errs least, at least one each.
/// There must be no more members than buckets.
std::vector<uint32_t> bucket_counts(std::span<const WeightedMember> members, unsigned bits);

/// An adjacency for each of 2^bits buckets. `before`: the buckets as they are now (a power of two of them, no
/// more than 2^bits; may be empty). A bucket changes its adjacency only where the shares demand it, so that
/// flows stay where they are (the goal of RFC 2992).
std::vector<uint32_t> share_buckets(std::span<const WeightedMember> members, unsigned bits,
                                    std::span<const uint32_t> before);

}  // namespace pktpit::fib
