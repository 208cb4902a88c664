// SPDX-License-Identifier: BSD-3-Clause
/// NICs that do as the fuzzer says, under the real PacketIo, slots and control loop: which of its buffers a
/// frame is in, how long header and payload are, what is in them, when a ring is full, when frames are sent;
/// ports come and go, and the memory is revoked. What must hold: every slot is in a pool or in the ring of
/// the NIC that had it handed over, and no byte is touched outside of a slot (sanitizers, and memory that
/// ends where the slots do).
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>

#include "router/loop/control_loop.h"
#include "router/vfio/packet_io.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/forward/router_image.h"
#include "tests/fuzz/input.h"

namespace {

using pktpit::fuzz::demand;
using pktpit::fuzz::Input;
using namespace pktpit;
using namespace pktpit::router;
using offload::Iova;
using offload::RxBuffer;
using offload::RxFrame;
using offload::Slot;
using offload::TxFrame;

constexpr uint32_t slot_bytes = 2048;
constexpr uint32_t main_slots = 24;
constexpr uint32_t peer_slots = 16;
constexpr Iova cells_iova = 0x10000000;
constexpr Iova payloads_iova = 0x20000000;
constexpr Iova peer_iova = 0x4000000000;
constexpr uint16_t ports = 4;

/// Frames that the test router does something with; the fuzzer changes bytes of them.
const std::vector<router::test::Buffer>& frames() {
    static const std::vector<router::test::Buffer> all = [] {
        std::vector<router::test::Buffer> made;
        const router::test::Ethernet arriving{.to = router::test::port1, .from = router::test::peer};
        for (const char* to : {"10.1.0.9", "10.2.0.9", "10.3.0.9", "10.14.0.9", "192.0.2.1", "172.16.0.1"})
            made.push_back(router::test::frame(arriving, router::test::Ipv4{.destination = to}));
        for (const char* to : {"2001:db8:1::9", "2001:db8:3::9", "2001:db8:ff::1"})
            made.push_back(router::test::frame(arriving, router::test::Ipv6{.destination = to}));
        made.emplace_back(128);
        return made;
    }();
    return all;
}

class FuzzedNic : public offload::Nic {
  public:
    FuzzedNic(Input& input, const SlotMemory*& slots) : input_(input), slots_(slots) {}

    [[nodiscard]] size_t held() const { return rx_.size() + tx_.size(); }
    size_t tx_ring = 8;

