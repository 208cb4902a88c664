// SPDX-License-Identifier: BSD-3-Clause
/// The modelled CPU: cores that poll receive rings in main memory, take bursts, decide, and ring doorbells.
/// Its time is that of the profile: a part for each burst and one for each packet. It reads and writes main
/// memory through its caches, at no cost but that; its doorbells are writes to devices. One thread.
#pragma once

#include "offload/model/nic.h"

namespace pktpit::model {

/// What is where in main memory for one NIC.
struct HostRings {
    static constexpr uint32_t descriptor_bytes = 16;
    uint64_t rx = 0, tx = 0, tx_head = 0;
    uint32_t entries = 1024;  ///< of each; a power of two
    uint32_t rx_stride = descriptor_bytes;
};
/// Registers in the NIC's BAR, from NicLayout::registers on: counts, 8 bytes each.
inline constexpr uint64_t rx_tail_register = 0;
inline constexpr uint64_t tx_tail_register = 64;

struct CpuSettings {
    unsigned cores = 1;  ///< a NIC's ring is polled by core (index modulo cores)
    unsigned burst = 32;
    Time burst_time = 0;   ///< for each burst that has something in it
    Time packet_time = 0;  ///< for each packet
    Time poll_time = 0;    ///< until a core that found nothing sees what has come
};

struct CpuCounters {
    uint64_t bursts = 0, packets = 0;
    uint64_t doorbells = 0;
    uint64_t tx_full = 0, no_route = 0;  ///< dropped
    Time busy = 0;
};

class HostCpu : public MemoryWatcher, public Actor {
  public:
    HostCpu(Fabric& fabric, std::vector<Nic*> nics, std::vector<HostRings> rings,
            const CpuSettings& settings);

    void memory_written(uint64_t address, uint32_t bytes, uint64_t packet) override;
    void on_event(uint32_t what, uint64_t argument) override;
    [[nodiscard]] const CpuCounters& counters() const { return counters_; }
    void clear_counters() { counters_ = {}; }
    /// Its receive ring is all the NIC's: at start, and when it has been added.
    void give_ring(size_t nic) { doorbell(nic, rx_tail_register, rings_[nic].entries); }

  protected:
    /// Packets at the head of a NIC's receive ring, at most `most`.
    virtual size_t ready(size_t nic, size_t most) = 0;
    /// Takes that many from it.
    virtual void process(size_t nic, size_t count) = 0;

    /// `packet`: one of those it is for, for the tracer.
    void doorbell(size_t nic, uint64_t which, uint64_t count, uint64_t packet = 0);
    void trace(uint64_t packet, const char* step);
    [[nodiscard]] std::byte* memory(uint64_t address) { return fabric_.root().memory().at(address); }

    Fabric& fabric_;
    std::vector<Nic*> nics_;
    std::vector<HostRings> rings_;
    CpuSettings settings_;
    CpuCounters counters_;

  private:
    struct Core {
        bool awake = false;
        size_t next = 0;   ///< NIC to be asked first
        size_t nic = 0;    ///< of the burst at hand
        size_t count = 0;  ///< packets in it
        Time begin = 0;
    };
    void poll(size_t core);

    std::vector<Core> cores_;
};

}  // namespace pktpit::model
