// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/resolved_hops.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace pktpit::router {
namespace {

constexpr uint64_t heaviest = 65535;
// What the share of weight 1 is split into: a sum of 256 weights of 16 bits times this stays below 2^54.
constexpr uint64_t finest_split = uint64_t{1} << 30;

struct Share {
    ResolvedHop hop;
    uint64_t weight = 0;
};

uint64_t total_weight(const WeightedHops& part) {
    return std::accumulate(part.hops.begin(), part.hops.end(), uint64_t{0},
                           [](uint64_t sum, const ResolvedHop& hop) { return sum + hop.weight; });
}

/// The least common multiple of the parts' totals, where it is small enough to be exact with.
uint64_t split_of(std::span<const WeightedHops> parts) {
    uint64_t split = 1;
    for (const auto& part : parts) {
        if (part.hops.empty()) continue;
        split = std::lcm(split, total_weight(part));
        if (split > finest_split) return finest_split;
    }
    return split;
}

std::vector<Share> shares_of(std::span<const WeightedHops> parts, uint64_t split) {
    std::vector<Share> shares;
    std::map<ResolvedHop, size_t> known;
    for (const auto& part : parts) {
        const uint64_t total = total_weight(part);
        for (ResolvedHop hop : part.hops) {
            const uint64_t weight = std::max<uint64_t>(1, uint64_t{part.weight} * hop.weight * split / total);
            hop.weight = 1;  // no part of what makes two hops equal
            const auto [place, added] = known.try_emplace(hop, shares.size());
            if (added)
                shares.push_back({hop, weight});
            else
                shares[place->second].weight += weight;
        }
    }
    return shares;
}

void keep_heaviest(std::vector<Share>& shares) {
    if (shares.size() <= most_hops) return;
    std::ranges::stable_sort(shares, std::greater{}, &Share::weight);
    shares.resize(most_hops);
}

/// Divided by their greatest common divisor, and by what it takes for the largest to fit.
void reduce(std::vector<Share>& shares) {
    uint64_t divisor = 0;
    uint64_t largest = 0;
    for (const Share& share : shares) {
        divisor = std::gcd(divisor, share.weight);
        largest = std::max(largest, share.weight);
    }
    if (divisor > 1)
        for (Share& share : shares)
            share.weight /= divisor;
    largest /= std::max<uint64_t>(1, divisor);
    if (largest <= heaviest) return;
    const uint64_t by = (largest + heaviest - 1) / heaviest;
    for (Share& share : shares)
        share.weight = std::clamp<uint64_t>((share.weight + by / 2) / by, 1, heaviest);
}

}  // namespace

std::vector<ResolvedHop> combine(std::span<const WeightedHops> parts) {
    const bool several = std::ranges::any_of(parts, [](const auto& part) { return part.hops.size() > 1; });
    auto shares = shares_of(parts, several ? split_of(parts) : uint64_t{1});
    if (!several)
        for (Share& share : shares)
            share.weight = std::min(share.weight, heaviest);
    keep_heaviest(shares);
    if (several) reduce(shares);
    std::vector<ResolvedHop> hops;
    hops.reserve(shares.size());
    for (const Share& share : shares) {
        hops.push_back(share.hop);
        hops.back().weight = static_cast<uint16_t>(share.weight);
    }
    return hops;
}

}  // namespace pktpit::router
