// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/eth_plan.h"

#include <gtest/gtest.h>

namespace pktpit::router {
namespace {

/// As net_af_packet describes itself: the least that a driver can promise.
rte_eth_dev_info basic() {
    rte_eth_dev_info info{};
    info.max_rx_queues = info.max_tx_queues = 1;
    info.max_rx_pktlen = 1518;
    info.min_mtu = 46;
    info.max_mtu = UINT16_MAX;
    return info;
}

/// A NIC with everything.
rte_eth_dev_info rich() {
    rte_eth_dev_info info = basic();
    info.max_rx_queues = info.max_tx_queues = 16;
    info.max_rx_pktlen = 9728;
    info.max_mtu = 9702;
    info.rx_offload_capa = RTE_ETH_RX_OFFLOAD_IPV4_CKSUM | RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT |
                           RTE_ETH_RX_OFFLOAD_SCATTER | RTE_ETH_RX_OFFLOAD_RSS_HASH |
                           RTE_ETH_RX_OFFLOAD_VLAN_STRIP;
    info.tx_offload_capa = RTE_ETH_TX_OFFLOAD_MULTI_SEGS | RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE;
    info.flow_type_rss_offloads = RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_VLAN;
    info.rx_seg_capa.multi_pools = 1;
    info.rx_seg_capa.max_nseg = 2;
    info.rx_desc_lim = {4096, 64, 32, 0, 0};
    info.tx_desc_lim = {256, 64, 32, 0, 0};
    return info;
}

TEST(EthPlan, ADriverWithoutOffloadsIsAskedForNone) {
    EthWishes wishes;
    wishes.queues = 4;
    wishes.split = true;
    const EthPlan plan = plan_device(basic(), wishes);
    EXPECT_EQ(plan.conf.rxmode.offloads, 0U);
    EXPECT_EQ(plan.conf.txmode.offloads, 0U);
    EXPECT_EQ(plan.rx_queues, 1);
    EXPECT_EQ(plan.tx_queues, 1);
    EXPECT_EQ(plan.conf.rxmode.mq_mode, RTE_ETH_MQ_RX_NONE);
    EXPECT_FALSE(plan.split || plan.multi_segment || plan.checksum);
    EXPECT_EQ(plan.rx_descriptors, wishes.rx_descriptors);
    EXPECT_FALSE(plan.mtu_refused);
}

TEST(EthPlan, WhatIsOfferedIsUsedAndNothingElse) {
    EthWishes wishes;
    wishes.queues = 4;
    wishes.split = true;
    wishes.mtu = 9000;
    const EthPlan plan = plan_device(rich(), wishes);
    EXPECT_EQ(plan.rx_queues, 4);
    EXPECT_TRUE(plan.split && plan.multi_segment && plan.checksum);
    EXPECT_EQ(plan.conf.rxmode.offloads & RTE_ETH_RX_OFFLOAD_VLAN_STRIP, 0U)
        << "tags are forward()'s to read";
    EXPECT_EQ(plan.conf.rxmode.mq_mode, RTE_ETH_MQ_RX_RSS);
    EXPECT_EQ(plan.conf.rx_adv_conf.rss_conf.rss_hf, RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP);
    EXPECT_EQ(plan.conf.rxmode.mtu, 9000U);
}

TEST(EthPlan, FastFreeOnlyWhileAllMbufsAreOfOnePool) {
    EthWishes wishes;
    EXPECT_EQ(plan_device(rich(), wishes).conf.txmode.offloads, RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
    wishes.split = true;
    EXPECT_EQ(plan_device(rich(), wishes).conf.txmode.offloads, RTE_ETH_TX_OFFLOAD_MULTI_SEGS);
}

TEST(EthPlan, NoSplitIntoOnePoolAndNoneOfOneSegment) {
    EthWishes wishes;
    wishes.split = true;
    rte_eth_dev_info info = rich();
    info.rx_seg_capa.multi_pools = 0;
    EXPECT_FALSE(plan_device(info, wishes).split);
    info = rich();
    info.rx_seg_capa.max_nseg = 1;
    EXPECT_FALSE(plan_device(info, wishes).split);
}

TEST(EthPlan, DescriptorsStayWithinTheDriversLimits) {
    EthWishes wishes;
    wishes.rx_descriptors = 50;
    wishes.tx_descriptors = 4096;
    const EthPlan plan = plan_device(rich(), wishes);
    EXPECT_EQ(plan.rx_descriptors, 64);
    EXPECT_EQ(plan.tx_descriptors, 256);
    wishes.rx_descriptors = 100;
    EXPECT_EQ(plan_device(rich(), wishes).rx_descriptors, 128) << "a multiple of 32";
}

TEST(EthPlan, AnMtuBeyondTheDriversIsCutAndSaid) {
    EthWishes wishes;
    wishes.mtu = 9000;
    const EthPlan plan = plan_device(basic(), wishes);
    EXPECT_TRUE(plan.mtu_refused);
    EXPECT_EQ(plan.conf.rxmode.mtu, 1500U);
}

TEST(EthPlan, InterruptsAreAskedForOnlyIfSomebodySleeps) {
    EthWishes wishes;
    EXPECT_EQ(plan_device(rich(), wishes).conf.intr_conf.rxq, 0U);
    wishes.interrupts = true;
    EXPECT_EQ(plan_device(rich(), wishes).conf.intr_conf.rxq, 1U);
}

}  // namespace
}  // namespace pktpit::router
