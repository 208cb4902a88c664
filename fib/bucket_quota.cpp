// SPDX-License-Identifier: BSD-3-Clause
#include "fib/bucket_quota.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace pktpit::fib {
namespace {

uint64_t total_weight(const std::vector<Claim>& claims) {
    return std::accumulate(claims.begin(), claims.end(), uint64_t{0},
                           [](uint64_t sum, const Claim& claim) { return sum + claim.weight; });
}

/// Exact shares as fractions of one denominator: scaled[i] / one buckets. Members whose part is less than a
/// bucket are given one, and the others share the rest.
struct Shares {
    std::vector<uint64_t> scaled;
    uint64_t one;
};

Shares exact_shares(const std::vector<Claim>& claims, uint32_t buckets) {
    std::vector<uint32_t> weights;
    weights.reserve(claims.size());
    for (const Claim& claim : claims)
        weights.push_back(claim.weight);
    std::ranges::sort(weights);
    uint64_t rest_weight = total_weight(claims);
    uint64_t rest = buckets;
    uint32_t heaviest_of_one = 0;
    for (uint32_t weight : weights) {
        if (weight * rest >= rest_weight) break;
        heaviest_of_one = weight;
        rest_weight -= weight;
        rest--;
    }
    // All of equal weight and one bucket each: nobody was left out.
    Shares shares{{}, std::max<uint64_t>(rest_weight, 1)};
    for (const Claim& claim : claims)
        shares.scaled.push_back(claim.weight <= heaviest_of_one ? shares.one : claim.weight * rest);
    return shares;
}

class Plan {
  public:
    Plan(const std::vector<Claim>& claims, uint32_t buckets)
        : claims_(claims), shares_(exact_shares(claims, buckets)), buckets_(buckets) {
        counts_.reserve(claims.size());
        for (size_t i = 0; i < claims.size(); i++) {
            if (is(i, ShareChange::shrinks))
                counts_.push_back(std::min(present(i), highest(i)));
            else if (is(i, ShareChange::grows))
                counts_.push_back(std::max(present(i), lowest(i)));
            else if (is(i, ShareChange::any))
                counts_.push_back(std::clamp(present(i), lowest(i), highest(i)));
            else
                counts_.push_back(present(i));
            given_ += counts_.back();
        }
    }

    std::vector<uint32_t> counts() && {
        if (given_ > buckets_) cut();
        if (given_ < buckets_) give();
        assert(given_ == buckets_);
        return std::move(counts_);
    }

  private:
    [[nodiscard]] uint32_t floor(size_t i) const {
        return static_cast<uint32_t>(shares_.scaled[i] / shares_.one);
    }
    [[nodiscard]] uint32_t ceil(size_t i) const {
        return static_cast<uint32_t>((shares_.scaled[i] + shares_.one - 1) / shares_.one);
    }
    [[nodiscard]] bool good(size_t i, uint32_t count) const {
        const uint64_t share = shares_.scaled[i];
        const uint64_t given = count * shares_.one;
        return (share > given ? share - given : given - share) * 100 < share;
    }
    /// The share rounded down; up where only that is within 1 %. And the other way round.
    [[nodiscard]] uint32_t lowest(size_t i) const {
        return !good(i, floor(i)) && good(i, ceil(i)) ? ceil(i) : floor(i);
    }
    [[nodiscard]] uint32_t highest(size_t i) const {
        return !good(i, ceil(i)) && good(i, floor(i)) ? floor(i) : ceil(i);
    }
    [[nodiscard]] bool is(size_t i, ShareChange change) const { return claims_[i].change == change; }
    [[nodiscard]] bool may_lose(size_t i) const {
        return is(i, ShareChange::shrinks) || is(i, ShareChange::any);
    }
    [[nodiscard]] bool should_win(size_t i) const {
        return is(i, ShareChange::grows) || is(i, ShareChange::any);
    }
    [[nodiscard]] uint32_t present(size_t i) const { return claims_[i].present; }

    /// How far above its share: in buckets, and as a part of its share.
    [[nodiscard]] auto by_excess() const {
        return [this](size_t a, size_t b) {
            return static_cast<int64_t>(counts_[a] * shares_.one - shares_.scaled[a]) <
                   static_cast<int64_t>(counts_[b] * shares_.one - shares_.scaled[b]);
        };
    }
    [[nodiscard]] auto by_fullness() const {
        return [this](size_t a, size_t b) {
            return counts_[a] * shares_.scaled[b] < counts_[b] * shares_.scaled[a];
        };
    }

