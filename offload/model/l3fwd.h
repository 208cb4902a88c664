// SPDX-License-Identifier: BSD-3-Clause
/// The CPU-driven router: the NIC fetches receive descriptors, writes frames and write-backs to main memory;
/// the CPU polls, looks up, fills a transmit ring, rings a doorbell; the egress NIC fetches descriptors and
/// frames. NIC's part and CPU's part. One thread.
#pragma once

#include "offload/model/host.h"

namespace pktpit::model {

/// A receive descriptor as the CPU posts it, and as the NIC writes it back; a transmit descriptor.
struct HostDescriptor {
    uint64_t address = 0;
    uint16_t length = 0;
    uint8_t port = 0;
    uint8_t done = 0;
    uint32_t packet = 0;
};
static_assert(sizeof(HostDescriptor) == HostRings::descriptor_bytes);

struct L3fwdSettings {
    unsigned fetch = 16;           ///< descriptors read at once, at most
    unsigned prefetched = 64;      ///< receive descriptors that the NIC keeps
    unsigned head_batch = 32;      ///< frames sent until the CPU is told
    unsigned writeback_batch = 1;  ///< receive descriptors of a line, which is written back when it is full
    Time writeback_wait = 0;       ///< or when the first of it has waited so long
};

class L3fwdFirmware : public Firmware {
  public:
    /// `rings`: one for each queue.
    L3fwdFirmware(Nic& nic, const std::vector<HostRings>& rings, const L3fwdSettings& settings);

    void frame(uint32_t slot) override;
    void computed(uint32_t what, uint64_t argument) override;
    void written(uint64_t offset, uint32_t length, uint64_t packet) override;
    void dma_done(uint64_t cookie, DmaResult result) override;
    void transmitted(uint64_t cookie) override;

  private:
    /// A ring of the host's as the NIC sees it.
    struct Fetched {
        std::vector<HostDescriptor> copy;
        uint64_t posted = 0, asked = 0, got = 0, used = 0;
    };
    struct Queue {
        HostRings rings;
        Fetched rx, tx;
        Ring<uint32_t> waiting;      ///< received slots without a descriptor
        std::vector<uint64_t> read;  ///< by transmit entry: slot that has been read into, plus one
        uint64_t head = 0, told = 0;
        uint64_t written_back = 0;  ///< receive entries
        Time deadline = 0;          ///< of the first that has not been
        bool timer = false;
    };
    void write_back(Queue& queue);
    void look_at_deadline(size_t queue);
    void deliver_waiting(size_t queue);
    void fetch(size_t queue, Fetched& ring, uint64_t base, uint64_t kind, uint64_t most, uint64_t packet = 0);
    void start_sending();
    void send_next(size_t queue, uint32_t slot);
    void send_what_was_read(Queue& queue);

    Nic& nic_;
    L3fwdSettings settings_;
    std::vector<Queue> queues_;
    size_t turn_ = 0;  ///< queue that may send next
};

class L3fwdHost : public HostCpu {
  public:
    /// `buffers`: main memory for 2 × entries slots of each ring and `burst` more.
    L3fwdHost(Fabric& fabric, std::vector<Nic*> nics, std::vector<HostRings> rings,
              const CpuSettings& settings, Decider& decider, uint64_t buffers);
    /// Posts the receive buffers.
    void start();

  private:
    struct Queue {
        uint64_t taken = 0;  ///< receive entries
        uint64_t tx_tail = 0, tx_reclaimed = 0;
        std::vector<uint64_t> tx_buffers;
    };
    size_t ready(size_t ring, size_t most) override;
    size_t misses(size_t ring, size_t count) override;
    void process(size_t ring, size_t count) override;
    void post(size_t ring, uint64_t entry);
    bool send(size_t to, const Egress& egress, const HostDescriptor& received, uint64_t buffer);
    void reclaim(size_t ring);

    Decider& decider_;
    std::vector<Queue> rings_of_;  ///< as rings_
    std::vector<std::vector<uint64_t>> rx_buffers_;
    std::vector<uint64_t> free_;
};

}  // namespace pktpit::model
