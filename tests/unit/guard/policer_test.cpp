// SPDX-License-Identifier: BSD-3-Clause
// Rates, with a given clock: what passes of an offered load, by one CPU and by several that share a budget.
#include "router/guard/policer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "router/forward/forward.h"
#include "router/guard/guard_memory.h"

namespace pktpit::router {
namespace {

constexpr uint16_t interface = 7;
constexpr uint64_t second = 1'000'000'000;

class Rates : public testing::Test {
  protected:
    void limit(uint64_t bits, uint64_t burst) {
        GuardSet set;
        set.interfaces = {{interface, 1, config::Rpf::off, config::Rate{bits, burst}}};
        change(set);
    }
    void limit_host(const config::HostPolice& host) {
        GuardSet set;
        set.host = host;
        change(set);
    }
    void change(GuardSet set) {
        ASSERT_TRUE(number_buckets(set, running_));
        write_guard(*guard_, running_, set);
        running_ = std::move(set);
    }
    pp_verdict ip(Policer& policer, uint32_t bytes, uint64_t now) {
        std::array<uint8_t, 34> frame{};
        frame[12] = 8;
        frame[14] = 0x45;
        frame[23] = 17;
        const Policer::Packet packet{PP_FORWARDED, PP_ACTION_FORWARD, interface, 14, frame, bytes};
        return policer.police(*guard_, packet, [now] { return now; });
    }

