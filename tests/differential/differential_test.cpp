// SPDX-License-Identifier: BSD-3-Clause
// Random FIBs, random and broken frames: the eBPF port stage and forward() must agree on every one of them.
#include <gtest/gtest.h>

#include <array>
#include <iomanip>
#include <iostream>

#include "tests/differential/random_traffic.h"
#include "tests/differential/router_stage.h"
#include "tests/sanitized.h"

namespace pktpit::test {
namespace {

constexpr uint32_t fibs = 16;  // each with a FIB of its own
const uint32_t frames_per_fib = rounds_of(16'000U);

/// Verdicts that neither side can come to with the devmap complete, rings open and headroom as the kernel
/// gives.
bool is_reachable(int verdict) {
    // From "no headroom" on the reasons are a dataplane's, not a decision's, but for these.
    const bool late = verdict == PP_DROP_SOURCE_MAC || verdict == PP_DROP_OWN_SOURCE ||
                      verdict == PP_DROP_BROADCAST_SOURCE || verdict == PP_HOST_KERNEL_ROUTE;
    return late || (verdict != PP_NONE && verdict != PP_DROP_PUNT_FULL && verdict < PP_DROP_NO_HEADROOM);
}

/// Of the image: several are VRFs.
class Differential : public StageTest, public testing::WithParamInterface<uint32_t> {};

TEST_P(Differential, PortStageAndForwardAgreeOnRandomFrames) {
    LoadedPortStage stage(fib::plan_geometry(random_capacity()), all_ports, all_ports,
                          {.vrfs = GetParam() > 1});
    const uint64_t seed = seed_of_run();

    std::array<uint32_t, PP_VERDICT_COUNT> seen{};
    uint64_t counted = 0;
    uint64_t cut = 0;
    for (uint32_t round = 0; round < fibs; round++) {
        Random random(seed + round);
        fib::FibImage image(stage.memory(), stage.geometry(), [] {});
        const RandomFib fib = fill_randomly(image, stage.memory().data(), random, GetParam());
        for (uint32_t i = 0; i < frames_per_fib; i++) {
            const RandomFrame frame = random_frame(fib, random);
            const Comparison c = compare(stage, frame.port, frame.bytes);
            ASSERT_EQ(c.difference, "")
                << "seed " << seed << " round " << round << " frame " << i << " port " << frame.port << "\n"
                << hex(frame.bytes);
            seen[c.decision.verdict]++;
            counted += c.outcome.route.packets;
            cut += c.decision.trailer != 0;
        }
    }
    // Agreeing is worth something only where it is tried.
    EXPECT_GT(counted, rounds_of(1000u)) << "too few frames of counted routes";
    EXPECT_LT(counted, seen[PP_FORWARDED]) << "every route is counted";
    EXPECT_GT(cut, rounds_of(500u)) << "too few trailers";
    std::cout << fibs * frames_per_fib << " frames:\n";
    for (int i = 0; i < PP_VERDICT_COUNT; i++) {
        if (!is_reachable(i)) continue;
        const char* name = router::name_of(static_cast<pp_verdict>(i));
        std::cout << std::setw(9) << seen[i] << "  " << name << "\n";
        if (few_rounds()) continue;  // fewer frames: the rare ones may not be among them
        EXPECT_GE(seen[i], 10u) << "too few frames end as " << name;
    }
}

INSTANTIATE_TEST_SUITE_P(Tables, Differential, testing::Values(1, random_tables));

}  // namespace
}  // namespace pktpit::test
