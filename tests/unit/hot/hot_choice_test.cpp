// SPDX-License-Identifier: BSD-3-Clause
// The full table, Zipf(1.0) destinations, a budget of 16,384: how large a share of packets the chosen blocks
// decide about, against the best that any choice of as many blocks could.
#include "router/hot/hot_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>
#include <random>

#include "tests/property/internet_table.h"
#include "tests/sanitized.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::router {
namespace {

constexpr size_t budget = 16384;

/// Destinations of which the one of rank n comes with a probability of 1/n.
class ZipfTraffic {
  public:
    ZipfTraffic(std::vector<IpAddress> population, uint32_t seed)
        : population_(std::move(population)), random_(seed) {
        sums_.resize(population_.size());
        double sum = 0;
        for (size_t rank = 0; rank < sums_.size(); rank++)
            sums_[rank] = sum += 1.0 / static_cast<double>(rank + 1);
        shuffle();
    }
    /// Another set is popular from now on.
    void shuffle() { std::ranges::shuffle(population_, random_); }
    const IpAddress& next() {
        const double at = std::uniform_real_distribution<double>(0, sums_.back())(random_);
        return population_[static_cast<size_t>(std::ranges::lower_bound(sums_, at) - sums_.begin())];
    }
    /// What the best blocks decide about, if everything is known: the share of packets.
    double bound(const fib::FibImage& image) const {
        std::map<Prefix, double> blocks;
        for (size_t rank = 0; rank < population_.size(); rank++)
            blocks[image.uniform_block(population_[rank], 8)] +=
                (rank == 0 ? sums_[0] : sums_[rank] - sums_[rank - 1]) / sums_.back();
        std::vector<double> shares;
        for (const auto& [block, share] : blocks)
            shares.push_back(share);
        std::ranges::sort(shares, std::greater<>());
        return std::accumulate(shares.begin(),
                               shares.begin() + static_cast<ptrdiff_t>(std::min(budget, shares.size())), 0.0);
    }

  private:
    std::vector<IpAddress> population_;
    std::vector<double> sums_;
    std::mt19937 random_;
};

class HotChoiceTest : public testing::Test {
  protected:
    const size_t packets_a_tick = pktpit::test::few_rounds() ? 10'000 : 40'000;  // 400,000 a second
    const size_t samples_a_tick = packets_a_tick * 3 / 10;

    HotChoiceTest()
        : image_(capacity()),
          table_(image_->add_table().value()),
          routes_(*image_, table_),
          choice_(routes_) {
        routes_.set_budget(budget);
        std::map<uint32_t, fib::GroupId> groups;
        for (const auto& entry : test::internet_table(Family::ipv4)) {
            auto [at, is_new] = groups.try_emplace(entry.next_hop);
            if (is_new) at->second = image_.add_group();
            EXPECT_TRUE(image_->set(entry.prefix, at->second));
            prefixes_.push_back(entry.prefix);
        }
    }
    static fib::Capacity capacity() {
        fib::Capacity capacity;
        capacity.ports = 8;
        return capacity;
    }

