// SPDX-License-Identifier: BSD-3-Clause
/// Payload memory and its life, after PeerDirect's: acquire → get pages → map for devices → unmap → put pages
/// → release. A device or its driver can go away: revoke() then ends all use before the memory can become
/// anybody else's, so that nothing is ever written into what has been reused.
///
/// Set up, revoked and released by one thread, the daemon's. revoked(), read() and the constants may be used
/// by the worker that owns the slots, until an on_revoke callback has stopped it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "offload/memory/backing.h"
#include "offload/memory/partly_writable.h"

namespace pktpit::offload {

class PeerMemory {
  public:
    PeerMemory(const MemorySource& source, Backing backing) : source_(source), backing_(std::move(backing)) {}
    /// Releases: what is still mapped is unmapped, and the CPU's mapping goes.
    ~PeerMemory();
    PeerMemory(const PeerMemory&) = delete;
    PeerMemory& operator=(const PeerMemory&) = delete;

    /// Finds it (offload/memory/backing.h); nothing is mapped yet.
    static Result<std::unique_ptr<PeerMemory>> acquire(const MemorySource& source, const PciTree& tree,
                                                       const std::string& sysfs = "/sys");
    /// Maps it for the CPU: what DMA mappings are made from. Error: it cannot be mapped, or was revoked.
    Result<void> get_pages();
    /// Lets the domain's devices read it at `iova`, and write what `writable` names: the bus address for
    /// device memory, since only then a switch below the root can route it. A domain that ends has nothing
    /// mapped any more. After seal() nobody else may read meanwhile.
    Result<void> map_for(const std::shared_ptr<DmaDomain>& domain, Iova iova, ByteRange writable);
    Result<void> map_for(const std::shared_ptr<DmaDomain>& domain, Iova iova) {
        return map_for(domain, iova, {0, bytes()});
    }
    /// From here on the CPU's mapping is PROT_NONE; read() opens it a slot at a time. With `readable` it
    /// stays readable, for bounces.
    Result<void> seal(bool readable);
    /// No device reaches it any more. Error: an IOMMU does not let go of it, so that some may; the others'
    /// are unmapped, and the next call tries those again.
    Result<void> unmap();
    /// The destructor leaves the device and what is mapped as they are: another process keeps them.
    void leave();
    /// What a device may still reach is kept for as long as the process lives: whoever got the memory next
    /// would be written to.
    void put_pages();

    /// The memory goes away: runs the callbacks (each stops a user, and returns when the user's DMA has come
    /// to rest), then unmaps, puts the pages and lets go of the device. Once; again does nothing. Error: that
    /// of unmap(); it is revoked all the same, but not let go of.
    Result<void> revoke();
    void on_revoke(std::function<void()> stop_use) { users_.push_back(std::move(stop_use)); }
    [[nodiscard]] bool revoked() const { return revoked_.load(std::memory_order_acquire); }

    /// A mapping more of a part (whole pages), which the CPU may read and write whatever seal() says. Error:
    /// it cannot be mapped, or was revoked.
    [[nodiscard]] Result<CpuMapping> map_part(uint64_t offset, uint64_t bytes) const;

    /// Copies payload for the slow path. False: revoked, beyond the end, or it cannot be opened.
    [[nodiscard]] bool read(uint64_t offset, std::span<uint8_t> to) const;
    /// The same for a bounce: only on memory that was sealed readable.
    [[nodiscard]] const uint8_t* readable(uint64_t offset) const {
        return reinterpret_cast<const uint8_t*>(mapping_.bytes().data()) + offset;
    }

    [[nodiscard]] const MemorySource& source() const { return source_; }
    [[nodiscard]] bool on_device() const { return source_.kind != MemoryKind::hugepages; }
    [[nodiscard]] std::optional<Iova> bus_address() const { return backing_.bus_address; }
    [[nodiscard]] Iova iova() const { return iova_; }
    [[nodiscard]] uint64_t bytes() const { return backing_.bytes; }
    /// The file that it is mapped from, and where in it; -1: anonymous memory, or revoked.
    [[nodiscard]] int descriptor() const { return backing_.file.get(); }
    [[nodiscard]] uint64_t offset() const { return backing_.offset; }
    [[nodiscard]] std::span<std::byte> cpu_bytes() const { return mapping_.bytes(); }

  private:
    Result<void> protect(CpuAccess access);
    Result<void> map_sealed(DmaDomain& domain, Iova iova, ByteRange writable);

    MemorySource source_;
    Backing backing_;
    CpuMapping mapping_;
    struct Mapped {
        std::weak_ptr<DmaDomain> domain;
        Iova iova;
    };
    std::vector<Mapped> mapped_;
    std::vector<std::function<void()>> users_;
    Iova iova_ = 0;
    CpuAccess cpu_access_ = CpuAccess::read_write;
    std::atomic<bool> revoked_ = false;
};

}  // namespace pktpit::offload
