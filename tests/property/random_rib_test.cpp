// SPDX-License-Identifier: BSD-3-Clause
// Random routes, withdrawals, failing next hops and refusals, against a RIB that looks at everything each
// time.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "fib/rib.h"
#include "tests/sanitized.h"

namespace pktpit::fib {
namespace {

class Model {
  public:
    std::map<std::pair<Prefix, RouteSource>, Route> routes;
    std::set<NextHopSetId> unusable;

    [[nodiscard]] std::optional<Route> best(const Prefix& prefix) const {
        std::optional<Route> best;
        for (const auto& [key, route] : routes) {
            if (key.first != prefix || unusable.contains(route.next_hops)) continue;
            if (!best || std::tuple(route.preference, route.metric, route.source) <
                             std::tuple(best->preference, best->metric, best->source))
                best = route;
        }
        return best;
    }
    [[nodiscard]] std::map<Prefix, NextHopSetId> fib() const {
        std::map<Prefix, NextHopSetId> result;
        for (const auto& [key, route] : routes)
            if (const auto found = best(key.first)) result[key.first] = found->next_hops;
        return result;
    }
};

class RandomRib : public testing::TestWithParam<uint32_t> {
  protected:
    RandomRib()
        : random_(GetParam()),
          rib_([this](const Prefix& prefix, const std::optional<Route>& best,
                      NextHopSetId second) -> Result<void> {
              if (refuse_ > 0 && --refuse_ == 0) return fail(prefix.to_string(), "refused");
              if (best) {
                  fib_[prefix] = best->next_hops;
                  seconds_[prefix] = second;
              } else {
                  fib_.erase(prefix);
                  seconds_.erase(prefix);
              }
              return {};
          }) {}

    uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_()) % limit; }
    Prefix prefix() {
        if (below(2)) return Prefix::of(IpAddress::v4(0x0a000000u + (below(4) << 22)), 8 + below(4));
        const uint8_t bytes[16] = {0x20, 1, static_cast<uint8_t>(below(4) << 6)};
        return Prefix::of(IpAddress::v6(bytes), 16 + 2 * below(3));
    }

    std::mt19937 random_;
    std::map<Prefix, NextHopSetId> fib_;
    std::map<Prefix, NextHopSetId> seconds_;
    uint32_t refuse_ = 0;
    Model model_;
    Rib rib_;
};

TEST_P(RandomRib, AgreesWithTheModel) {
    size_t refused = 0;
    for (int step = 0; step < 6000; step++) {
        Model wanted = model_;
        refuse_ = below(8) == 0 ? 1 + below(3) : 0;
        const uint32_t draw = below(10);
        bool good = true;
        if (draw < 6) {
            const Route route{prefix(), static_cast<RouteSource>(below(route_source_count)),
                              static_cast<uint8_t>(below(3)), below(3), 1 + below(5)};
            wanted.routes[{route.prefix, route.source}] = route;
            good = rib_.set(route).has_value();
        } else if (draw < 9) {
            const Prefix gone = prefix();
            const auto source = static_cast<RouteSource>(below(route_source_count));
            const bool was_there = wanted.routes.erase({gone, source}) > 0;
            const auto result = rib_.erase(gone, source);
            good = result.has_value();
            if (good) {
                ASSERT_EQ(*result, was_there);
            }
        } else {
            const NextHopSetId next_hops = 1 + below(5);
            const bool usable = below(2);
            if (usable)
                wanted.unusable.erase(next_hops);
            else
                wanted.unusable.insert(next_hops);
            good = rib_.set_usable(next_hops, usable).has_value();
        }
        if (good)
            model_ = wanted;
        else
            refused++;
        refuse_ = 0;

        ASSERT_EQ(fib_, model_.fib()) << "step " << step;
        std::map<std::pair<Prefix, RouteSource>, bool> seen;
        for (const Family family : {Family::ipv4, Family::ipv6}) {
            std::optional<Prefix> previous;
            rib_.for_each(family, [&](const Route& route, bool best) {
                EXPECT_TRUE(!previous || *previous <= route.prefix);
                previous = route.prefix;
                const Route& expected = model_.routes.at({route.prefix, route.source});
                EXPECT_EQ(route.next_hops, expected.next_hops);
                EXPECT_EQ(route.metric, expected.metric);
                EXPECT_EQ(route.preference, expected.preference);
                const auto model_best = model_.best(route.prefix);
                EXPECT_EQ(best, model_best && model_best->source == route.source);
                return seen.emplace(std::pair(route.prefix, route.source), best).second;
            });
        }
        ASSERT_EQ(seen.size(), model_.routes.size());
        size_t by_source = 0;
        for (size_t i = 0; i < route_source_count; i++)
            by_source += rib_.size(static_cast<RouteSource>(i));
        ASSERT_EQ(by_source, model_.routes.size());
        if (HasFailure()) return;
    }
    EXPECT_GT(refused, 50u);
}

// Sets that become usable or not while prefixes of earlier ones are still being told of, and routes that
// change in between; some of what is told is refused.
TEST_P(RandomRib, InPiecesAgreesInTheEnd) {
    size_t while_unsettled = 0;
    for (int round = 0; round < 300; round++) {
        for (int step = 0; step < 40; step++) {
            Model wanted = model_;
            refuse_ = below(10) == 0 ? 1 + below(3) : 0;
            const uint32_t draw = below(12);
            bool good = true;
            if (draw < 4) {
                const Route route{prefix(), static_cast<RouteSource>(below(route_source_count)),
                                  static_cast<uint8_t>(below(3)), below(3), 1 + below(5)};
                wanted.routes[{route.prefix, route.source}] = route;
                good = rib_.set(route).has_value();
            } else if (draw < 7) {
                const Prefix gone = prefix();
                const auto source = static_cast<RouteSource>(below(route_source_count));
                wanted.routes.erase({gone, source});
                good = rib_.erase(gone, source).has_value();
            } else if (draw < 9) {
                const NextHopSetId next_hops = 1 + below(5);
                const bool usable = below(2);
                if (usable)
                    wanted.unusable.erase(next_hops);
                else
                    wanted.unusable.insert(next_hops);
                rib_.begin_set_usable(next_hops, usable);
            } else {
                (void)rib_.settle(1 + below(3));
            }
            if (good) model_ = wanted;
            while_unsettled += !rib_.settled();
            for (const auto& [key, route] : model_.routes) {
                const auto best = rib_.best(key.first);
                const auto expected = model_.best(key.first);
                ASSERT_EQ(best.has_value(), expected.has_value()) << "the RIB itself is never late";
                if (best) {
                    ASSERT_EQ(best->source, expected->source);
                }
            }
        }
        refuse_ = 0;
        if (below(2)) continue;
        (void)rib_.settle(1000);
        rib_.retry();
        ASSERT_TRUE(rib_.settle(1000));
        ASSERT_TRUE(rib_.settled());
        ASSERT_EQ(fib_, model_.fib()) << "round " << round;
        for (const auto& [prefix, best] : fib_) {
            NextHopSetId second = 0;
            for (const Route& route : rib_.candidates(prefix))
                if (!model_.unusable.contains(route.next_hops) && route.next_hops != best && second == 0)
                    second = route.next_hops;
            ASSERT_EQ(seconds_.at(prefix), second) << prefix.to_string();
        }
    }
    EXPECT_GT(while_unsettled, 1000U);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomRib, testing::Range(1u, 1 + pktpit::test::rounds_of(8u)));

}  // namespace
}  // namespace pktpit::fib
