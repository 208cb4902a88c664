// SPDX-License-Identifier: BSD-3-Clause
/// Chooses what the port stage of auto ports holds: counts where packets go, keeps the busiest blocks
/// installed (hot_routes.h) and evicts the cold.
///
/// Each tick ages all counts by the same factor; instead of touching them, later packets weigh more. While
/// many packets miss the blocks, counts age fast, so that a new set of popular destinations is learnt within
/// a few seconds; else slowly, since a longer look ranks better. A destination takes an installed block's
/// place only if it is clearly busier. Work in a tick is bounded. One thread, the daemon's.
#pragma once

#include <tsl/robin_map.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "router/hot/destination.h"
#include "router/hot/hot_routes.h"

namespace pktpit::router {

class HotChoice {
  public:
    static constexpr double tick_seconds = 0.1;

    explicit HotChoice(HotRoutes& routes) : routes_(routes) {}

    /// A packet that the control loop decided about, standing for `packets`.
    void missed(const pp_destination& destination, double packets);
    /// A packet that the port stage forwarded. Of a stage that holds all, which may have to learn one day
    /// what is worth a block: a candidate.
    void hit(const pp_destination& destination, double packets);
    /// All packets of the tick, also those that no sample tells of: how fast counts age depends on it.
    void passed(double inline_packets, double split_packets);
    /// Is there anything to be installed? Call before promote(), so that the stage can be told.
    [[nodiscard]] bool promotes_now() const {
        return tick_ % 2 == 0 && !candidates_.empty() && !routes_.holds_all();
    }
    /// Evicts and installs; every other tick, so that each new block has 100 ms in which its flows change
    /// over. Then counts age.
    void tick();

    /// What a block's score is in packets a second.
    [[nodiscard]] double rate_of(const HotBlock& block) const;
    /// Share of packets that the stage decided about, over the last seconds; 0 without traffic.
    [[nodiscard]] double hit_rate() const;
    [[nodiscard]] size_t candidates() const { return candidates_.size(); }

  private:
    struct Candidate {
        pp_destination destination{};
        double score = 0;
    };
    struct Ranked {
        double score;
        pp_destination destination;
    };
    void promote();
    std::vector<Ranked> best_candidates(size_t most);
    size_t install(std::vector<Ranked>& ranked);
    void replace_cold(const std::vector<Ranked>& ranked, size_t first);
    void age();

    HotRoutes& routes_;
    tsl::robin_map<uint64_t, Candidate> candidates_;
    double weight_ = 1;      ///< of a packet of this tick
    double half_life_ = 10;  ///< ticks
    double scale_ = 0;       ///< sum of the weights of all ticks: a score divided by it is packets a tick
    double recent_inline_ = 0, recent_split_ = 0;  ///< of the last second or so
    double steady_hit_rate_ = 0;
    uint32_t tick_ = 0;
};

}  // namespace pktpit::router
