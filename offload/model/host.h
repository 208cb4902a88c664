// SPDX-License-Identifier: BSD-3-Clause
/// The modelled CPU: cores that poll receive rings in main memory, take bursts, decide, and ring doorbells.
/// Each core has its own queue of each NIC, with rings and registers of its own: its bursts are those of its
/// queues. Its time is that of the profile: a part for each burst and one for each packet. It reads and
/// writes main memory through its caches, at no cost but that, and shares nothing with other cores; its
/// doorbells are writes to devices. One thread.
#pragma once

#include "offload/model/nic.h"

namespace pktpit::model {

/// What is where in main memory for one queue of one NIC.
struct HostRings {
    static constexpr uint32_t descriptor_bytes = 16;
    uint64_t rx = 0, tx = 0, tx_head = 0;
    uint32_t entries = 1024;  ///< of each; a power of two
    uint32_t rx_stride = descriptor_bytes;
};
/// Registers of a queue in the NIC's BAR, from NicLayout::registers on: counts, 8 bytes each.
inline constexpr uint64_t rx_tail_register = 0;
inline constexpr uint64_t tx_tail_register = 64;

struct CpuSettings {
    unsigned cores = 1;  ///< a ring is polled by core (index modulo cores)
    unsigned burst = 32;
    Time burst_time = 0;   ///< for each burst that has something in it
    Time packet_time = 0;  ///< for each packet
    Time poll_time = 0;    ///< until a core that found nothing sees what has come
    Time miss_time = 0;    ///< for each line that is not in the last-level cache
};

struct CpuCounters {
    uint64_t bursts = 0, packets = 0;
    uint64_t doorbells = 0;
    uint64_t tx_full = 0, no_route = 0;  ///< dropped
    Time busy = 0;
    Time busiest = 0;  ///< of one core
};

class HostCpu : public MemoryWatcher, public Actor {
  public:
    /// `rings`: NIC by NIC, as many queues of each; that of a queue is ring (NIC × queues + queue).
    HostCpu(Fabric& fabric, std::vector<Nic*> nics, std::vector<HostRings> rings,
            const CpuSettings& settings);

    void memory_written(uint64_t address, uint32_t bytes, uint64_t packet) override;
    void on_event(uint32_t what, uint64_t argument) override;
    [[nodiscard]] CpuCounters counters() const;
    void clear_counters();
    /// Its receive rings are all the NIC's: at start, and when it has been added.
    void give_rings(size_t nic);

  protected:
    /// Packets at the head of a receive ring, at most `most`.
    virtual size_t ready(size_t ring, size_t most) = 0;
    /// Lines that the core has to wait for, of so many packets at its head.
    virtual size_t misses(size_t /*ring*/, size_t /*count*/) { return 0; }
    /// Takes that many from it.
    virtual void process(size_t ring, size_t count) = 0;

    /// `packet`: one of those it is for, for the tracer.
    void doorbell(size_t ring, uint64_t which, uint64_t count, uint64_t packet = 0);
    [[nodiscard]] size_t nic_of(size_t ring) const { return ring / queues_; }
    /// That of a NIC for the core that polls `ring`.
    [[nodiscard]] size_t ring_to(size_t nic, size_t ring) const { return nic * queues_ + ring % queues_; }
    void trace(uint64_t packet, const char* step);
    /// The core looks at these bytes, or fills them: lines it has to wait for.
    unsigned touch(uint64_t address, uint32_t bytes, bool writes = false) {
        return fabric_.root().memory().cpu_misses(fabric_.events().now(), address, bytes, writes);
    }
    [[nodiscard]] std::byte* memory(uint64_t address) { return fabric_.root().memory().at(address); }

    Fabric& fabric_;
    std::vector<Nic*> nics_;
    std::vector<HostRings> rings_;
    CpuSettings settings_;
    CpuCounters counters_;

  private:
    struct Core {
        bool awake = false;
        size_t next = 0;   ///< ring to be asked first
        size_t ring = 0;   ///< of the burst at hand
        size_t count = 0;  ///< packets in it
        Time begin = 0;
        Time busy = 0;
    };
    /// Where a ring begins in main memory.
    struct Place {
        uint64_t begin = 0;
        size_t ring = 0;
    };
    void poll(size_t core);

    std::vector<Core> cores_;
    size_t queues_ = 1;          ///< of each NIC
    std::vector<Place> places_;  ///< ascending
};

}  // namespace pktpit::model