    [[nodiscard]] std::string_view model() const override { return ""; }
    [[nodiscard]] size_t ring_bytes(const offload::NicLayout&) const override { return 0; }
    Result<void> reset() override { return {}; }
    [[nodiscard]] MacAddress mac() const override { return {}; }
    Result<void> start(const offload::NicLayout&, offload::DmaBuffer, bool) override { return {}; }
    bool stop(std::vector<Slot>& left) override {
        left.insert(left.end(), rx_.begin(), rx_.end());
        left.insert(left.end(), tx_.begin(), tx_.end());
        rx_.clear();
        tx_.clear();
        return true;
    }
    size_t fill(std::span<const RxBuffer> buffers) override {
        const size_t taken = std::min<size_t>(buffers.size(), input_.below(20));
        for (const RxBuffer& buffer : buffers.first(taken)) {
            demand(buffer.header >= cells_iova + 64 &&
                   buffer.header + 192 <= cells_iova + (main_slots + peer_slots) * header_cell_bytes);
            rx_.push_back(buffer.slot);
        }
        return taken;
    }
    [[nodiscard]] bool in_step() override { return input_.byte() > 8; }
    [[nodiscard]] size_t rx_room() const override { return 12 - std::min<size_t>(12, rx_.size()); }
    std::pair<size_t, size_t> receive(std::span<RxFrame> to, std::span<Slot> dropped) override {
        size_t received = 0;
        size_t lost = 0;
        for (uint32_t count = input_.below(8); count > 0 && !rx_.empty(); count--) {
            std::swap(rx_[input_.below(static_cast<uint32_t>(rx_.size()))], rx_.back());
            const Slot slot = rx_.back();
            const uint8_t kind = input_.byte();
            if (kind < 16 ? lost == dropped.size() : received == to.size()) break;
            rx_.pop_back();
            if (kind < 16) {
                dropped[lost++] = slot;
                continue;
            }
            RxFrame& frame = to[received++];
            frame.slot = slot;
            frame.header_length = kind < 24 ? 0 : 14 + input_.below(header_bytes - 13);
            frame.payload_length = kind % 2 ? input_.below(slot_bytes + 1) : 0;
            frame.split = frame.header_length != 0;
            write_header(slots_->header(slot), frame.header_length);
        }
        return {received, lost};
    }
    size_t transmit(std::span<const TxFrame> frames) override {
        const size_t room = tx_ring - std::min(tx_ring, tx_.size());
        const size_t taken = std::min(frames.size(), room);
        for (const TxFrame& frame : frames.first(taken)) {
            const Iova cells_end = cells_iova + (main_slots + peer_slots) * header_cell_bytes;
            demand(frame.header >= cells_iova && frame.header + frame.header_length <= cells_end);
            demand(frame.header / header_cell_bytes ==
                   (frame.header + frame.header_length - 1) / header_cell_bytes);
            const bool peer = frame.slot.region == SlotMemory::peer_memory;
            demand(frame.slot.index < (peer ? peer_slots : main_slots));
            demand(frame.payload == (peer ? peer_iova : payloads_iova) + frame.slot.index * slot_bytes);
            demand(frame.payload_length <= slot_bytes);
            tx_.push_back(frame.slot);
        }
        return taken;
    }
    size_t completed(std::span<Slot> slots) override {
        const size_t count = std::min<size_t>({slots.size(), tx_.size(), input_.below(10)});
        for (Slot& slot : slots.first(count)) {
            slot = tx_.front();
            tx_.pop_front();
        }
        return count;
    }
    [[nodiscard]] offload::NicLink link() override { return {}; }
    void set_interrupts(bool) override {}
    void acknowledge_interrupt() override {}
    [[nodiscard]] const offload::NicErrors& errors() const override { return errors_; }
    [[nodiscard]] std::vector<std::pair<std::string_view, uint64_t>> statistics() override { return {}; }

  private:
    void write_header(uint8_t* to, size_t length) {
        const auto& from = frames()[input_.byte() % frames().size()];
        for (size_t i = 0; i < length; i++)
            to[i] = i < from.size() ? from[i] : 0;
        for (uint8_t changes = input_.byte() % 4; changes > 0 && length > 0; changes--)
            to[input_.below(static_cast<uint32_t>(length))] = input_.byte();
    }

    Input& input_;
    const SlotMemory*& slots_;
    std::vector<Slot> rx_;
    std::deque<Slot> tx_;
    offload::NicErrors errors_;
};

class NoDomain : public offload::DmaDomain {
  public:
    Result<void> map(std::span<std::byte>, Iova, offload::DmaAccess) override { return {}; }
    Result<void> unmap(Iova, size_t) override { return {}; }
};

std::unique_ptr<offload::PeerMemory> make_peer(const std::shared_ptr<offload::DmaDomain>& domain) {
    offload::Backing backing;
    backing.file = Fd(memfd_create("pktpit-fuzz", MFD_CLOEXEC));
    backing.bytes = peer_slots * slot_bytes;
    backing.bus_address = peer_iova;
    demand(ftruncate(backing.file.get(), peer_slots * slot_bytes) == 0);
    offload::MemorySource source;
    source.kind = offload::MemoryKind::pci_bar;
    auto peer = std::make_unique<offload::PeerMemory>(source, std::move(backing));
    demand(peer->get_pages().has_value() && peer->map_for(domain, peer_iova).has_value() &&
           peer->seal(true).has_value());
    return peer;
}

SlotMemory::Shared shared(size_t bytes, Iova iova) {
    return {offload::CpuMapping::of_pages(bytes).value(), iova};
}

/// The daemon's part, and those of two domains.
SlotMemory::Region in_parts(uint32_t slots, uint32_t kept) {
    return {slots,
            {{0, kept},
             {kept, (slots - kept) / 2},
             {kept + (slots - kept) / 2, slots - kept - (slots - kept) / 2}}};
}

struct Machine {
    explicit Machine(Input& from) : input(from) {
        for (uint16_t id = 1; id <= ports; id++)
            nics.emplace_back(input, slots_view);
        slots.emplace(slot_bytes, shared((main_slots + peer_slots) * header_cell_bytes, cells_iova),
                      shared(main_slots * slot_bytes, payloads_iova), in_parts(main_slots, main_slots / 4),
                      peer.get(), peer_iova, in_parts(peer_slots, 0));
        slots_view = &*slots;
        io.emplace(*slots, peer.get(), counters());
        loop.emplace(*io, fuzz::router_image(), reader, counters(), queue);
    }