    std::vector<IpAddress> population(size_t count) {
        std::mt19937 random(7);
        std::vector<Prefix> chosen = prefixes_;
        std::ranges::shuffle(chosen, random);
        chosen.resize(std::min(count, chosen.size()));
        std::vector<IpAddress> addresses;
        for (const Prefix& prefix : chosen) {
            const uint32_t host = prefix.length >= 32 ? 0 : static_cast<uint32_t>(random()) >> prefix.length;
            addresses.push_back(IpAddress::v4(prefix.address.v4_host_order() | host));
        }
        return addresses;
    }
    /// One tick of traffic; the share of it that the blocks decided about.
    double tick(ZipfTraffic& traffic) {
        size_t inside = 0;
        size_t sampled = 0;
        const size_t every = last_inside_ / samples_a_tick + 1;
        for (size_t i = 0; i < packets_a_tick; i++) {
            const IpAddress& address = traffic.next();
            if (image_->lookup(address, table_) != 0) {
                EXPECT_EQ(image_->lookup(address, table_), image_->lookup(address));
                if (inside++ % every == 0)
                    sampled++, choice_.hit(destination_of(address), static_cast<double>(every));
            } else {
                choice_.missed(destination_of(address), 1);
            }
        }
        choice_.passed(static_cast<double>(inside), static_cast<double>(packets_a_tick - inside));
        choice_.tick();
        last_inside_ = inside;
        return static_cast<double>(inside) / static_cast<double>(packets_a_tick);
    }
    double after_seconds(ZipfTraffic& traffic, double seconds) {
        for (int i = 0; i < static_cast<int>(seconds * 10); i++)
            tick(traffic);
        double sum = 0;
        for (int i = 0; i < 5; i++)
            sum += tick(traffic);
        return sum / 5;
    }

    test::TestImage image_;
    fib::TableId table_;
    HotRoutes routes_;
    HotChoice choice_;
    std::vector<Prefix> prefixes_;
    size_t last_inside_ = 0;
};

TEST_F(HotChoiceTest, ManyDestinations) {
    ZipfTraffic traffic(population(65536), 1);
    const double bound = traffic.bound(*image_);
    const double start = after_seconds(traffic, 3);
    const auto early = routes_.counts();
    const double later = after_seconds(traffic, 5);
    const auto before = routes_.counts();
    const double steady = after_seconds(traffic, 5);
    const auto after = routes_.counts();
    traffic.shuffle();
    const double changed = after_seconds(traffic, 3);
    const double settled = after_seconds(traffic, 8);
    std::printf(
        "65,536 destinations: bound %.4f; after 3 s %.4f, 8 s %.4f, 13 s %.4f; 3 s after a change %.4f, 11 s "
        "%.4f; "
        "%zu blocks, %zu candidates; promoted in the first 3 s %lu, then %.0f a second, table memory %lu "
        "KiB\n",
        bound, start, later, steady, changed, settled, routes_.size(), choice_.candidates(), early.promoted,
        static_cast<double>(after.promoted - before.promoted) / 5.5, image_->usage().node_bytes_taken >> 10);
    EXPECT_GE(start, 0.85);
    EXPECT_GE(changed, 0.85);
    EXPECT_GE(steady, bound * 0.95);
}

TEST_F(HotChoiceTest, AllPrefixes) {
    ZipfTraffic traffic(population(prefixes_.size()), 1);
    const double bound = traffic.bound(*image_);
    const double start = after_seconds(traffic, 3);
    const double later = after_seconds(traffic, 7);
    const double steady = after_seconds(traffic, 10);
    traffic.shuffle();
    const double changed = after_seconds(traffic, 3);
    std::printf(
        "all prefixes: bound %.4f; after 3 s %.4f, 10 s %.4f, 20 s %.4f; 3 s after a change %.4f; "
        "%zu blocks, %zu candidates\n",
        bound, start, later, steady, changed, routes_.size(), choice_.candidates());
    EXPECT_GE(steady, bound * 0.95);
}

// As when a table has outgrown the stages: what was busy while they held all comes in at once.
TEST_F(HotChoiceTest, knows_what_is_busy_when_the_whole_table_is_held_no_more) {
    ZipfTraffic traffic(population(4096), 3);
    routes_.hold_all(true);
    for (int i = 0; i < 10; i++)
        EXPECT_DOUBLE_EQ(tick(traffic), 1.0);
    EXPECT_EQ(routes_.size(), 0U);
    EXPECT_FALSE(choice_.promotes_now());
    routes_.hold_all(false);
    choice_.tick();
    choice_.tick();
    EXPECT_GT(routes_.size(), 1000U);
    EXPECT_GT(tick(traffic), 0.5);
}

}  // namespace
}  // namespace pktpit::router
