// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/eth_plan.h"

#include <algorithm>

namespace pktpit::router {
namespace {

uint16_t nearest_descriptors(uint16_t wanted, const rte_eth_desc_lim& limit) {
    const uint32_t align = std::max<uint16_t>(limit.nb_align, 1);
    const uint32_t most = limit.nb_max == 0 ? UINT16_MAX : limit.nb_max;
    const uint32_t aligned = (std::max<uint32_t>(wanted, limit.nb_min) + align - 1) / align * align;
    return static_cast<uint16_t>(std::min<uint32_t>(aligned, most));
}

/// The driver's own overhead of a frame over its MTU, by what it says of both (as rte_ethdev reckons).
uint32_t overhead(const rte_eth_dev_info& info) {
    if (info.max_mtu != UINT16_MAX && info.max_rx_pktlen > info.max_mtu)
        return info.max_rx_pktlen - info.max_mtu;
    return RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN;
}

uint32_t largest_mtu(const rte_eth_dev_info& info) {
    const uint32_t by_frame = info.max_rx_pktlen == 0
                                  ? UINT16_MAX
                                  : info.max_rx_pktlen - std::min(info.max_rx_pktlen, overhead(info));
    return std::min<uint32_t>(info.max_mtu == 0 ? UINT16_MAX : info.max_mtu, by_frame);
}

bool splits(const rte_eth_dev_info& info) {
    const uint64_t needed = RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT;
    return (info.rx_offload_capa & needed) == needed && info.rx_seg_capa.max_nseg >= 2 &&
           info.rx_seg_capa.multi_pools != 0;
}

}  // namespace

EthPlan plan_device(const rte_eth_dev_info& info, const EthWishes& wishes) {
    EthPlan plan;
    plan.rx_queues = std::min(wishes.queues, std::max<uint16_t>(info.max_rx_queues, 1));
    plan.tx_queues = std::min(wishes.queues, std::max<uint16_t>(info.max_tx_queues, 1));
    plan.rx_descriptors = nearest_descriptors(wishes.rx_descriptors, info.rx_desc_lim);
    plan.tx_descriptors = nearest_descriptors(wishes.tx_descriptors, info.tx_desc_lim);

    uint64_t rx = info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_IPV4_CKSUM;
    plan.checksum = rx != 0;
    plan.split = wishes.split && splits(info);
    if (plan.split)
        rx |= RTE_ETH_RX_OFFLOAD_BUFFER_SPLIT | (info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_SCATTER);
    // Without payloads of their own all mbufs are whole and of one pool: the driver may take its shortest
    // way, and give them back without a look at each. What does come in segments is then put into one before.
    const uint64_t tx = info.tx_offload_capa &
                        (wishes.split ? RTE_ETH_TX_OFFLOAD_MULTI_SEGS : RTE_ETH_TX_OFFLOAD_MBUF_FAST_FREE);
    plan.multi_segment = wishes.split && tx != 0;

    plan.conf.rxmode.offloads = rx;
    plan.conf.txmode.offloads = tx;
    plan.conf.rxmode.mtu = std::min(wishes.mtu, largest_mtu(info));
    plan.mtu_refused = plan.conf.rxmode.mtu < wishes.mtu;
    const uint64_t hash = info.flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP);
    if (plan.rx_queues > 1 && hash != 0) {
        plan.conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
        plan.conf.rx_adv_conf.rss_conf.rss_hf = hash;
        if ((info.rx_offload_capa & RTE_ETH_RX_OFFLOAD_RSS_HASH) != 0)
            plan.conf.rxmode.offloads |= RTE_ETH_RX_OFFLOAD_RSS_HASH;
    }
    plan.conf.intr_conf.rxq = wishes.interrupts ? 1 : 0;

    plan.rx = info.default_rxconf;
    plan.rx.offloads = rx & info.rx_queue_offload_capa;
    plan.tx = info.default_txconf;
    plan.tx.offloads = tx & info.tx_queue_offload_capa;
    return plan;
}

}  // namespace pktpit::router
