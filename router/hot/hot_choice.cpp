// SPDX-License-Identifier: BSD-3-Clause
#include "router/hot/hot_choice.h"

#include <algorithm>
#include <cmath>

namespace pktpit::router {
namespace {

constexpr size_t most_candidates = 1 << 18;
constexpr size_t most_promotions = 4096;  ///< a tick
constexpr double clearly_busier = 1.3;
constexpr double fast_half_life = 6, slow_half_life = 40;  ///< ticks
/// A block has so many ticks to show what it is worth.
constexpr uint32_t trial = 4;
constexpr double too_large = 0x1p200;

}  // namespace

void HotChoice::missed(const pp_destination& destination, double packets) {
    const uint64_t key = neighbourhood_of(destination);
    auto found = candidates_.find(key);
    if (found == candidates_.end()) {
        if (candidates_.size() >= most_candidates) return;
        found = candidates_.emplace(key, Candidate{destination, 0}).first;
    }
    found.value().score += packets * weight_;
    found.value().destination = destination;
}

void HotChoice::hit(const pp_destination& destination, double packets) {
    if (routes_.holds_all()) return missed(destination, packets);
    if (HotBlock* block = routes_.covering(address_of(destination))) block->score += packets * weight_;
}

void HotChoice::passed(double inline_packets, double split_packets) {
    constexpr double keep = 0.8;
    recent_inline_ = recent_inline_ * keep + inline_packets;
    recent_split_ = recent_split_ * keep + split_packets;
}

double HotChoice::hit_rate() const {
    const double all = recent_inline_ + recent_split_;
    return all < 0.5 ? 0 : recent_inline_ / all;
}

double HotChoice::rate_of(const HotBlock& block) const {
    return scale_ > 0 ? block.score / scale_ / tick_seconds : 0;
}

void HotChoice::tick() {
    routes_.set_tick(tick_);
    if (promotes_now()) promote();
    age();
    tick_++;
}

std::vector<HotChoice::Ranked> HotChoice::best_candidates(size_t most) {
    std::vector<Ranked> ranked;
    ranked.reserve(candidates_.size());
    for (const auto& [key, candidate] : candidates_)
        ranked.push_back({candidate.score, candidate.destination});
    const auto busier = [](const Ranked& a, const Ranked& b) { return a.score > b.score; };
    if (ranked.size() > most) {
        std::ranges::nth_element(ranked, ranked.begin() + static_cast<ptrdiff_t>(most), busier);
        ranked.resize(most);
    }
    std::ranges::sort(ranked, busier);
    return ranked;
}

void HotChoice::promote() {
    auto ranked = best_candidates(most_promotions);
    const size_t done = install(ranked);
    if (done < ranked.size()) replace_cold(ranked, done);
}

/// Into free places. Returns how many are dealt with.
size_t HotChoice::install(std::vector<Ranked>& ranked) {
    for (size_t i = 0; i < ranked.size(); i++) {
        const IpAddress address = address_of(ranked[i].destination);
        // One of the same block may just have come in.
        HotBlock* block = routes_.covering(address);
        if (!block) {
            if (routes_.full()) return i;
            block = routes_.install(address);
        }
        if (block) block->score += ranked[i].score;
        candidates_.erase(neighbourhood_of(ranked[i].destination));
    }
    return ranked.size();
}

/// The busiest candidates against the coldest blocks, as long as they are clearly busier.
void HotChoice::replace_cold(const std::vector<Ranked>& ranked, size_t first) {
    struct Cold {
        double score;
        Prefix block;
    };
    std::vector<Cold> cold;
    cold.reserve(routes_.size());
    routes_.for_each([&](const Prefix& block, const HotBlock& state) {
        if (tick_ - state.since >= trial) cold.push_back({state.score, block});
    });
    const size_t most = std::min(cold.size(), ranked.size() - first);
    const auto colder = [](const Cold& a, const Cold& b) { return a.score < b.score; };
    std::ranges::partial_sort(cold, cold.begin() + static_cast<ptrdiff_t>(most), colder);
    for (size_t i = 0, victim = 0; first + i < ranked.size(); i++) {
        const Ranked& candidate = ranked[first + i];
        const IpAddress address = address_of(candidate.destination);
        HotBlock* block = routes_.covering(address);
        if (!block) {
            // One packet alone says nothing.
            if (victim == most || candidate.score < cold[victim].score * clearly_busier + weight_) return;
            // A block may have been taken into a larger one since.
            if (routes_.full() && !routes_.evict(cold[victim++].block)) continue;
            block = routes_.install(address);
        }
        if (block) block->score += candidate.score;
        candidates_.erase(neighbourhood_of(candidate.destination));
    }
}

void HotChoice::age() {
    steady_hit_rate_ = std::max(steady_hit_rate_ * 0.998, hit_rate());
    half_life_ =
        hit_rate() < steady_hit_rate_ - 0.1 ? fast_half_life : std::min(half_life_ + 0.5, slow_half_life);
    const double growth = std::exp2(1 / half_life_);
    scale_ += weight_;
    weight_ *= growth;
    // What was seen once, and long ago, is forgotten.
    const double forgotten = weight_ / 4;
    for (auto at = candidates_.begin(); at != candidates_.end();)
        at = at->second.score < forgotten ? candidates_.erase(at) : std::next(at);
    if (weight_ < too_large) return;
    const double factor = 1 / weight_;
    for (auto at = candidates_.begin(); at != candidates_.end(); ++at)
        at.value().score *= factor;
    routes_.for_each([&](const Prefix&, HotBlock& state) { state.score *= factor; });
    scale_ *= factor;
    weight_ = 1;
}

}  // namespace pktpit::router
