// SPDX-License-Identifier: BSD-3-Clause
/// Payload memory of a device for DPDK: made known to it, mapped for the ports' devices, and a pool of mbufs
/// over it for drivers that split receive buffers. Sealed afterwards: the CPU's mapping of it is PROT_NONE.
/// The daemon's thread.
#pragma once

#include <memory>
#include <vector>

#include "config/config.h"
#include "offload/dma.h"
#include "offload/memory/peer_memory.h"
#include "router/dpdk/mbuf_pool.h"

struct rte_device;

namespace pktpit::router {

/// The DMA address spaces of DPDK's devices. Memory is registered with DPDK once, then mapped for each.
class EalDomain : public offload::DmaDomain {
  public:
    explicit EalDomain(std::vector<rte_device*> devices) : devices_(std::move(devices)) {}
    /// DPDK maps for reading and writing.
    Result<void> map(std::span<std::byte> memory, offload::Iova iova, offload::DmaAccess access) override;
    Result<void> unmap(offload::Iova iova, size_t bytes) override;

  private:
    std::vector<rte_device*> devices_;
    std::span<std::byte> memory_;
};

class PayloadMemory {
  public:
    /// `devices`: those that are to reach it. `readable`: some port cannot send from there, so the CPU will
    /// copy. Errors: the memory's (offload/memory/peer_memory.h), or DPDK's.
    static Result<std::unique_ptr<PayloadMemory>> open(const config::PayloadMemory& settings,
                                                       const std::string& pool_name, uint32_t slot_bytes,
                                                       std::vector<rte_device*> devices, bool readable);
    /// The devices have been stopped.
    ~PayloadMemory();
    PayloadMemory(const PayloadMemory&) = delete;
    PayloadMemory& operator=(const PayloadMemory&) = delete;

    [[nodiscard]] const offload::PeerMemory& memory() const { return *memory_; }
    [[nodiscard]] rte_mempool* pool() const { return pool_.get(); }

  private:
    explicit PayloadMemory(std::vector<rte_device*> devices)
        : domain_(std::make_shared<EalDomain>(std::move(devices))) {}
    std::shared_ptr<EalDomain> domain_;
    std::unique_ptr<offload::PeerMemory> memory_;
    MbufPool pool_;
};

}  // namespace pktpit::router
