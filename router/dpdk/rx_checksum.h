// SPDX-License-Identifier: BSD-3-Clause
/// What a driver says of a packet's IPv4 header checksum. Pure; any thread.
#pragma once

#include <rte_mbuf.h>
#include <rte_mbuf_ptype.h>

namespace pktpit::router {

/// The NIC has verified the checksum of the header that the packet is routed by. Of a tunnel's packets most
/// drivers mean the inner header, so the driver has to say as well that it saw IPv4 and no tunnel; whoever
/// says nothing, "bad" or "none" leaves it to forward(), which counts what is really wrong.
inline bool ipv4_checksum_good(const rte_mbuf& mbuf) {
    return (mbuf.ol_flags & (RTE_MBUF_F_RX_IP_CKSUM_MASK | RTE_MBUF_F_RX_OUTER_IP_CKSUM_BAD)) ==
               RTE_MBUF_F_RX_IP_CKSUM_GOOD &&
           RTE_ETH_IS_IPV4_HDR(mbuf.packet_type) && (mbuf.packet_type & RTE_PTYPE_TUNNEL_MASK) == 0;
}

}  // namespace pktpit::router
