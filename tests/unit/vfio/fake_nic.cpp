// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/vfio/fake_nic.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstring>

namespace pktpit::router::test {

using offload::Iova;
using offload::RxBuffer;
using offload::RxFrame;
using offload::Slot;
using offload::TxFrame;

std::span<uint8_t> Bus::at(Iova iova, size_t bytes) const {
    for (const Window& window : windows_)
        if (iova >= window.iova && iova - window.iova <= window.memory.size() &&
            bytes <= window.memory.size() - (iova - window.iova))
            return {reinterpret_cast<uint8_t*>(window.memory.data()) + (iova - window.iova), bytes};
    ADD_FAILURE() << "DMA fault at " << iova << ", " << bytes << " bytes";
    return {};
}

bool FakeNic::stop(std::vector<Slot>& left) {
    for (const RxBuffer& buffer : rx_)
        left.push_back(buffer.slot);
    left.insert(left.end(), tx_.begin(), tx_.end());
    rx_.clear();
    tx_.clear();
    return true;
}

size_t FakeNic::fill(std::span<const RxBuffer> buffers) {
    const size_t taken = std::min(buffers.size(), rx_room());
    rx_.insert(rx_.end(), buffers.begin(), buffers.begin() + static_cast<long>(taken));
    if (gather) filled.insert(filled.end(), buffers.begin(), buffers.begin() + static_cast<long>(taken));
    return taken;
}

std::pair<size_t, size_t> FakeNic::receive(std::span<RxFrame> frames, std::span<Slot> dropped) {
    size_t received = 0;
    size_t lost = 0;
    while (!wire.empty() && !rx_.empty() && received < frames.size() && lost < dropped.size()) {
        const Arrival arrival = std::move(wire.front());
        wire.pop_front();
        const RxBuffer buffer = rx_.front();
        rx_.pop_front();
        if (arrival.damaged) {
            dropped[lost++] = buffer.slot;
            continue;
        }
        const auto header = static_cast<uint32_t>(std::min<size_t>(arrival.split, arrival.bytes.size()));
        const auto payload = static_cast<uint32_t>(arrival.bytes.size() - header);
        if (gather) {
            std::ranges::copy(std::span(arrival.bytes).first(header), bus_.at(buffer.header, header).begin());
            std::ranges::copy(std::span(arrival.bytes).subspan(header),
                              bus_.at(buffer.payload, payload).begin());
        }
        frames[received++] = {buffer.slot, header, payload, header != 0};
    }
    return {received, lost};
}

size_t FakeNic::transmit(std::span<const TxFrame> frames) {
    doorbells++;
    const size_t taken = std::min(frames.size(), tx_ring_limit - std::min(tx_ring_limit, tx_.size()));
    for (const TxFrame& frame : frames.first(taken)) {
        tx_.push_back(frame.slot);
        if (!gather) continue;
        tx_frames.push_back(frame);
        const auto header = bus_.at(frame.header, frame.header_length);
        Bytes bytes(header.begin(), header.end());
        if (frame.payload_length != 0) {
            const auto payload = bus_.at(frame.payload, frame.payload_length);
            bytes.insert(bytes.end(), payload.begin(), payload.end());
        }
        sent.push_back(std::move(bytes));
    }
    return taken;
}

size_t FakeNic::completed(std::span<Slot> slots) {
    const size_t count = std::min({slots.size(), tx_.size(), completes_at_most});
    std::copy_n(tx_.begin(), count, slots.begin());
    tx_.erase(tx_.begin(), tx_.begin() + static_cast<long>(count));
    return count;
}

Machine::Machine(uint32_t main_slots, uint32_t peer_slots, bool readable) {
    const std::string address = "0000:05:00.0";
    const size_t peer_bytes = size_t{peer_slots} * slot_bytes;
    sysfs.add(address, "0x050000", {{2, peer_iova, peer_bytes}});
    peer = offload::PeerMemory::acquire(
               {offload::MemoryKind::pci_bar, offload::PciAddress::parse(address).value(), 2, 0},
               sysfs.tree(), sysfs.root())
               .value();
    // As devices see it: sealing is the CPU's matter alone.
    const Fd file(::open((sysfs.device(address) / "resource2").c_str(), O_RDWR | O_CLOEXEC));
    device_view = offload::CpuMapping::of_file(file.get(), 0, peer_bytes, "the device").value();
    EXPECT_TRUE(bus.map(device_view.bytes(), peer_iova, offload::DmaAccess::read_write).has_value());
    class Nowhere : public offload::DmaDomain {
      public:
        Result<void> map(std::span<std::byte>, Iova, offload::DmaAccess) override { return {}; }
        Result<void> unmap(Iova, size_t) override { return {}; }
    };
    static const auto nowhere = std::make_shared<Nowhere>();
    EXPECT_TRUE(peer->get_pages().has_value());
    EXPECT_TRUE(peer->map_for(nowhere, peer_iova).has_value());
    EXPECT_TRUE(peer->seal(readable).has_value());

    auto cells = offload::CpuMapping::of_pages((main_slots + peer_slots) * header_cell_bytes).value();
    auto payloads = offload::CpuMapping::of_pages(main_slots * slot_bytes).value();
    EXPECT_TRUE(bus.map(cells.bytes(), cells_iova, offload::DmaAccess::read_write).has_value());
    EXPECT_TRUE(bus.map(payloads.bytes(), payloads_iova, offload::DmaAccess::read_write).has_value());
    slots = std::make_unique<SlotMemory>(slot_bytes, SlotMemory::Shared{std::move(cells), cells_iova},
                                         SlotMemory::Shared{std::move(payloads), payloads_iova},
                                         SlotMemory::Region{main_slots, {{0, main_slots}}}, peer.get(),
                                         peer_iova, SlotMemory::Region{peer_slots, {{0, peer_slots}}});
    io = std::make_unique<NicPacketIo>(*slots, peer.get(), counters);
}

offload::EgressDescriptor Machine::to(uint16_t port, const offload::HeaderSlice& slice, uint16_t grown) {
    uint8_t* header = slice.bytes - grown;
    std::fill_n(header, grown, uint8_t{0xdd});
    return {slice.slot, port, static_cast<uint16_t>(slice.length + grown), header,
            slice.frame_length - slice.length};
}

Bytes make_frame(size_t length, unsigned seed) {
    Bytes bytes(length);
    for (size_t i = 0; i < length; i++)
        bytes[i] = static_cast<uint8_t>(seed * 31 + i * 7 + i / 256);
    return bytes;
}

}  // namespace pktpit::router::test
