// SPDX-License-Identifier: BSD-3-Clause
/// The payload memory that a configuration names, opened for the ports' address space. The daemon's thread.
#pragma once

#include <memory>

#include "config/config.h"
#include "offload/memory/iova_space.h"
#include "offload/memory/peer_memory.h"
#include "offload/vfio/device.h"

namespace pktpit::router {

struct PayloadMemoryHandle {
    std::unique_ptr<offload::VfioDevice> device;  ///< of vfio_region
    std::unique_ptr<offload::PeerMemory> memory;  ///< null: hugepages, that is main memory
};

offload::MemorySource source_of(const config::PayloadMemory& settings);

/// Finds it and maps it for the CPU; not yet for the ports. Errors name /vfio/payload_memory.
Result<PayloadMemoryHandle> open_payload_memory(const config::PayloadMemory& settings,
                                                const offload::PciTree& tree,
                                                offload::VfioContainers& containers);

/// Main memory for `bytes`, in hugepages where there are some, with a free IOVA; mapped there for `domain`'s
/// devices to read and write, if there is one. `in_hugepages` tells which it was.
struct MainMemory {
    offload::CpuMapping mapping;
    offload::Iova iova = 0;
    bool in_hugepages = false;
};
Result<MainMemory> take_main_memory(size_t bytes, bool hugepages, offload::IovaSpace& space,
                                    offload::DmaDomain* domain);

/// Gives it back. Where the IOMMU does not let go of it, a device might still reach it: its IOVA is then
/// never handed out again and the pages are kept for as long as the process lives; the Error says so.
Result<void> give_main_memory_back(offload::CpuMapping mapping, offload::Iova iova, offload::IovaSpace& space,
                                   offload::DmaDomain& domain);

}  // namespace pktpit::router
