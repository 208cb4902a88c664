// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/packet_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "base/errno_text.h"

namespace pktpit::router {

Result<PacketMemory> PacketMemory::map(unsigned workers) {
    const size_t bytes = size_t{workers} * slots * chunk_bytes;
    PacketMemory memory;
    if (auto reserved = offload::CpuMapping::of_hugepages(bytes)) {
        memory.reserved_ = std::move(*reserved);
        memory.bytes_ = memory.reserved_.bytes();
    } else {
        auto transparent = HugeMemory::map(bytes);
        if (!transparent) return tl::unexpected(transparent.error());
        memory.transparent_ = std::move(*transparent);
        memory.bytes_ = memory.transparent_.bytes();
        // Now, not packet by packet. Registered as a UMEM it is locked, too.
        if (madvise(memory.bytes_.data(), bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
            return fail("AF_XDP",
                        "cannot take " + std::to_string(bytes >> 20) + " MiB of memory: " + errno_text(errno),
                        "64 MiB for each worker");
    }
    memory.base_ = reinterpret_cast<uint8_t*>(memory.bytes_.data());
    return memory;
}

}  // namespace pktpit::router