    std::unique_ptr<pp_guard> guard_ = std::make_unique<pp_guard>();
    GuardSet running_;
};

TEST_F(Rates, OfTwiceTheRateHalfPasses) {
    std::mt19937 random(7);
    for (const uint64_t bits : {1'000'000ull, 100'000'000ull, 40'000'000'000ull}) {
        limit(bits, config::default_burst(bits));
        Policer policer;
        uint64_t offered = 0, passed = 0;
        double now = 5e9;
        const double begin = now;
        while (offered < bits / 8 * 4 && now - begin < 2e9) {
            const uint32_t bytes = 64 + random() % 1437;
            now += bytes * 8e9 / (2.0 * static_cast<double>(bits));
            offered += bytes;
            if (ip(policer, bytes, static_cast<uint64_t>(now)) == PP_FORWARDED) passed += bytes;
        }
        const double budget = static_cast<double>(bits) / 8 * (now - begin) / 1e9;
        const auto burst = static_cast<double>(config::default_burst(bits));
        EXPECT_LE(static_cast<double>(passed), budget * 1.0001 + burst) << bits;
        EXPECT_GE(static_cast<double>(passed), budget * 0.9999) << bits;
    }
}

// A CPU has something left, less than a packet, and takes less than a packet: a rate of small numbers.
TEST_F(Rates, WhatIsLeftCountsWhereAShareIsSmallerThanAPacket) {
    constexpr uint64_t burst = 2000;
    limit(8'000, burst);
    for (uint32_t first = 40; first < 200; first++) {
        limit(8'000, burst + first);  // another rate: a full bucket
        Policer policer;
        uint64_t passed = 0;
        for (const uint32_t bytes : {first, 142U, 60U, 1200U, 142U})
            for (int i = 0; i < 20; i++)
                if (ip(policer, bytes, second) == PP_FORWARDED) passed += bytes;
        ASSERT_LE(passed, burst + first) << first;
        ASSERT_GE(passed, burst / 2) << first;
    }
}

TEST_F(Rates, WhatKeepsToTheRatePassesWhole) {
    limit(8'000'000, 10'000);  // a byte a microsecond
    Policer policer;
    for (uint64_t i = 1; i < 20'000; i++)
        ASSERT_EQ(ip(policer, 1000, i * 1'001'000), PP_FORWARDED) << i;
}

TEST_F(Rates, ABurstPassesAndNoMore) {
    limit(8'000'000, 10'000);
    Policer policer;
    for (const uint64_t now : {second, 3 * second}) {
        int passed = 0;
        for (int i = 0; i < 100; i++)
            passed += ip(policer, 500, now) == PP_FORWARDED ? 1 : 0;
        EXPECT_LE(passed, 20);
        EXPECT_GE(passed, 18);  // a CPU takes a sixteenth at once
    }
    EXPECT_EQ(ip(policer, 10'001, 9 * second), PP_DROP_POLICE);  // longer than the burst
}

TEST_F(Rates, ArpAndNeighbourDiscoveryPass) {
    limit(1'000, 2'000);
    Policer policer;
    while (ip(policer, 1000, second) == PP_FORWARDED) {
    }
    std::array<uint8_t, 60> frame{};
    frame[12] = 8;
    frame[13] = 6;
    const auto clock = [] { return second; };
    EXPECT_EQ(policer.police(*guard_, {PP_HOST_ARP, PP_ACTION_HOST, interface, 14, frame, 1000}, clock),
              PP_HOST_ARP);
    frame[12] = 0x86;
    frame[13] = 0xdd;
    frame[20] = 58;
    frame[21] = 255;
    frame[54] = 135;
    const auto icmpv6 = [&] {
        return policer.police(*guard_, {PP_HOST_MULTICAST, PP_ACTION_HOST, interface, 14, frame, 1000},
                              clock);
    };
    EXPECT_EQ(icmpv6(), PP_HOST_MULTICAST);
    frame[21] = 254;  // it has met a router
    EXPECT_EQ(icmpv6(), PP_DROP_POLICE);
    frame[21] = 255;
    frame[54] = 128;
    EXPECT_EQ(icmpv6(), PP_DROP_POLICE);
}

TEST_F(Rates, ClassesOfTheHostHaveTheirOwn) {
    limit_host({.icmp = 100, .bgp = 1000});
    Policer policer;
    std::array<uint8_t, 54> frame{};
    const auto passed_of = [&](uint8_t protocol, uint16_t port, int packets) {
        frame[12] = 8;
        frame[14] = 0x45;
        frame[23] = protocol;
        frame[36] = static_cast<uint8_t>(port >> 8);
        frame[37] = static_cast<uint8_t>(port);
        std::vector<pp_verdict> verdicts;
        int passed = 0;
        for (int i = 0; i < packets; i++) {
            const pp_verdict verdict = policer.police(
                *guard_, {PP_HOST_LOCAL, PP_ACTION_HOST, 3, 14, frame, 54}, [] { return 7 * second; });
            passed += verdict == PP_HOST_LOCAL ? 1 : 0;
            if (verdict != PP_HOST_LOCAL) verdicts.push_back(verdict);
        }
        const pp_verdict expected = protocol == 1 ? PP_DROP_HOST_ICMP : PP_DROP_HOST_BGP;
        EXPECT_TRUE(std::ranges::all_of(verdicts, [&](pp_verdict one) { return one == expected; }));
        return passed;
    };
    EXPECT_EQ(passed_of(1, 0, 1000), 10);
    const int bgp = passed_of(6, 179, 1000);
    EXPECT_LE(bgp, 100);
    EXPECT_GE(bgp, 94);  // a CPU takes a sixteenth at once
    EXPECT_EQ(passed_of(6, 22, 1000), 1000);
    EXPECT_EQ(passed_of(17, 179, 1000), 1000);
    // What the kernel is to forward is not the host's.
    frame[23] = 1;
    EXPECT_EQ(policer.police(*guard_, {PP_HOST_KERNEL_ROUTE, PP_ACTION_HOST, 3, 14, frame, 54},
                             [] { return 7 * second; }),
              PP_HOST_KERNEL_ROUTE);
}

TEST_F(Rates, SeveralCpusShareOneBudget) {
    constexpr int cpus = 8;
    limit(80'000'000, 100'000);
    std::vector<std::unique_ptr<Policer>> policers;
    for (int i = 0; i < cpus; i++)
        policers.push_back(std::make_unique<Policer>());
    std::mt19937 random(11);
    uint64_t passed = 0;
    uint64_t now = second;
    for (int i = 0; i < 200'000; i++) {
        now += 10'000;
        if (ip(*policers[random() % cpus], 1000, now) == PP_FORWARDED) passed += 1000;
    }
    const uint64_t budget = (now - second) / 100;
    EXPECT_LE(passed, budget + 100'000);
    EXPECT_GE(passed, budget - cpus * 100'000 / 16);
}

TEST_F(Rates, ThreadsTakeNoMoreThanThereIs) {
    constexpr int cpus = 4;
    limit(8'000'000, 1'600'000);
    std::atomic<uint64_t> passed{0};
    std::vector<std::thread> threads;
    for (int cpu = 0; cpu < cpus; cpu++)
        threads.emplace_back([&] {
            Policer policer;
            uint64_t mine = 0;
            for (int i = 0; i < 20'000; i++)
                mine += ip(policer, 100, second) == PP_FORWARDED ? 100 : 0;
            passed += mine;
        });
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_LE(passed, 1'600'000u);
    EXPECT_GE(passed, 1'600'000u - cpus * 100'000u);
}

TEST_F(Rates, AChangeTakesEffectAndWhatStaysGoesOn) {
    limit(8'000'000, 10'000);
    Policer policer;
    while (ip(policer, 500, second) == PP_FORWARDED) {
    }
    GuardSet same = running_;
    same.interfaces.push_back({8, 1, config::Rpf::strict});
    change(same);
    EXPECT_EQ(ip(policer, 500, second), PP_DROP_POLICE);
    limit(8'000'000, 20'000);
    EXPECT_EQ(ip(policer, 500, second), PP_FORWARDED);
    change({});
    for (int i = 0; i < 1000; i++)
        ASSERT_EQ(ip(policer, 9000, second), PP_FORWARDED);
}

}  // namespace
}  // namespace pktpit::router
