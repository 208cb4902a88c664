// SPDX-License-Identifier: BSD-3-Clause
/// How many buckets each member of a group is to have, given what it has: the arithmetic of
/// fib/bucket_share.h. Pure, any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace pktpit::fib {

/// What a change does to a member's share.
enum class ShareChange : uint8_t {
    shrinks,
    none,
    grows,
    any,  ///< not known, or of no matter: may win and lose
};

struct Claim {
    uint32_t weight;                          ///< at least 1
    uint32_t present = 0;                     ///< buckets it has now
    ShareChange change = ShareChange::grows;  ///< of a new member: grows
};

/// Buckets for each claim, `buckets` in all, at least one each. One whose share shrinks wins none, one
/// whose share grows or stays loses none, as long as every member can have one. No fewer buckets than claims.
/// O(n log n) for n buckets.
std::vector<uint32_t> quotas(const std::vector<Claim>& claims, uint32_t buckets);

/// Whether each of `counts` is within 1 % of its weight's part of `buckets`.
bool within_one_percent(const std::vector<Claim>& claims, const std::vector<uint32_t>& counts,
                        uint32_t buckets);

}  // namespace pktpit::fib