    static WorkerCounters& counters() {
        static WorkerCounters all;
        return all;
    }

    void take_away(uint16_t id) {
        io->remove(id);
        std::vector<Slot> left;
        nics[id - 1U].stop(left);
        io->take_back(left);
        there[id] = false;
    }
    void put(uint16_t id) {
        const bool reaches = id <= 2;
        // The second and the third port share a part.
        const auto part = static_cast<uint8_t>(std::min<uint16_t>(id, 2));
        io->add({id, &nics[id - 1U], reaches && !peer->revoked(), reaches && peer->revoked(), nullptr,
                 nullptr, part});
        there[id] = true;
    }
    void revoke() {
        if (peer->revoked()) return;
        const auto were = there;
        for (uint16_t id = 1; id <= ports; id++)
            if (there[id]) take_away(id);
        demand(peer->revoke().has_value());
        slots->drop_peer();
        for (uint16_t id = 1; id <= ports; id++)
            if (were[id]) put(id);
    }
    void check() {
        size_t count = slots->free(0) + (slots->has(1) ? slots->free(1) : 0);
        for (const FuzzedNic& nic : nics)
            count += nic.held();
        demand(count == main_slots + (slots->has(1) ? peer_slots : 0));
    }
    void step() {
        const uint8_t what = input.byte() % 16;
        const auto id = static_cast<uint16_t>(1 + input.byte() % ports);
        if (what == 0) {
            there[id] ? take_away(id) : put(id);
        } else if (what == 1 && input.byte() == 0) {
            revoke();
        } else if (what == 2) {
            nics[id - 1U].tx_ring = input.below(12);
        } else if (what == 3) {
            std::vector<uint8_t> frame(14 + input.below(header_bytes + slot_bytes));
            (void)io->send(id, frame);
        } else if (what == 4) {
            queue.pop(input.byte(), [](const pp_punt& head, std::span<uint8_t> frame) {
                demand(frame.size() == head.frame_length && head.port <= ports);
            });
        } else {
            (void)loop->turn();
        }
    }

    Input& input;
    std::shared_ptr<NoDomain> domain = std::make_shared<NoDomain>();
    std::unique_ptr<offload::PeerMemory> peer = make_peer(domain);
    const SlotMemory* slots_view = nullptr;
    std::deque<FuzzedNic> nics;
    std::optional<SlotMemory> slots;
    std::optional<NicPacketIo> io;
    fib::Epochs epochs;
    fib::EpochReader reader{epochs};
    FrameQueue queue{1 << 13};
    std::optional<ControlLoop> loop;
    std::array<bool, ports + 1> there{};
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    Input input(data, size);
    Machine machine(input);
    for (uint16_t id = 1; id <= ports; id++)
        machine.put(id);
    while (!input.empty()) {
        machine.step();
        machine.check();
    }
    for (uint16_t id = 1; id <= ports; id++)
        if (machine.there[id]) machine.take_away(id);
    machine.check();
    return 0;
}
