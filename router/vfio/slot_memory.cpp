// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/slot_memory.h"

#include <utility>

#include "router/loop/packet_io.h"

namespace pktpit::router {

SlotMemory::SlotMemory(uint32_t slot_bytes, Shared cells, Shared payloads, uint32_t main_slots,
                       offload::PeerMemory* peer, uint32_t peer_slots)
    : slot_bytes_(slot_bytes),
      main_slots_(main_slots),
      cells_(std::move(cells)),
      payloads_(std::move(payloads)),
      cells_base_(reinterpret_cast<uint8_t*>(cells_.mapping.bytes().data())) {
    static_assert(headroom == offload::header_headroom);
    static_assert(headroom + header_bytes <= header_cell_bytes);
    region_iova_[main_memory] = payloads_.iova;
    pools_[main_memory].emplace(main_memory, main_slots);
    if (!peer) return;
    region_iova_[peer_memory] = peer->iova();
    pools_[peer_memory].emplace(peer_memory, peer_slots);
}

}  // namespace pktpit::router
