// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/mbuf_pool.h"

#include <rte_errno.h>
#include <rte_mbuf.h>

#include <algorithm>
#include <bit>

#include "router/dpdk/eal_log.h"
#include "router/dpdk/eth_plan.h"

namespace pktpit::router {
namespace {

constexpr unsigned cache = 256;  ///< mbufs a worker keeps for itself
constexpr uint32_t most_payloads = 65536;
constexpr uint32_t around = 256;  ///< mempool's header of an object, struct rte_mbuf, alignment

/// A frame of the largest MTU, with its tags, to whole cache lines.
uint16_t data_room(uint32_t slot_bytes) {
    return static_cast<uint16_t>(RTE_PKTMBUF_HEADROOM + RTE_ALIGN_CEIL(slot_bytes + link_layer_bytes, 128));
}

}  // namespace

size_t pool_bytes(uint32_t mbufs, uint32_t slot_bytes) {
    return size_t{mbufs} * (data_room(slot_bytes) + around);
}

Result<MbufPool> make_packet_pool(const std::string& name, uint32_t mbufs, uint32_t slot_bytes) {
    const EalWords said;
    MbufPool pool(
        rte_pktmbuf_pool_create(name.c_str(), mbufs, cache, 0, data_room(slot_bytes), SOCKET_ID_ANY));
    if (!pool)
        return tl::unexpected(
            said.error("/dpdk", "no memory for " + std::to_string(mbufs) + " packet buffers", rte_errno,
                       std::to_string(pool_bytes(mbufs, slot_bytes) >> 20) + " MiB"));
    return pool;
}

Result<MbufPool> make_payload_pool(const std::string& name, const offload::PeerMemory& memory,
                                   uint32_t slot_bytes) {
    const auto count = static_cast<uint32_t>(std::min<uint64_t>(memory.bytes() / slot_bytes, most_payloads));
    const rte_pktmbuf_extmem place{memory.cpu_bytes().data(), memory.iova(), memory.bytes(),
                                   static_cast<uint16_t>(slot_bytes)};
    const EalWords said;
    MbufPool pool(rte_pktmbuf_pool_create_extbuf(name.c_str(), count, std::min(cache, count / 2), 0,
                                                 static_cast<uint16_t>(slot_bytes), SOCKET_ID_ANY, &place,
                                                 1));
    if (!pool)
        return tl::unexpected(said.error("/dpdk/payload_memory",
                                         "no packet buffers for " + std::to_string(count) + " payloads there",
                                         rte_errno, "memory for " + std::to_string(count) + " headers"));
    return pool;
}

}  // namespace pktpit::router
