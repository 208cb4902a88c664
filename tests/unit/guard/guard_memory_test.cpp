// SPDX-License-Identifier: BSD-3-Clause
// The block of guards: what is wanted stands there, and nothing of what is wanted no more.
#include "router/guard/guard_memory.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <set>

namespace pktpit::router {
namespace {

using config::Rate;
using config::Rpf;

TEST(GuardMemory, PortsHaveWhatTheirInterfacesHave) {
    GuardSet set;
    set.interfaces = {{1, 1, Rpf::strict}, {5, 2, Rpf::off, Rate{1'000'000, 32'768}}, {6, 2, Rpf::loose}};
    EXPECT_EQ(set.of_port(1), PP_GUARD_RPF);
    EXPECT_EQ(set.of_port(2), PP_GUARD_RPF | PP_GUARD_POLICE);
    EXPECT_EQ(set.of_port(3), 0u);
    set.host.arp = 1;
    EXPECT_EQ(set.of_port(3), PP_GUARD_HOST);
    EXPECT_FALSE(GuardSet().any());
}

TEST(GuardMemory, ABucketStaysAnInterfacesAndIsNobodyElses) {
    GuardSet running;
    running.interfaces = {{1, 1, Rpf::off, Rate{1'000'000, 32'768}},
                          {2, 1, Rpf::off, Rate{2'000'000, 32'768}}};
    ASSERT_TRUE(number_buckets(running, {}));
    EXPECT_EQ(running.interfaces[0].bucket, PP_HOST_CLASSES);
    GuardSet next;
    next.interfaces = {{3, 1, Rpf::off, Rate{1'000, 32'768}}, {2, 1, Rpf::off, Rate{2'000'000, 32'768}}};
    ASSERT_TRUE(number_buckets(next, running));
    EXPECT_EQ(next.interfaces[1].bucket, running.interfaces[1].bucket);
    EXPECT_NE(next.interfaces[0].bucket, next.interfaces[1].bucket);
}

TEST(GuardMemory, TooManyRatesAreRefused) {
    GuardSet set;
    for (uint16_t id = 1; id <= PP_BUCKETS - PP_HOST_CLASSES; id++)
        set.interfaces.push_back({id, 1, Rpf::off, Rate{1'000'000, 32'768}});
    EXPECT_TRUE(number_buckets(set, {}));
    set.interfaces.push_back({5000, 1, Rpf::off, Rate{1'000'000, 32'768}});
    const auto refused = number_buckets(set, {});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().to_string().find("1020"), std::string::npos) << refused.error().to_string();
}

// Whatever came before, the block says what is wanted.
TEST(GuardMemory, ChangesLeaveNothingBehind) {
    std::mt19937 random(3);
    auto block = std::make_unique<pp_guard>();
    GuardSet running;
    for (int change = 0; change < 200; change++) {
        GuardSet next;
        for (uint16_t id = 1; id < 30; id++) {
            if (random() % 2 == 0) continue;
            GuardSet::Interface one{id, static_cast<uint16_t>(1 + id % 4)};
            one.rpf = std::array{Rpf::off, Rpf::loose, Rpf::strict}[random() % 3];
            if (random() % 2 == 0) one.police_in = Rate{1'000'000 * (1 + random() % 3), 32'768};
            next.interfaces.push_back(one);
        }
        if (random() % 2 == 0) next.host.bgp = 100 + random() % 3;
        ASSERT_TRUE(number_buckets(next, running));
        write_guard(*block, running, next);
        running = next;

        auto fresh = std::make_unique<pp_guard>();
        write_guard(*fresh, {}, next);
        ASSERT_EQ(std::memcmp(block->interfaces, fresh->interfaces, sizeof fresh->interfaces), 0);
        ASSERT_EQ(std::memcmp(&block->buckets[0], &fresh->buckets[0], PP_HOST_CLASSES * sizeof(pp_bucket)),
                  0);
        std::set<uint16_t> used;
        for (const auto& one : next.interfaces) {
            if (one.bucket == 0) continue;
            ASSERT_TRUE(used.insert(one.bucket).second);
            ASSERT_EQ(block->buckets[one.bucket].cost, fresh->buckets[one.bucket].cost);
            ASSERT_EQ(block->buckets[one.bucket].depth, fresh->buckets[one.bucket].depth);
        }
    }
}

}  // namespace
}  // namespace pktpit::router
