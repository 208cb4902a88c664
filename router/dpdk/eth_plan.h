// SPDX-License-Identifier: BSD-3-Clause
/// How an Ethernet device is configured: what we wish for, cut down to what its driver offers. Whatever it
/// does not offer is done in software. Pure; any thread.
#pragma once

#include <rte_ethdev.h>

#include <cstdint>

namespace pktpit::router {

struct EthWishes {
    uint16_t queues = 1;
    uint16_t rx_descriptors = 512;
    uint16_t tx_descriptors = 512;
    uint32_t mtu = 1500;
    bool split = false;       ///< there is a pool for payloads
    bool interrupts = false;  ///< receive interrupts: the worker sleeps
};

struct EthPlan {
    rte_eth_conf conf{};
    rte_eth_rxconf rx{};
    rte_eth_txconf tx{};
    uint16_t rx_queues = 1;
    uint16_t tx_queues = 1;
    uint16_t rx_descriptors = 0;  ///< what the driver allows, nearest to the wish
    uint16_t tx_descriptors = 0;
    bool split = false;          ///< the driver splits receive buffers: header here, payload there
    bool multi_segment = false;  ///< it sends mbufs of several segments
    bool checksum = false;       ///< it verifies IPv4 header checksums
    bool mtu_refused = false;    ///< larger than the driver says it can; conf has the largest
};

EthPlan plan_device(const rte_eth_dev_info& info, const EthWishes& wishes);

/// Ethernet header, two VLAN tags: what a frame has beside its packet.
inline constexpr uint32_t link_layer_bytes = 14 + 2 * 4;

}  // namespace pktpit::router
