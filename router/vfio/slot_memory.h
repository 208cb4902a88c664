// SPDX-License-Identifier: BSD-3-Clause
/// All slots of a vfio dataplane, by index: the header cell of each in main memory, its payload in main
/// memory (region 0) or in peer memory (region 1), and who has which. A region's slots are shared out: part 0
/// is the daemon's, the others each an IOMMU domain's, whose NICs alone write there. Addresses are computed,
/// never looked up.
///
/// Set up by the daemon; then the worker's, but for changes that the daemon makes while the worker is paused.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "offload/dma.h"
#include "offload/memory/cpu_mapping.h"
#include "offload/memory/peer_memory.h"
#include "offload/memory/slot_pool.h"
#include "router/vfio/slot_shares.h"

namespace pktpit::router {

/// 64 bytes in front for VLAN tags to be pushed, 128 of header, 64 to stay aligned.
inline constexpr uint32_t header_cell_bytes = 256;
inline constexpr uint32_t header_bytes = 128;

class SlotMemory {
  public:
    static constexpr uint8_t main_memory = 0;
    static constexpr uint8_t peer_memory = 1;

    /// Main memory of this process that devices reach.
    struct Shared {
        offload::CpuMapping mapping;
        offload::Iova iova = 0;
    };
    /// A region's slots, and its parts.
    struct Region {
        uint32_t slots = 0;
        std::vector<SlotRange> parts;
    };
    /// `peer`: may be null, else devices are to find it at `peer_iova`. It outlives this.
    SlotMemory(uint32_t slot_bytes, Shared cells, Shared payloads, const Region& main,
               offload::PeerMemory* peer, offload::Iova peer_iova, const Region& peer_region);

    [[nodiscard]] offload::SlotPool& pool(uint8_t region, uint8_t part) {
        return regions_[region].pools[part];
    }
    [[nodiscard]] offload::SlotPool& pool_of(offload::Slot slot) {
        Pools& region = regions_[slot.region];
        return region.pools[region.part_of[slot.index]];
    }
    [[nodiscard]] bool has(uint8_t region) const { return !regions_[region].pools.empty(); }
    /// Of a region, in all parts.
    [[nodiscard]] uint32_t slots(uint8_t region) const { return regions_[region].slots; }
    [[nodiscard]] size_t free(uint8_t region) const;
    [[nodiscard]] size_t parts() const { return regions_[main_memory].pools.size(); }
    /// The peer memory has been revoked: its slots are nobody's any more.
    void drop_peer() { regions_[peer_memory].pools.clear(); }

    /// Lets a domain's devices read all header cells and all payloads in main memory, and write a part's.
    Result<void> map_main(offload::DmaDomain& domain, uint8_t part) const;
    /// The same of the payloads in peer memory. The worker is paused.
    Result<void> map_peer(const std::shared_ptr<offload::DmaDomain>& domain, uint8_t part);

    /// The header cell's first byte behind the headroom.
    [[nodiscard]] uint8_t* header(offload::Slot slot) const {
        return cells_base_ + cell_offset(slot) + headroom;
    }
    [[nodiscard]] offload::Iova header_iova(offload::Slot slot) const {
        return cells_.iova + cell_offset(slot) + headroom;
    }
    /// Where a byte of a header cell is for devices.
    [[nodiscard]] offload::Iova iova_of(const uint8_t* in_cell) const {
        return cells_.iova + static_cast<offload::Iova>(in_cell - cells_base_);
    }
    [[nodiscard]] offload::Iova payload_iova(offload::Slot slot) const {
        return regions_[slot.region].iova + payload_offset(slot);
    }
    [[nodiscard]] uint64_t payload_offset(offload::Slot slot) const {
        return uint64_t{slot.index} * slot_bytes_;
    }
    /// Of a slot in main memory.
    [[nodiscard]] uint8_t* main_payload(offload::Slot slot) const {
        return reinterpret_cast<uint8_t*>(payloads_.mapping.bytes().data()) + payload_offset(slot);
    }
    [[nodiscard]] uint32_t slot_bytes() const { return slot_bytes_; }

  private:
    static constexpr size_t headroom = 64;
    struct Pools {
        uint32_t slots = 0;
        offload::Iova iova = 0;
        std::vector<SlotRange> parts;
        std::vector<offload::SlotPool> pools;  ///< of each part
        std::vector<uint8_t> part_of;          ///< by index of a slot
    };
    static Pools pools_of(uint8_t region, offload::Iova iova, const Region& shared);
    [[nodiscard]] size_t cell_offset(offload::Slot slot) const {
        return (size_t{slot.index} + (slot.region == peer_memory ? regions_[main_memory].slots : 0)) *
               header_cell_bytes;
    }

    uint32_t slot_bytes_;
    Shared cells_;
    Shared payloads_;
    uint8_t* cells_base_;
    offload::PeerMemory* peer_;
    std::array<Pools, 2> regions_;
};

}  // namespace pktpit::router
