// SPDX-License-Identifier: BSD-3-Clause
// Random FIBs, checks, rates and frames: the eBPF port stage and the workers' C++ let the same packets pass,
// at the same times of a given clock.
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <sys/utsname.h>

#include <array>
#include <iostream>
#include <memory>

#include "router/guard/guard_memory.h"
#include "router/guard/policer.h"
#include "router/xdp/kernel_support.h"
#include "tests/differential/random_traffic.h"
#include "tests/differential/router_stage.h"
#include "tests/sanitized.h"

namespace pktpit::test {
namespace {

constexpr uint16_t guarded_interfaces = 8;  // all that a random FIB has

void check_randomly(pp_guard& guard, Random& random) {
    for (uint16_t id = 1; id <= guarded_interfaces; id++)
        guard.interfaces[id].rpf = static_cast<uint8_t>(random.below(3));
}

/// Of the image: several are VRFs.
class GuardStage : public StageTest {};
class GuardStageOf : public GuardStage, public testing::WithParamInterface<uint32_t> {};

TEST_P(GuardStageOf, SourcesAreCheckedAlike) {
    const uint32_t rounds = 12, frames_per_round = rounds_of(8'000U);
    LoadedPortStage stage(fib::plan_geometry(random_capacity()), all_ports, all_ports,
                          {.vrfs = GetParam() > 1, .guards = PP_GUARD_RPF});
    std::cout << stage.program_facts(1) << "\n";
    const uint64_t seed = seed_of_run();
    const router::ImageView unguarded{stage.memory().data(), &stage.geometry()};
    std::array<uint32_t, PP_VERDICT_COUNT> seen{};
    std::array<uint32_t, PP_VERDICT_COUNT> else_seen{};
    for (uint32_t round = 0; round < rounds; round++) {
        Random random(seed + round);
        fib::FibImage image(stage.memory(), stage.geometry(), [] {});
        const RandomFib fib = fill_randomly(image, stage.memory().data(), random, GetParam());
        for (uint32_t i = 0; i < frames_per_round; i++) {
            if (i % 500 == 0) check_randomly(stage.guard(), random);
            const RandomFrame frame = random_frame(fib, random);
            const Comparison c = compare(stage, frame.port, frame.bytes);
            ASSERT_EQ(c.difference, "")
                << "seed " << seed << " round " << round << " frame " << i << " port " << frame.port << "\n"
                << hex(frame.bytes);
            seen[c.decision.verdict]++;
            if (c.decision.verdict != PP_DROP_RPF) continue;
            const std::span<const uint8_t> slice(frame.bytes.data(),
                                                 std::min<size_t>(frame.bytes.size(), PP_SLICE_BYTES));
            else_seen[router::forward(unguarded, frame.port, slice, static_cast<uint32_t>(frame.bytes.size()))
                          .verdict]++;
        }
    }
    // Agreeing is worth something only where it is tried.
    EXPECT_GT(seen[PP_FORWARDED], rounds_of(1000u));
    EXPECT_GT(seen[PP_HOST_LOCAL], rounds_of(50u));
    EXPECT_GT(else_seen[PP_FORWARDED], rounds_of(500u)) << "too few are dropped for the check alone";
    EXPECT_GT(else_seen[PP_HOST_LOCAL], rounds_of(20u));
    std::cout << seen[PP_DROP_RPF] << " dropped, of which " << else_seen[PP_FORWARDED]
              << " else forwarded and " << else_seen[PP_HOST_LOCAL] << " else to the host; "
              << seen[PP_FORWARDED] << " forwarded\n";
}

INSTANTIATE_TEST_SUITE_P(Tables, GuardStageOf, testing::Values(1, random_tables));

/// A twin of the stage in C++ that has its own buckets, filled as the stage's.
struct Twin {
    std::unique_ptr<pp_guard> guard = std::make_unique<pp_guard>();
    router::PublishedGuard published{guard.get()};
    router::Policer policer;

    pp_verdict verdict(const router::ImageView& image, uint16_t port, const Bytes& frame, uint64_t now) {
        const std::span<const uint8_t> slice(frame.data(), std::min<size_t>(frame.size(), PP_SLICE_BYTES));
        const router::Decision decision =
            router::forward(image, port, slice, static_cast<uint32_t>(frame.size()));
        return policer.police(
            *guard,
            {decision.verdict, router::action_of(decision.verdict), decision.ingress_interface,
             decision.l3_offset, slice, static_cast<uint32_t>(frame.size())},
            [now] { return now; });
    }
};

/// ARP, neighbour discovery, echo requests, BGP and others, to the host or through it; else a random one.
Bytes frame_to_police(const RandomFib& fib, Random& random, uint16_t& port) {
    using namespace router::test;
    if (random.one_in(2)) {
        RandomFrame frame = random_frame(fib, random);
        port = frame.port;
        return std::move(frame.bytes);
    }
    port = static_cast<uint16_t>(1 + random.below(random_ports));
    const Ethernet ethernet{Mac{2, 0, 0, 0, 0, static_cast<uint8_t>(port)}, peer};
    Buffer payload =
        transport(8 + random.below(300), random.one_in(2) ? 179 : 4000, random.one_in(2) ? 179 : 22);
    const uint8_t protocol = random.pick(std::array<uint8_t, 4>{1, 6, 17, 58});
    if (protocol == 58) payload[0] = static_cast<uint8_t>(random.pick(std::array{128, 133, 135, 137, 138}));
    switch (random.below(4)) {
        case 0:
            return frame(ethernet, Buffer(28, 1), 0x0806);
        case 1: {
            const std::string to = random.pick(fib.prefixes4).address.to_string();
            return frame(ethernet, Ipv4{.source = "198.18.0.1",
                                        .destination = random.one_in(3) ? "224.0.0.5" : std::string_view(to),
                                        .ttl = 255,
                                        .protocol = protocol,
                                        .payload = payload,
                                        .fragment = static_cast<uint16_t>(random.one_in(4) ? 3 : 0)});
        }
        default: {
            const std::string to = random.pick(fib.prefixes6).address.to_string();
            return frame(ethernet,
                         Ipv6{.source = "2001:db8:5::1",
                              .destination = random.one_in(3) ? "ff02::1:ff00:7" : std::string_view(to),
                              .hop_limit = static_cast<uint8_t>(random.one_in(2) ? 255 : 64),
                              .next = protocol,
                              .payload = payload});
        }
    }
}

TEST_F(GuardStage, RatesAreKeptToAlike) {
    const uint32_t rounds = few_rounds() ? 2 : 8, frames_per_round = 16'000;
    LoadedPortStage stage(fib::plan_geometry(random_capacity()), all_ports, all_ports,
                          {.guards = PP_GUARD_RPF | PP_GUARD_POLICE | PP_GUARD_HOST | PP_GUARD_GIVEN_CLOCK});
    std::cout << stage.program_facts(1) << "\n";
    const uint64_t seed = seed_of_run();
    std::array<uint32_t, PP_VERDICT_COUNT> seen{};
    Twin twin;
    router::GuardSet running;
    uint64_t now = 1'000'000'000;
    const router::ImageView view{stage.memory().data(), &stage.geometry(), nullptr, &twin.published};
    for (uint32_t round = 0; round < rounds; round++) {
        Random random(seed + round);
        fib::FibImage image(stage.memory(), stage.geometry(), [] {});
        const RandomFib fib = fill_randomly(image, stage.memory().data(), random);
        for (uint32_t i = 0; i < frames_per_round; i++) {
            // Rates change under way.
            if (i % (frames_per_round / 4) == 0) {
                router::GuardSet next;
                for (uint16_t id = 1; id <= guarded_interfaces; id++) {
                    router::GuardSet::Interface one{id, 1};
                    if (random.one_in(4)) one.rpf = config::Rpf::loose;
                    if (!random.one_in(3))
                        one.police_in = config::Rate{10'000u << random.below(3), 300u << random.below(3)};
                    next.interfaces.push_back(one);
                }
                next.host.arp = 50 + random.below(1000);
                next.host.icmp = 5 + random.below(100);
                if (!random.one_in(3)) next.host.bgp = 5 + random.below(50);
                next.host.other = 50 + random.below(1000);
                ASSERT_TRUE(router::number_buckets(next, running));
                router::write_guard(stage.guard(), running, next);
                router::write_guard(*twin.guard, running, next);
                running = next;
            }
            // Bursts, and silences between them.
            now += random.one_in(50) ? random.below(2'000'000) : random.below(20'000);
            stage.guard().clock = now;
            uint16_t port = 0;
            const Bytes frame = frame_to_police(fib, random, port);
            const pp_verdict expected = twin.verdict(view, port, frame, now);
            const Outcome outcome = stage.run(port, frame);
            ASSERT_STREQ(router::name_of(outcome.verdict), router::name_of(expected))
                << "seed " << seed << " round " << round << " frame " << i << " port " << port << "\n"
                << hex(frame);
            const pp_action action = router::action_of(expected);
            ASSERT_EQ(outcome.action, action == PP_ACTION_FORWARD ? XDP_REDIRECT
                                      : action == PP_ACTION_HOST  ? XDP_PASS
                                                                  : XDP_DROP);
            ASSERT_EQ(outcome.punts.size(), action == PP_ACTION_PUNT ? 1u : 0u);
            if (action != PP_ACTION_FORWARD) {
                ASSERT_EQ(outcome.frame, frame);
            }
            seen[expected]++;
        }
    }
    for (const pp_verdict wanted : {PP_FORWARDED, PP_DROP_RPF, PP_DROP_POLICE, PP_HOST_ARP, PP_DROP_HOST_ARP,
                                    PP_DROP_HOST_ICMP, PP_DROP_HOST_BGP, PP_DROP_HOST_OTHER}) {
        EXPECT_GT(seen[wanted], rounds_of(50u)) << router::name_of(wanted);
        std::cout << seen[wanted] << " " << router::name_of(wanted) << "\n";
    }
}

TEST_F(GuardStage, OffCostsNoInstruction) {
    utsname names{};
    ASSERT_EQ(::uname(&names), 0);
    if (router::kernel_version(names.release) < router::KernelVersion{6, 8})
        GTEST_SKIP() << "before Linux 6.8 a program has all its functions, called or not";
    const auto geometry = fib::plan_geometry(router::test::small_capacity());
    for (const uint32_t guards : {0U, PP_GUARD_RPF, PP_GUARD_POLICE, PP_GUARD_HOST}) {
        const LoadedPortStage stage(geometry, all_ports, all_ports, {.guards = guards});
        EXPECT_EQ(stage.refers_to(1, PP_MAP_GUARD), guards != 0) << guards;
        EXPECT_EQ(stage.refers_to(1, PP_MAP_POLICE_SHARES), (guards & (PP_GUARD_POLICE | PP_GUARD_HOST)) != 0)
            << guards;
    }
}

}  // namespace
}  // namespace pktpit::test
