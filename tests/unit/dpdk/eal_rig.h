// SPDX-License-Identifier: BSD-3-Clause
/// DPDK's EAL for the tests of a process: without hugepages, devices or files. Started by the first test that
/// asks for it; it lives until the process ends, since it can be started but once.
#pragma once

#include <gtest/gtest.h>
#include <rte_ethdev.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "router/dpdk/eal.h"
#include "router/dpdk/eth_device.h"
#include "router/dpdk/mbuf_pool.h"
#include "router/dpdk/packet_io.h"

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

struct FreeMbuf {
    void operator()(rte_mbuf* mbuf) const { rte_pktmbuf_free(mbuf); }
};
using Mbuf = std::unique_ptr<rte_mbuf, FreeMbuf>;

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

/// A packet interface whose ports 1 and 2 are net_rings, which give back what is sent to them.
class IoTest : public EalTest {
  protected:
    static constexpr uint16_t in = 1;
    static constexpr uint16_t out = 2;

    void open_rings(offload::PeerMemory* payload_memory) {
        io = std::make_unique<EthPacketIo>(pool.get(), payload_memory, counters);
        ingress = open("net_ring", in);
        egress = open("net_ring", out);
        ASSERT_TRUE(ingress && egress);
    }
    void TearDown() override {
        if (!io) return EalTest::TearDown();
        io->remove(in);
        io->remove(out);
        io.reset();
        ingress.reset();
        egress.reset();
        EalTest::TearDown();
    }
    std::unique_ptr<EthDevice> open(const std::string& text, uint16_t id) {
        auto device = EthDevice::open(text, "/interfaces/test/device");
        if (!device) ADD_FAILURE() << device.error().to_string();
        if (!device) return nullptr;
        const auto started = (*device)->start({}, {pool.get(), nullptr});
        if (!started) ADD_FAILURE() << started.error().to_string();
        io->add({id, (*device)->id(), 0, {0}, (*device)->plan().multi_segment, false});
        return std::move(*device);
    }
    void arrive(rte_mbuf* mbuf) { ASSERT_EQ(rte_eth_tx_burst(ingress->id(), 0, &mbuf, 1), 1); }
    offload::HeaderSlice receive_one() {
        EXPECT_EQ(io->receive(slices), 1U);
        return slices[0];
    }
    static Mbuf departed_from(const EthDevice& device) {
        rte_mbuf* mbuf = nullptr;
        return Mbuf(rte_eth_rx_burst(device.id(), 0, &mbuf, 1) == 1 ? mbuf : nullptr);
    }
    Mbuf departed() { return departed_from(*egress); }
    /// As the control loop does it: the first 14 bytes of the slice make way for `header`.
    offload::EgressDescriptor rewritten(const offload::HeaderSlice& slice, const Bytes& header) const {
        uint8_t* begin = slice.bytes + 14 - header.size();
        std::memcpy(begin, header.data(), header.size());
        return {slice.slot, out, static_cast<uint16_t>(header.size() + slice.length - 14), begin,
                slice.frame_length - slice.length};
    }
    /// What leaves when it is submitted.
    Mbuf departed_with(const offload::HeaderSlice& slice, const Bytes& header) {
        const offload::EgressDescriptor descriptor = rewritten(slice, header);
        io->submit({&descriptor, 1});
        return departed();
    }

    WorkerCounters counters;
    std::unique_ptr<EthPacketIo> io;
    std::unique_ptr<EthDevice> ingress, egress;
    std::array<offload::HeaderSlice, 64> slices;
};

}  // namespace pktpit::router::test
