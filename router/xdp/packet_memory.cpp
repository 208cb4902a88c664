#include "router/xdp/packet_memory.h"

namespace pktpit::router {

Result<PacketMemory> PacketMemory::map(unsigned workers) {
    const size_t bytes = size_t{workers} * slots * chunk_bytes;
    if (auto huge = offload::CpuMapping::of_hugepages(bytes)) return PacketMemory(std::move(*huge), true);
    auto pages = offload::CpuMapping::of_pages(bytes);
    if (!pages) return tl::unexpected(pages.error());
    return PacketMemory(std::move(*pages), false);
}

}  // namespace pktpit::router
