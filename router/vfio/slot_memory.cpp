// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/slot_memory.h"

#include <algorithm>
#include <utility>

#include "router/loop/packet_io.h"

namespace pktpit::router {

using offload::ByteRange;

SlotMemory::SlotMemory(uint32_t slot_bytes, Shared cells, Shared payloads, const Region& main,
                       offload::PeerMemory* peer, offload::Iova peer_iova, const Region& peer_region)
    : slot_bytes_(slot_bytes),
      cells_(std::move(cells)),
      payloads_(std::move(payloads)),
      cells_base_(reinterpret_cast<uint8_t*>(cells_.mapping.bytes().data())),
      peer_(peer) {
    static_assert(headroom == offload::header_headroom);
    static_assert(headroom + header_bytes <= header_cell_bytes);
    regions_[main_memory] = pools_of(main_memory, payloads_.iova, main);
    if (peer) regions_[peer_memory] = pools_of(peer_memory, peer_iova, peer_region);
}

SlotMemory::Pools SlotMemory::pools_of(uint8_t region, offload::Iova iova, const Region& shared) {
    Pools result{.slots = shared.slots, .iova = iova, .parts = shared.parts, .pools = {}, .part_of = {}};
    result.part_of.resize(shared.slots);
    for (size_t part = 0; part < shared.parts.size(); part++) {
        const SlotRange& range = shared.parts[part];
        result.pools.emplace_back(region, range.count, range.first);
        std::fill_n(result.part_of.begin() + range.first, range.count, static_cast<uint8_t>(part));
    }
    return result;
}

size_t SlotMemory::free(uint8_t region) const {
    size_t free = 0;
    for (const offload::SlotPool& pool : regions_[region].pools)
        free += pool.free();
    return free;
}

Result<void> SlotMemory::map_main(offload::DmaDomain& domain, uint8_t part) const {
    const SlotRange& main = regions_[main_memory].parts[part];
    // The cells of peer memory's slots lie behind those of main memory's.
    std::vector<ByteRange> cells{
        {uint64_t{main.first} * header_cell_bytes, uint64_t{main.count} * header_cell_bytes}};
    if (has(peer_memory)) {
        const SlotRange& peer = regions_[peer_memory].parts[part];
        cells.push_back({(uint64_t{regions_[main_memory].slots} + peer.first) * header_cell_bytes,
                         uint64_t{peer.count} * header_cell_bytes});
    }
    if (auto mapped = map_partly_writable(domain, cells_.mapping.bytes(), cells_.iova, cells); !mapped)
        return mapped;
    const ByteRange payloads{uint64_t{main.first} * slot_bytes_, uint64_t{main.count} * slot_bytes_};
    auto mapped = map_partly_writable(domain, payloads_.mapping.bytes(), payloads_.iova, {&payloads, 1});
    if (!mapped) (void)domain.unmap(cells_.iova, cells_.mapping.bytes().size());
    return mapped;
}

Result<void> SlotMemory::map_peer(const std::shared_ptr<offload::DmaDomain>& domain, uint8_t part) {
    const SlotRange& range = regions_[peer_memory].parts[part];
    return peer_->map_for(domain, regions_[peer_memory].iova,
                          {uint64_t{range.first} * slot_bytes_, uint64_t{range.count} * slot_bytes_});
}

}  // namespace pktpit::router
