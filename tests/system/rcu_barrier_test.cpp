// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/rcu_barrier.h"

#include <bpf/bpf.h>
#include <gtest/gtest.h>

#include <chrono>

namespace pktpit::router {
namespace {

using std::chrono::steady_clock;

/// Seconds for so many calls.
double time_of(const RcuBarrier& barrier, int calls) {
    const auto began = steady_clock::now();
    for (int call = 0; call < calls; call++)
        barrier.wait();
    return std::chrono::duration<double>(steady_clock::now() - began).count();
}

TEST(RcuBarrier, is_membarrier_where_the_kernel_allows_it) {
    const auto barrier = RcuBarrier::make();
    ASSERT_TRUE(barrier) << barrier.error().to_string();
    EXPECT_FALSE(barrier->by_map());
    EXPECT_LT(time_of(*barrier, 20) / 20, 0.1);
}

// A grace period takes far longer than storing into a map that nobody has to wait for, and far less than the
// sleep that would otherwise be left.
TEST(RcuBarrier, a_map_of_maps_waits_for_a_grace_period_and_does_not_sleep) {
    const auto barrier = RcuBarrier::make_by_map();
    ASSERT_TRUE(barrier) << barrier.error().to_string();
    EXPECT_TRUE(barrier->by_map());
    const Fd plain(bpf_map_create(BPF_MAP_TYPE_ARRAY, "plain", 4, 4, 1, nullptr));
    ASSERT_TRUE(plain);
    const auto began = steady_clock::now();
    for (uint32_t value = 0; value < 100; value++) {
        const uint32_t key = 0;
        ASSERT_EQ(bpf_map_update_elem(plain.get(), &key, &value, BPF_ANY), 0);
    }
    const double without = std::chrono::duration<double>(steady_clock::now() - began).count() / 100;
    const double with = time_of(*barrier, 20) / 20;
    const double membarrier = time_of(*RcuBarrier::make(), 20) / 20;
    std::printf("a store %.6f s, a map of maps %.6f s, membarrier %.6f s\n", without, with, membarrier);
    EXPECT_GT(with, without * 20);
    EXPECT_LT(with, 0.1);
}

}  // namespace
}  // namespace pktpit::router
