#include "fib/bucket_share.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <unordered_map>

namespace pktpit::fib {
namespace {

uint64_t total_weight(std::span<const WeightedMember> members) {
    return std::accumulate(members.begin(), members.end(), uint64_t{0},
                           [](uint64_t sum, const WeightedMember& member) { return sum + member.second; });
}

/// Is every count within 1 % of weight / total * buckets? In whole numbers, so that nothing is rounded.
bool within_one_percent(std::span<const WeightedMember> members, std::span<const uint32_t> counts,
                        unsigned bits) {
    const uint64_t total = total_weight(members);
    for (size_t i = 0; i < members.size(); i++) {
        const uint64_t share = uint64_t{members[i].second} << bits;
        const uint64_t given = counts[i] * total;
        if ((share > given ? share - given : given - share) * 100 >= share) return false;
    }
    return true;
}

}  // namespace

std::vector<uint32_t> bucket_counts(std::span<const WeightedMember> members, unsigned bits) {
    const uint32_t buckets = 1u << bits;
    assert(!members.empty() && members.size() <= buckets);
    const uint64_t total = std::max<uint64_t>(total_weight(members), 1);
    std::vector<uint32_t> counts;
    uint32_t given = 0;
    for (const auto& [adjacency, weight] : members) {
        counts.push_back(std::max<uint32_t>(1, static_cast<uint32_t>((uint64_t{weight} << bits) / total)));
        given += counts.back();
    }
    // How far above (positive) or below its share a member is, in buckets * total.
    const auto excess = [&](size_t i) {
        return static_cast<int64_t>(counts[i] * total) -
               static_cast<int64_t>(uint64_t{members[i].second} << bits);
    };
    // Rounding down leaves fewer buckets over than there are members: those furthest below their share get
    // one.
    std::vector<size_t> order(members.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::ranges::stable_sort(order, [&](size_t a, size_t b) { return excess(a) < excess(b); });
    for (size_t i = 0; given < buckets; i = (i + 1) % order.size(), given++)
        counts[order[i]]++;
    // "At least one" may have given too many: those furthest above their share give one back.
    while (given > buckets) {
        size_t richest = members.size();
        for (size_t i = 0; i < members.size(); i++)
            if (counts[i] > 1 && (richest == members.size() || excess(i) > excess(richest))) richest = i;
        counts[richest]--;
        given--;
    }
    return counts;
}

unsigned bucket_bits_for(std::span<const WeightedMember> members) {
    if (members.size() <= 1) return 0;
    auto bits = static_cast<unsigned>(std::bit_width(members.size() - 1));
    while (bits < most_bucket_bits && !within_one_percent(members, bucket_counts(members, bits), bits))
        bits++;
    return bits;
}

std::vector<uint32_t> share_buckets(std::span<const WeightedMember> members, unsigned bits,
                                    std::span<const uint32_t> before) {
    const std::vector<uint32_t> counts = bucket_counts(members, bits);
    std::unordered_map<uint32_t, uint32_t> wanted;  // by adjacency: buckets it is still to get
    for (size_t i = 0; i < members.size(); i++)
        wanted[members[i].first] += counts[i];

    const size_t size = size_t{1} << bits;
    assert(before.size() <= size);
    std::vector<uint32_t> buckets(size);
    std::vector<size_t> open;
    // The top bits of the hash choose the bucket: bucket i of many lies inside bucket i / (many / few) of
    // few.
    for (size_t i = 0; i < size; i++) {
        const uint32_t present = before.empty() ? 0 : before[i * before.size() / size];
        const auto found = before.empty() ? wanted.end() : wanted.find(present);
        if (found != wanted.end() && found->second > 0) {
            found->second--;
            buckets[i] = present;
        } else {
            open.push_back(i);
        }
    }
    auto next = open.begin();
    for (const auto& [adjacency, weight] : members)
        for (uint32_t& left = wanted[adjacency]; left > 0; left--)
            buckets[*next++] = adjacency;
    return buckets;
}

}  // namespace pktpit::fib
