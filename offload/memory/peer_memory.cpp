// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/peer_memory.h"

#include <cstring>

namespace pktpit::offload {

PeerMemory::~PeerMemory() {
    (void)unmap();
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
    cpu_access_ = CpuAccess::read_write;
    return {};
}

Result<void> PeerMemory::map_for(const std::shared_ptr<DmaDomain>& domain, Iova iova, ByteRange writable) {
    if (mapping_.bytes().empty()) return fail(source_.to_string(), "is not mapped for the CPU", "", "");
    auto mapped = cpu_access_ == CpuAccess::read_write
                      ? map_partly_writable(*domain, mapping_.bytes(), iova, {&writable, 1})
                      : map_sealed(*domain, iova, writable);
    if (!mapped) return mapped;
    std::erase_if(mapped_, [](const Mapped& at) { return at.domain.expired(); });
    mapped_.push_back({domain, iova});
    iova_ = iova;
    return {};
}

// The IOMMU's mapping is made from page table entries of the CPU's that may be written. Those of a device's
// memory stay without that once they were closed, so there has to be another mapping for a moment. Of
// p2pmem each mapping is other memory; but its pages are the kernel's, which opens them again.
Result<void> PeerMemory::map_sealed(DmaDomain& domain, Iova iova, ByteRange writable) {
    if (source_.kind != MemoryKind::p2pmem) {
        auto open = backing_.map(source_.to_string());
        if (!open) return tl::unexpected(open.error());
        return map_partly_writable(domain, open->bytes(), iova, {&writable, 1});
    }
    const CpuAccess before = cpu_access_;
    if (auto opened = protect(CpuAccess::read_write); !opened) return opened;
    auto mapped = map_partly_writable(domain, mapping_.bytes(), iova, {&writable, 1});
    auto closed = protect(before);
    return mapped ? closed : mapped;
}

Result<void> PeerMemory::protect(CpuAccess access) {
    if (!mapping_.protect(0, mapping_.bytes().size(), access))
        return fail(source_.to_string(), "the CPU's mapping cannot be changed", "mprotect to succeed", "");
    cpu_access_ = access;
    return {};
}

Result<void> PeerMemory::seal(bool readable) {
    return protect(readable ? CpuAccess::read : CpuAccess::none);
}

Result<CpuMapping> PeerMemory::map_part(uint64_t offset, uint64_t bytes) const {
    if (revoked()) return fail(source_.to_string(), "has been taken away", "a device that is there", "");
    return CpuMapping::of_file(backing_.file.get(), backing_.offset + offset, bytes, source_.to_string());
}

Result<void> PeerMemory::unmap() {
    Result<void> done;
    std::erase_if(mapped_, [&](const Mapped& at) {
        const auto domain = at.domain.lock();
        if (!domain) return true;
        auto unmapped = domain->unmap(at.iova, mapping_.bytes().size());
        if (unmapped) return true;
        Error error = unmapped.error();
        error.message += "; " + source_.to_string() + " is not let go of, since a device may still reach it";
        done = tl::unexpected(std::move(error));
        return false;
    });
    return done;
}

void PeerMemory::leave() {
    mapped_.clear();
    backing_.undo.forget();
}

void PeerMemory::put_pages() {
    if (mapped_.empty()) return mapping_.reset();
    struct Kept {
        CpuMapping mapping;
        Fd file;
    };
    // Never destroyed: at the end of the process the kernel closes containers and files in an order of its
    // own.
    static auto& kept = *new std::vector<Kept>;
    kept.push_back({std::move(mapping_), std::move(backing_.file)});
    mapping_.reset();
    mapped_.clear();
}

Result<void> PeerMemory::revoke() {
    if (revoked_.exchange(true)) return {};
    for (const auto& stop_use : users_)
        stop_use();
    auto unmapped = unmap();
    put_pages();
    backing_.file.reset();
    backing_.undo = {};  // now: whatever is at this PCI address later is not ours to switch off
    return unmapped;
}

bool PeerMemory::read(uint64_t offset, std::span<uint8_t> to) const {
    if (revoked() || offset > bytes() || to.size() > bytes() - offset) return false;
    if (to.empty()) return true;
    const bool closed = cpu_access_ == CpuAccess::none;
    if (closed && !mapping_.protect(offset, to.size(), CpuAccess::read)) return false;
    std::memcpy(to.data(), mapping_.bytes().data() + offset, to.size());
    return !closed || mapping_.protect(offset, to.size(), CpuAccess::none);
}

}  // namespace pktpit::offload
