// SPDX-License-Identifier: BSD-3-Clause
/// A pool of mbufs. Made by the daemon; its mbufs are the worker's and the drivers'.
#pragma once

#include <rte_mempool.h>

#include <memory>
#include <string>

#include "base/result.h"
#include "offload/memory/peer_memory.h"

namespace pktpit::router {

struct FreeMempool {
    void operator()(rte_mempool* pool) const { rte_mempool_free(pool); }
};
using MbufPool = std::unique_ptr<rte_mempool, FreeMempool>;

/// Bytes that a pool takes, with what DPDK needs around each mbuf.
size_t pool_bytes(uint32_t mbufs, uint32_t slot_bytes);

/// In DPDK's memory. Error: there is not enough of it.
Result<MbufPool> make_packet_pool(const std::string& name, uint32_t mbufs, uint32_t slot_bytes);

/// Mbufs in DPDK's memory whose bytes are slots of the payload memory, as many as it has room for; the memory
/// itself is not touched. It is to be mapped for the devices at its iova().
Result<MbufPool> make_payload_pool(const std::string& name, const offload::PeerMemory& memory,
                                   uint32_t slot_bytes);

}  // namespace pktpit::router
