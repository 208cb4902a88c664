// SPDX-License-Identifier: BSD-3-Clause
/// DPDK's EAL for the tests of a process: without hugepages, devices or files. Started by the first test that
/// asks for it; it lives until the process ends, since it can be started but once.
#pragma once

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <cstring>
#include <string>
#include <vector>

#include "router/dpdk/eal.h"
#include "router/dpdk/mbuf_pool.h"

namespace pktpit::router::test {

inline Eal* the_eal() {
    static const std::unique_ptr<Eal> eal = [] {
        EalPlan plan;
        plan.prefix = "pktpit-test-" + std::to_string(getpid());
        plan.cpu = a_cpu_of_ours();
        plan.hugepages = false;
        plan.memory = size_t{64} << 20;
        auto started = Eal::start(plan);
        if (!started) ADD_FAILURE() << started.error().to_string();
        return started ? std::move(*started) : nullptr;
    }();
    return eal.get();
}

using Bytes = std::vector<uint8_t>;

inline Bytes bytes_of(const rte_mbuf* mbuf) {
    Bytes out;
    for (const rte_mbuf* at = mbuf; at; at = at->next) {
        const auto* first = rte_pktmbuf_mtod(at, const uint8_t*);
        out.insert(out.end(), first, first + at->data_len);
    }
    return out;
}

inline Bytes counting(size_t length, uint8_t from = 0) {
    Bytes out(length);
    for (size_t i = 0; i < length; i++)
        out[i] = static_cast<uint8_t>(from + i * 7);
    return out;
}

inline rte_mbuf* mbuf_of(rte_mempool* pool, const Bytes& bytes) {
    rte_mbuf* mbuf = rte_pktmbuf_alloc(pool);
    if (mbuf)
        std::memcpy(rte_pktmbuf_append(mbuf, static_cast<uint16_t>(bytes.size())), bytes.data(),
                    bytes.size());
    return mbuf;
}

class EalTest : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_NE(the_eal(), nullptr);
        auto made = make_packet_pool("test-packets", mbufs, 2048);
        ASSERT_TRUE(made) << made.error().to_string();
        pool = std::move(*made);
    }
    void TearDown() override {
        if (pool) {
            EXPECT_EQ(rte_mempool_in_use_count(pool.get()), 0U) << "mbufs were lost";
        }
    }

    static constexpr uint32_t mbufs = 511;
    MbufPool pool;
};

}  // namespace pktpit::router::test