    /// One by one from the fullest that has more than `bottom`, while too many are given.
    template <class Bottom, class Less>
    void cut_to(Bottom bottom, Less less) {
        std::vector<size_t> heap;
        for (size_t i = 0; i < counts_.size() && given_ > buckets_; i++)
            if (counts_[i] > bottom(i)) heap.push_back(i);
        std::ranges::make_heap(heap, less);
        while (given_ > buckets_ && !heap.empty()) {
            std::ranges::pop_heap(heap, less);
            const size_t fullest = heap.back();
            counts_[fullest]--;
            given_--;
            if (counts_[fullest] > bottom(fullest))
                std::ranges::push_heap(heap, less);
            else
                heap.pop_back();
        }
    }
    /// One by one to the emptiest that has less than `top`, while too few are given.
    template <class Top, class Less>
    void fill_to(Top top, Less less) {
        const auto more = [&less](size_t a, size_t b) { return less(b, a); };
        std::vector<size_t> heap;
        for (size_t i = 0; i < counts_.size() && given_ < buckets_; i++)
            if (counts_[i] < top(i)) heap.push_back(i);
        std::ranges::make_heap(heap, more);
        while (given_ < buckets_ && !heap.empty()) {
            std::ranges::pop_heap(heap, more);
            const size_t emptiest = heap.back();
            counts_[emptiest]++;
            given_++;
            if (counts_[emptiest] < top(emptiest))
                std::ranges::push_heap(heap, more);
            else
                heap.pop_back();
        }
    }

    void cut() {
        cut_to([this](size_t i) { return may_lose(i) ? lowest(i) : counts_[i]; }, by_excess());
        cut_to(
            [this](size_t i) {
                if (may_lose(i)) return floor(i);
                return is(i, ShareChange::grows) ? std::max(present(i), floor(i)) : counts_[i];
            },
            by_excess());
        // Others keep more than their share: what is missing is spread evenly.
        cut_to([this](size_t i) { return may_lose(i) ? 1 : std::max(present(i), 1u); }, by_fullness());
        // So many members have come that those that were there cannot keep what they have.
        cut_to([](size_t) { return 1u; }, by_fullness());
    }
    void give() {
        fill_to([this](size_t i) { return should_win(i) ? highest(i) : 0; }, by_excess());
        fill_to([this](size_t i) { return is(i, ShareChange::shrinks) ? std::min(present(i), ceil(i)) : 0; },
                by_excess());
        fill_to([this](size_t i) { return should_win(i) ? ceil(i) : 0; }, by_excess());
        // Rather than move more than anybody needs.
        fill_to([this](size_t i) { return is(i, ShareChange::shrinks) ? present(i) : 0; }, by_excess());
        // More came free than there is need for: its owner had more than its share.
        fill_to([this](size_t i) { return is(i, ShareChange::shrinks) ? 0 : ceil(i); }, by_excess());
        fill_to([this](size_t i) { return is(i, ShareChange::shrinks) ? 0 : buckets_; }, by_fullness());
        fill_to([this](size_t) { return buckets_; }, by_fullness());
    }

    const std::vector<Claim>& claims_;
    Shares shares_;
    uint32_t buckets_;
    uint64_t given_ = 0;
    std::vector<uint32_t> counts_;
};

}  // namespace

std::vector<uint32_t> quotas(const std::vector<Claim>& claims, uint32_t buckets) {
    assert(!claims.empty() && claims.size() <= buckets);
    return Plan(claims, buckets).counts();
}

bool within_one_percent(const std::vector<Claim>& claims, const std::vector<uint32_t>& counts,
                        uint32_t buckets) {
    const uint64_t total = total_weight(claims);
    for (size_t i = 0; i < claims.size(); i++) {
        const uint64_t share = uint64_t{claims[i].weight} * buckets;
        const uint64_t given = counts[i] * total;
        if ((share > given ? share - given : given - share) * 100 >= share) return false;
    }
    return true;
}

}  // namespace pktpit::fib
