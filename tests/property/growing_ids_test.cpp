// SPDX-License-Identifier: BSD-3-Clause
// Readers beside a writer whose group ids become wider, and whose changes belong together.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "fib/reader.h"
#include "tests/sanitized.h"
#include "tests/unit/fib/cpu_variants.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::fib {
namespace {

using test::prefix;

class Beside : public testing::Test {
  protected:
    Beside()
        : geometry_(plan_geometry(capacity())),
          memory_(static_cast<std::byte*>(std::aligned_alloc(64, geometry_.image_bytes)), &std::free),
          image_({memory_.get(), geometry_.image_bytes}, geometry_, epochs_) {
        for (int i = 0; i < 66'000; i++)
            last_ = image_.add_group({}).value();
    }
    ~Beside() override { stop(); }
    static Capacity capacity() {
        return test::TestImage::small({.groups = 70'000, .roots = 6, .node_bytes = 4 << 20});
    }
    /// `round` is called with each variant in turn, inside the epoch, until stop().
    template <class Round>
    void start(Round round) {
        thread_ = std::thread([this, round] {
            EpochReader reader(epochs_);
            std::vector<FibReader> variants;
            for (const CpuVariant variant : test::cpu_variants())
                variants.emplace_back(image_.memory(), variant);
            while (!stop_.load(std::memory_order_relaxed)) {
                const EpochGuard inside(reader);
                round(variants[rounds_.fetch_add(1, std::memory_order_relaxed) % variants.size()]);
            }
        });
    }
    void stop() {
        stop_ = true;
        if (thread_.joinable()) thread_.join();
    }
    /// The reader has had its share.
    [[nodiscard]] bool enough() const { return rounds_ > pktpit::test::rounds_of(40'000U); }

    Epochs epochs_;
    pp_fib_geometry geometry_;
    std::unique_ptr<std::byte, decltype(&std::free)> memory_;
    FibImage image_;
    GroupId last_ = 0;
    std::atomic<bool> stop_ = false;
    std::atomic<uint64_t> rounds_ = 0, wrong_ = 0;
    std::thread thread_;
};

// A route that stays, among others in the same node whose ids become of two bytes, then of four, then of one
// again: its answer is the same at all times. And the others' are of the three that they may have.
TEST_F(Beside, IdsThatGrowAndShrink) {
    for (const TableId table : {image_.add_table().value(), TableId{0}}) {
        ASSERT_TRUE(image_.set(prefix("10.1.2.0/28"), 7, table));
        ASSERT_TRUE(image_.set(prefix("2001:db8:1:8000::/56"), 9, table));
        ASSERT_TRUE(image_.set(prefix("10.1.2.128/28"), 1, table));
        ASSERT_TRUE(image_.set(prefix("2001:db8:1:4000::/56"), 1, table));
    }
    const GroupId allowed[] = {1, 2, 300, 301, last_, last_ - 1};
    start([&](const FibReader& reader) {
        std::array<uint32_t, 64> v4{};
        std::array<Ip6Bytes, 64> v6{};
        for (uint32_t i = 0; i < 64; i++) {
            v4[i] = 0x0a010200u + i % 16 + i / 32 * 128;
            v6[i] = test::address(i / 32 ? "2001:db8:1:4000::1" : "2001:db8:1:8000::1").bytes;
            v6[i][7] = static_cast<uint8_t>(i);
        }
        std::array<GroupId, 64> found{};
        for (const TableId table : {0u, 1u})
            for (const bool six : {false, true}) {
                if (six)
                    reader.lookup_batch(v6, found, table);
                else
                    reader.lookup_batch(v4, found, table);
                for (size_t i = 0; i < 64; i++)
                    if (i < 32 ? found[i] != (six ? 9u : 7u)
                               : std::ranges::find(allowed, found[i]) == std::end(allowed))
                        wrong_++;
            }
    });
    std::mt19937 random(1);
    for (size_t step = 0; !enough(); step++) {
        // Now all narrow, now some wide; the compaction makes nodes narrow again.
        const size_t width = step / 16 % 3;
        const GroupId group = allowed[2 * width + random() % 2];
        const auto table = static_cast<TableId>(random() % 2);
        ASSERT_TRUE(
            image_.set(prefix(random() % 2 ? "10.1.2.128/28" : "2001:db8:1:4000::/56"), group, table));
        ASSERT_TRUE(image_.set(prefix("10.1.2.32/28"), group, table));
        ASSERT_TRUE(image_.set(prefix("10.1.2.0/23"), group, table));
        ASSERT_TRUE(image_.set(prefix("2001:db8:1::/48"), group, table));
        if (step % 5 == 0) {
            ASSERT_TRUE(image_.erase(prefix("10.1.2.0/23"), table));
            ASSERT_TRUE(image_.erase(prefix("2001:db8:1::/48"), table));
        }
        image_.compact(10);
    }
    stop();
    EXPECT_EQ(wrong_, 0u);
    EXPECT_GE(rounds_, 1000u);
}

// Two routes that apply() always changes together: a batch of lookups never sees them apart, in no variant,
// in tables with and without a root.
TEST_F(Beside, BatchesAreSeenWhole) {
    const TableId small = image_.add_table().value();
    const auto changes = [&](GroupId group) {
        // Far from each other, at different depths.
        std::vector<RouteChange> all;
        for (const char* text : {"10.0.0.0/8", "10.9.0.0/20", "198.51.100.7/32", "203.0.113.0/25",
                                 "2001:db8::/32", "2001:db8:0:1::/64", "2a00::1/128", "2620:fe::/48"})
            all.push_back({prefix(text), group});
        return all;
    };
    for (const TableId table : {TableId{0}, small})
        ASSERT_TRUE(image_.apply(changes(1), table));
    start([&](const FibReader& reader) {
        std::array<uint32_t, 64> v4{};
        std::array<Ip6Bytes, 64> v6{};
        static constexpr uint32_t places4[] = {0x0a000001, 0x0a090001, 0xc6336407, 0xcb007101};
        static const Ip6Bytes places6[] = {test::address("2001:db8:ffff::").bytes,
                                           test::address("2001:db8:0:1::1").bytes,
                                           test::address("2a00::1").bytes, test::address("2620:fe::9").bytes};
        for (size_t i = 0; i < 64; i++) {
            v4[i] = places4[i % 4];
            v6[i] = places6[i % 4];
        }
        std::array<GroupId, 64> found{};
        for (const TableId table : {TableId{0}, small})
            for (const bool six : {false, true}) {
                if (six)
                    reader.lookup_batch(v6, found, table);
                else
                    reader.lookup_batch(v4, found, table);
                for (const GroupId group : found)
                    wrong_ += group != found[0] || group == 0;
            }
    });
    const GroupId groups[] = {1, 2, 300, 301, last_};
    std::mt19937 random(1);
    size_t done = 0, refused = 0;
    while (!enough() || done < 100 || refused < 20) {
        auto all = changes(groups[random() % std::size(groups)]);
        // One in four finds the memory full at its end, and must never be seen.
        if (random() % 4 == 0) {
            for (uint32_t i = 0; i < 4096; i++)
                all.push_back({Prefix::of(IpAddress::v4(0x30000000u + (i << 16)), 32), 1});
            refused += !image_.apply(all, random() % 2 ? small : 0);
            continue;
        }
        ASSERT_TRUE(image_.apply(all, random() % 2 ? small : 0));
        done++;
    }
    stop();
    EXPECT_EQ(wrong_, 0u);
    std::printf("%zu batches, %zu refused, %llu reader rounds\n", done, refused,
                static_cast<unsigned long long>(rounds_));
}

}  // namespace
}  // namespace pktpit::fib
