// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/rcu_barrier.h"

#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/sanitized.h"

namespace pktpit::router {
namespace {

TEST(RcuBarrier, is_membarrier_where_the_kernel_allows_it) {
    const auto barrier = RcuBarrier::make();
    ASSERT_TRUE(barrier) << barrier.error().to_string();
    EXPECT_FALSE(barrier->by_map());
    barrier->wait();
}

/// Seconds of one call.
template <class Call>
double time_of(const Call& call) {
    constexpr int calls = 20;
    const auto began = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; i++)
        call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() / calls;
}

// A grace period takes far longer than storing into a map that nobody has to wait for. Only the clock can
// tell, on a machine that has nothing else to do: not in the gate.
TEST(RcuBarrier, a_map_of_maps_waits_for_a_grace_period) {
    const auto barrier = RcuBarrier::make_by_map();
    ASSERT_TRUE(barrier) << barrier.error().to_string();
    EXPECT_TRUE(barrier->by_map());
    barrier->wait();
    if (pktpit::test::few_rounds()) return;
    const Fd plain(bpf_map_create(BPF_MAP_TYPE_ARRAY, "plain", 4, 4, 1, nullptr));
    ASSERT_TRUE(plain);
    const double without = time_of([&] {
        const uint32_t zero = 0;
        ASSERT_EQ(bpf_map_update_elem(plain.get(), &zero, &zero, BPF_ANY), 0);
    });
    const double with = time_of([&] { barrier->wait(); });
    std::printf("a store %.6f s, a map of maps %.6f s\n", without, with);
    EXPECT_GT(with, without * 20);
}

}  // namespace
}  // namespace pktpit::router
