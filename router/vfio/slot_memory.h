// SPDX-License-Identifier: BSD-3-Clause
/// All slots of a vfio dataplane, by index: the header cell of each in main memory, its payload in main
/// memory (region 0) or in peer memory (region 1), and who has which. Addresses are computed, never looked
/// up.
///
/// Set up by the daemon; then the worker's, but for changes that the daemon makes while the worker is paused.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "offload/dma.h"
#include "offload/memory/cpu_mapping.h"
#include "offload/memory/peer_memory.h"
#include "offload/memory/slot_pool.h"

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
    /// `peer`: of `peer_slots` slots, may be null. It outlives this.
    SlotMemory(uint32_t slot_bytes, Shared cells, Shared payloads, uint32_t main_slots,
               offload::PeerMemory* peer, uint32_t peer_slots);

    [[nodiscard]] offload::SlotPool& pool(uint8_t region) { return *pools_[region]; }
    [[nodiscard]] bool has(uint8_t region) const { return pools_[region].has_value(); }
    /// The peer memory has been revoked: its slots are nobody's any more.
    void drop_peer() { pools_[peer_memory].reset(); }

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
        return region_iova_[slot.region] + payload_offset(slot);
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
    [[nodiscard]] size_t cell_offset(offload::Slot slot) const {
        return (size_t{slot.index} + (slot.region == peer_memory ? main_slots_ : 0)) * header_cell_bytes;
    }

    uint32_t slot_bytes_;
    uint32_t main_slots_;
    Shared cells_;
    Shared payloads_;
    uint8_t* cells_base_;
    std::array<offload::Iova, 2> region_iova_{};
    std::array<std::optional<offload::SlotPool>, 2> pools_;
};

}  // namespace pktpit::router
