// SPDX-License-Identifier: BSD-3-Clause
/// The memory of split ports' packets: chunks of 4 KiB, 64 MiB for each worker, in huge pages of the pool if
/// it has enough, else in transparent ones where the kernel can make them. All devices share it as their
/// UMEM, so that a frame leaves from where it came in, whatever the port. A chunk is a slot; its offset says
/// which worker it belongs to. Made once; any thread.
#pragma once

#include <cstdint>

#include "base/huge_memory.h"
#include "base/result.h"
#include "offload/memory/cpu_mapping.h"

namespace pktpit::router {

class PacketMemory {
  public:
    static constexpr uint32_t chunk_bytes = 4096;
    static constexpr uint32_t slots = 16384;  ///< of each worker

    /// Error: no memory that can be locked.
    static Result<PacketMemory> map(unsigned workers);

    [[nodiscard]] std::span<std::byte> bytes() const { return bytes_; }
    [[nodiscard]] uint8_t* at(uint64_t offset) const { return base_ + offset; }
    [[nodiscard]] uint64_t offset_of(const uint8_t* byte) const {
        return static_cast<uint64_t>(byte - base_);
    }

    static unsigned worker_of(uint64_t offset) {
        return static_cast<unsigned>(offset / (uint64_t{chunk_bytes} * slots));
    }
    /// Of its slot among the worker's.
    static uint32_t index_of(uint64_t offset) { return static_cast<uint32_t>(offset / chunk_bytes % slots); }
    static uint64_t offset_of(unsigned worker, uint32_t index) {
        return (uint64_t{worker} * slots + index) * chunk_bytes;
    }

  private:
    PacketMemory() = default;

    offload::CpuMapping reserved_;  ///< huge pages of the pool, or
    HugeMemory transparent_;        ///< those that the kernel makes where it can
    std::span<std::byte> bytes_;
    uint8_t* base_ = nullptr;
};

}  // namespace pktpit::router
