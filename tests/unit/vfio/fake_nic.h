// SPDX-License-Identifier: BSD-3-Clause
/// NICs in memory, over the real slots: a machine with main memory, a peer memory behind sysfs, and NICs
/// whose rings are as large as a test says. Every slot has one owner, and a wrong one is a failure.
#pragma once

#include <sys/mman.h>

#include <deque>
#include <set>
#include <utility>

#include "router/vfio/packet_io.h"
#include "tests/unit/memory/fake_sysfs.h"

namespace pktpit::router::test {

using Bytes = std::vector<uint8_t>;

inline constexpr uint32_t slot_bytes = 2048;
inline constexpr offload::Iova cells_iova = 0x10000000;
inline constexpr offload::Iova payloads_iova = 0x20000000;
inline constexpr offload::Iova peer_iova = 0x4000000000;

/// What devices reach, and where: as an IOMMU would have it.
class Bus : public offload::DmaDomain {
  public:
    Result<void> map(std::span<std::byte> memory, offload::Iova iova, offload::DmaAccess) override {
        windows_.push_back({iova, memory});
        return {};
    }
    Result<void> unmap(offload::Iova iova, size_t) override {
        std::erase_if(windows_, [&](const Window& window) { return window.iova == iova; });
        return {};
    }
    /// Empty, and a failure of the test, where nothing is mapped.
    std::span<uint8_t> at(offload::Iova iova, size_t bytes) const;

  private:
    struct Window {
        offload::Iova iova;
        std::span<std::byte> memory;
    };
    std::vector<Window> windows_;
};

class FakeNic : public offload::Nic {
  public:
    struct Arrival {
        Bytes bytes;
        uint32_t split = 42;   ///< header bytes; 0: the NIC leaves all of it in the payload
        bool damaged = false;  ///< given up on
    };
    FakeNic(const Bus& bus, size_t rx_ring = 16, size_t tx_ring = 16)
        : tx_ring_limit(tx_ring), bus_(bus), rx_ring_(rx_ring) {}

    std::deque<Arrival> wire;  ///< to be received
    std::vector<Bytes> sent;   ///< gathered when they were handed over
    std::vector<offload::TxFrame> tx_frames;
    std::vector<offload::RxBuffer> filled;  ///< all that ever were
    size_t tx_ring_limit;
    size_t completes_at_most = SIZE_MAX;
    size_t doorbells = 0;
    bool gather = true;  ///< false: sent stays empty
    bool interrupts = false;
    bool is_in_step = true;
    int acknowledged = 0;
    offload::NicLink state;
    [[nodiscard]] size_t held() const { return rx_.size() + tx_.size(); }

    [[nodiscard]] std::string_view model() const override { return "fake"; }
    [[nodiscard]] size_t ring_bytes(const offload::NicLayout&) const override { return 4096; }
    Result<void> reset() override { return {}; }
    [[nodiscard]] MacAddress mac() const override { return {}; }
    Result<void> start(const offload::NicLayout&, offload::DmaBuffer, bool) override { return {}; }
    bool stop(std::vector<offload::Slot>& left) override;
    size_t fill(std::span<const offload::RxBuffer> buffers) override;
    [[nodiscard]] size_t rx_room() const override { return rx_ring_ - rx_.size(); }
    std::pair<size_t, size_t> receive(std::span<offload::RxFrame> frames,
                                      std::span<offload::Slot> dropped) override;
    size_t transmit(std::span<const offload::TxFrame> frames) override;
    size_t completed(std::span<offload::Slot> slots) override;
    [[nodiscard]] offload::NicLink link() override { return state; }
    [[nodiscard]] bool in_step() override { return is_in_step; }
    void set_interrupts(bool on) override { interrupts = on; }
    void acknowledge_interrupt() override { acknowledged++; }
    [[nodiscard]] const offload::NicErrors& errors() const override { return errors_; }
    [[nodiscard]] std::vector<std::pair<std::string_view, uint64_t>> statistics() override { return {}; }

  private:
    const Bus& bus_;
    size_t rx_ring_;
    std::deque<offload::RxBuffer> rx_;
    std::deque<offload::Slot> tx_;
    offload::NicErrors errors_;
};

/// The memory of the machine, and a PacketIo over it.
struct Machine {
    explicit Machine(uint32_t main_slots = 64, uint32_t peer_slots = 64, bool readable = true);

    /// Slots that nobody but the pools and these NICs have.
    [[nodiscard]] size_t free_slots() { return slots->free(0) + (slots->has(1) ? slots->free(1) : 0); }
    [[nodiscard]] uint64_t counted(uint16_t port, pp_verdict verdict) const {
        return counters.port(port).verdict[verdict];
    }
    /// One receive().
    std::vector<offload::HeaderSlice> receive(size_t most = 64) {
        std::vector<offload::HeaderSlice> slices(most);
        slices.resize(io->receive(slices));
        return slices;
    }
    /// The slice's frame, unchanged but for `grown` bytes in front, to a port.
    static offload::EgressDescriptor to(uint16_t port, const offload::HeaderSlice& slice, uint16_t grown = 0);
    /// As the daemon takes a port away: the NIC comes to rest, then its slots go back.
    void take_away(uint16_t port, FakeNic& nic) {
        io->remove(port);
        std::vector<offload::Slot> left;
        nic.stop(left);
        io->take_back(left);
    }
    void submit(const offload::EgressDescriptor& descriptor) { io->submit({&descriptor, 1}); }

    offload::test::FakeSysfs sysfs;
    Bus bus;
    std::unique_ptr<offload::PeerMemory> peer;
    std::unique_ptr<SlotMemory> slots;
    WorkerCounters counters;
    std::unique_ptr<NicPacketIo> io;
    offload::CpuMapping device_view;  ///< the peer memory as devices see it
};

/// A frame of this length whose bytes depend on the seed.
Bytes make_frame(size_t length, unsigned seed);

}  // namespace pktpit::router::test
