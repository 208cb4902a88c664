// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/peer_memory.h"

#include <cstring>

namespace pktpit::offload {

PeerMemory::~PeerMemory() {
    unmap();
    put_pages();
}

Result<std::unique_ptr<PeerMemory>> PeerMemory::acquire(const MemorySource& source, const PciTree& tree,
                                                        const std::string& sysfs) {
    auto backing = open_backing(source, tree, sysfs);
    if (!backing) return tl::unexpected(backing.error());
    return std::make_unique<PeerMemory>(source, std::move(*backing));
}

Result<void> PeerMemory::get_pages() {
    if (revoked()) return fail(source_.to_string(), "has been taken away", "a device that is there", "");
    auto mapping = backing_.map(source_.to_string());
    if (!mapping) return tl::unexpected(mapping.error());
    mapping_ = std::move(*mapping);
    return {};
}

Result<void> PeerMemory::map_for(DmaDomain& domain, Iova iova) {
    if (mapping_.bytes().empty()) return fail(source_.to_string(), "is not mapped for the CPU", "", "");
    auto mapped = domain.map(mapping_.bytes(), iova);
    if (!mapped) return mapped;
    mapped_.push_back({&domain, iova});
    iova_ = iova;
    return {};
}

// Only now: the IOMMU's mapping is made from page table entries that let devices write.
Result<void> PeerMemory::seal(bool readable) {
    if (!mapping_.protect(0, mapping_.bytes().size(), readable ? CpuAccess::read : CpuAccess::none))
        return fail(source_.to_string(), "the CPU's mapping cannot be closed", "mprotect to succeed", "");
    closed_ = !readable;
    return {};
}

void PeerMemory::unmap() {
    for (const Mapped& at : mapped_)
        (void)at.domain->unmap(at.iova, mapping_.bytes().size());
    mapped_.clear();
}

void PeerMemory::put_pages() {
    mapping_.reset();
}

void PeerMemory::revoke() {
    if (revoked_.exchange(true)) return;
    for (const auto& stop_use : users_)
        stop_use();
    unmap();
    put_pages();
    backing_.file.reset();
    backing_.undo = {};  // now: whatever is at this PCI address later is not ours to switch off
}

bool PeerMemory::read(uint64_t offset, std::span<uint8_t> to) const {
    if (revoked() || offset > bytes() || to.size() > bytes() - offset) return false;
    if (to.empty()) return true;
    if (closed_ && !mapping_.protect(offset, to.size(), CpuAccess::read)) return false;
    std::memcpy(to.data(), mapping_.bytes().data() + offset, to.size());
    return !closed_ || mapping_.protect(offset, to.size(), CpuAccess::none);
}

}  // namespace pktpit::offload
