// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/payload.h"

#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_memory.h>

#include "offload/pci/tree.h"
#include "router/dpdk/eal_log.h"

namespace pktpit::router {
namespace {

constexpr const char* where = "/dpdk/payload_memory";
constexpr size_t page = 4096;

offload::MemorySource source_of(const config::PayloadMemory& settings) {
    offload::MemorySource source;
    switch (settings.kind) {
        case config::MemoryKind::pci_bar:
            source.kind = offload::MemoryKind::pci_bar;
            break;
        case config::MemoryKind::nvme_cmb:
            source.kind = offload::MemoryKind::nvme_cmb;
            break;
        case config::MemoryKind::p2pmem:
            source.kind = offload::MemoryKind::p2pmem;
            break;
        case config::MemoryKind::vfio_region:  // refused by config/
        case config::MemoryKind::hugepages:
            break;
    }
    source.bar = settings.bar;
    source.bytes = uint64_t{settings.size_mib} << 20;
    if (const auto address = offload::PciAddress::parse(settings.pci)) source.device = *address;
    return source;
}

tl::unexpected<Error> at_memory(Error error) {
    error.where = std::string(where) + (error.where.empty() ? "" : " (" + error.where + ")");
    return tl::unexpected(std::move(error));
}

}  // namespace

Result<void> EalDomain::map(std::span<std::byte> memory, offload::Iova iova, offload::DmaAccess) {
    const EalWords said;
    std::vector<rte_iova_t> pages(memory.size() / page);
    for (size_t i = 0; i < pages.size(); i++)
        pages[i] = iova + i * page;
    if (rte_extmem_register(memory.data(), memory.size(), pages.data(), static_cast<unsigned>(pages.size()),
                            page) != 0)
        return tl::unexpected(said.error(where, "DPDK does not take the memory", rte_errno,
                                         "whole pages of a device's memory"));
    memory_ = memory;
    for (rte_device* device : devices_)
        // One container is behind all devices of vfio-pci: there it is mapped once for all.
        if (rte_dev_dma_map(device, memory.data(), iova, memory.size()) != 0 && rte_errno != EEXIST &&
            rte_errno != ENOTSUP) {
            Error error = said.error(where, "a device cannot be made to reach it", rte_errno,
                                     "devices and memory below one IOMMU");
            (void)unmap(iova, memory.size());
            return tl::unexpected(std::move(error));
        }
    return {};
}

Result<void> EalDomain::unmap(offload::Iova iova, size_t bytes) {
    const EalWords unheard;
    for (rte_device* device : devices_)
        (void)rte_dev_dma_unmap(device, memory_.data(), iova, bytes);
    (void)rte_extmem_unregister(memory_.data(), bytes);
    memory_ = {};
    return {};
}

Result<std::unique_ptr<PayloadMemory>> PayloadMemory::open(const config::PayloadMemory& settings,
                                                           const std::string& pool_name, uint32_t slot_bytes,
                                                           std::vector<rte_device*> devices, bool readable) {
    auto tree = offload::PciTree::live();
    if (!tree) return tl::unexpected(tree.error());
    auto memory = offload::PeerMemory::acquire(source_of(settings), *tree);
    if (!memory) return at_memory(memory.error());
    if (auto mapped = (*memory)->get_pages(); !mapped) return at_memory(mapped.error());
    std::unique_ptr<PayloadMemory> self(new PayloadMemory(std::move(devices)));
    self->memory_ = std::move(*memory);
    // A switch below the root routes by the bus address; memory without one is known by where the CPU has it.
    const auto cpu_address = reinterpret_cast<uintptr_t>(self->memory_->cpu_bytes().data());
    const auto iova = self->memory_->bus_address().value_or(cpu_address);
    if (auto mapped = self->memory_->map_for(self->domain_, iova); !mapped)
        return tl::unexpected(mapped.error());
    auto pool = make_payload_pool(pool_name, *self->memory_, slot_bytes);
    if (!pool) return tl::unexpected(pool.error());
    self->pool_ = std::move(*pool);
    if (auto sealed = self->memory_->seal(readable); !sealed) return at_memory(sealed.error());
    return self;
}

PayloadMemory::~PayloadMemory() {
    pool_.reset();
    memory_.reset();
}

}  // namespace pktpit::router
