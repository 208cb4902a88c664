// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/payload_memory.h"

#include <spdlog/spdlog.h>

#include <bit>
#include <vector>

#include "offload/vfio/region_backing.h"

namespace pktpit::router {
namespace {

constexpr const char* where = "/vfio/payload_memory";
constexpr uint64_t default_hugepages_mib = 64;
constexpr uint64_t page = 4096;

offload::MemoryKind kind_of(config::MemoryKind kind) {
    switch (kind) {
        case config::MemoryKind::pci_bar:
            return offload::MemoryKind::pci_bar;
        case config::MemoryKind::nvme_cmb:
            return offload::MemoryKind::nvme_cmb;
        case config::MemoryKind::vfio_region:
            return offload::MemoryKind::vfio_region;
        case config::MemoryKind::p2pmem:
            return offload::MemoryKind::p2pmem;
        case config::MemoryKind::hugepages:
            break;
    }
    return offload::MemoryKind::hugepages;
}

tl::unexpected<Error> at_memory(Error error) {
    error.where = std::string(where) + (error.where.empty() ? "" : " (" + error.where + ")");
    return tl::unexpected(std::move(error));
}

}  // namespace

offload::MemorySource source_of(const config::PayloadMemory& settings) {
    offload::MemorySource source;
    source.kind = kind_of(settings.kind);
    source.bar = settings.bar;
    source.bytes = uint64_t{settings.size_mib} << 20;
    if (source.kind == offload::MemoryKind::hugepages && source.bytes == 0)
        source.bytes = default_hugepages_mib << 20;
    if (const auto address = offload::PciAddress::parse(settings.pci)) source.device = *address;
    return source;
}

Result<PayloadMemoryHandle> open_payload_memory(const config::PayloadMemory& settings,
                                                const offload::PciTree& tree,
                                                offload::VfioContainers& containers) {
    PayloadMemoryHandle handle;
    const offload::MemorySource source = source_of(settings);
    if (source.kind == offload::MemoryKind::hugepages) return handle;
    if (source.kind == offload::MemoryKind::vfio_region) {
        const offload::PciFunction* function = tree.find(source.device);
        if (!function)
            return fail(where, "there is no PCI device " + settings.pci, "a device of this machine",
                        "`pktpit doctor` lists candidates");
        auto device = offload::VfioDevice::open(containers, *function);
        if (!device) return at_memory(device.error());
        auto backing = offload::open_region_backing(source, tree, **device);
        if (!backing) return at_memory(backing.error());
        handle.device = std::move(*device);
        handle.memory = std::make_unique<offload::PeerMemory>(source, std::move(*backing));
    } else {
        auto memory = offload::PeerMemory::acquire(source, tree);
        if (!memory) return at_memory(memory.error());
        handle.memory = std::move(*memory);
    }
    if (auto mapped = handle.memory->get_pages(); !mapped) return at_memory(mapped.error());
    return handle;
}

Result<MainMemory> take_main_memory(size_t bytes, bool hugepages, offload::IovaSpace& space,
                                    offload::DmaDomain* domain) {
    MainMemory memory;
    if (hugepages) {
        auto mapping = offload::CpuMapping::of_hugepages(bytes);
        if (mapping) {
            memory.mapping = std::move(*mapping);
            memory.in_hugepages = true;
        } else {
            spdlog::warn("{}; taking ordinary pages, which cost more IOTLB misses",
                         mapping.error().to_string());
        }
    }
    if (!memory.in_hugepages) {
        auto mapping = offload::CpuMapping::of_pages(bytes);
        if (!mapping) return tl::unexpected(mapping.error());
        memory.mapping = std::move(*mapping);
    }
    const size_t size = memory.mapping.bytes().size();
    // Aligned as the IOMMU's large pages are, as far as the size lets it.
    const uint64_t alignment = std::clamp<uint64_t>(std::bit_floor(size), page, 2 << 20);
    const auto iova = space.allocate(size, alignment);
    if (!iova)
        return fail("IOMMU", "no free addresses for " + std::to_string(size >> 10) + " KiB",
                    "an IOMMU with more address bits", "");
    auto mapped =
        domain ? domain->map(memory.mapping.bytes(), *iova, offload::DmaAccess::read_write) : Result<void>();
    if (!mapped) {
        space.free(*iova, size);
        return tl::unexpected(mapped.error());
    }
    memory.iova = *iova;
    return memory;
}

Result<void> give_main_memory_back(offload::CpuMapping mapping, offload::Iova iova, offload::IovaSpace& space,
                                   offload::DmaDomain& domain) {
    const size_t bytes = mapping.bytes().size();
    if (bytes == 0) return {};
    if (auto unmapped = domain.unmap(iova, bytes); !unmapped) {
        static std::vector<offload::CpuMapping> kept;
        kept.push_back(std::move(mapping));
        Error error = unmapped.error();
        error.message +=
            "; its " + std::to_string(bytes >> 10) + " KiB and their addresses are not used again";
        return tl::unexpected(std::move(error));
    }
    space.free(iova, bytes);
    return {};
}

}  // namespace pktpit::router
