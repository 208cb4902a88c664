// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/nic/rig.h"

#include <algorithm>
#include <cstring>

#include "tests/unit/nic/model_82574.h"
#include "tests/unit/nic/model_82576.h"

namespace pktpit::offload::test {

template <class Model>
static std::unique_ptr<ModelNic> make_model(DmaMemory& memory) {
    return std::make_unique<Model>(memory);
}

const std::vector<ChipUnderTest> chips = {
    {"82574L", 0x10d3, make_model<Model82574>},
    {"82576", 0x10c9, make_model<Model82576>},
};

Rig::Rig(const ChipUnderTest& chip, NicLayout of, uint32_t slots)
    : layout(of),
      model(chip.model(memory)),
      nic(make_nic(0x8086, chip.device, *model, delay)),
      ring_owner_(nullptr, &std::free),
      ring_bytes_(nic->ring_bytes(layout)),
      headers_(size_t{slots} * layout.header_bytes),
      payloads_(size_t{slots} * layout.payload_bytes),
      owners_(slots, Owner::test) {
    ring_owner_.reset(static_cast<std::byte*>(std::aligned_alloc(4096, ring_bytes_)));
    ring_memory_ = ring_owner_.get();
    // What was there before looks like descriptors that are done.
    std::memset(ring_memory_, 0xff, ring_bytes_);
    memory.map(ring_iova, std::span(ring_memory_, ring_bytes_));
    memory.map(header_iova, headers_);
    memory.map(payload_iova, payloads_);
}

void Rig::start() {
    const auto reset = nic->reset();
    ASSERT_TRUE(reset) << reset.error().to_string();
    const auto started = nic->start(layout, rings(), false);
    ASSERT_TRUE(started) << started.error().to_string();
}

void Rig::move(Slot slot, Owner from, Owner to) {
    ASSERT_EQ(slot.region, region);
    ASSERT_LT(slot.index, owners_.size());
    EXPECT_EQ(owners_[slot.index], from) << "slot " << slot.index;
    owners_[slot.index] = to;
}

std::vector<uint32_t> Rig::free_slots(size_t most) const {
    std::vector<uint32_t> free;
    for (uint32_t i = 0; i < owners_.size() && free.size() < most; i++)
        if (owners_[i] == Owner::test) free.push_back(i);
    return free;
}

RxBuffer Rig::buffer(uint32_t slot) const {
    return {{region, slot},
            header_iova + size_t{slot} * layout.header_bytes,
            payload_iova + size_t{slot} * layout.payload_bytes};
}

size_t Rig::fill(size_t most) {
    std::vector<RxBuffer> buffers;
    for (const uint32_t slot : free_slots(most))
        buffers.push_back(buffer(slot));
    const size_t room = nic->rx_room();
    const size_t taken = nic->fill(buffers);
    EXPECT_EQ(taken, std::min(room, buffers.size()));
    EXPECT_EQ(nic->rx_room(), room - taken);
    for (size_t i = 0; i < taken; i++)
        move(buffers[i].slot, Owner::test, Owner::rx_ring);
    return taken;
}

Frame Rig::contents(const RxFrame& frame) const {
    EXPECT_LE(frame.header_length, layout.header_bytes);
    EXPECT_LE(frame.payload_length, layout.payload_bytes);
    const auto header =
        headers_.begin() + static_cast<ptrdiff_t>(size_t{frame.slot.index} * layout.header_bytes);
    const auto payload =
        payloads_.begin() + static_cast<ptrdiff_t>(size_t{frame.slot.index} * layout.payload_bytes);
    Frame bytes(header, header + frame.header_length);
    bytes.insert(bytes.end(), payload, payload + frame.payload_length);
    return bytes;
}

std::vector<Frame> Rig::receive(size_t batch) {
    std::vector<Frame> all;
    last_received.clear();
    for (;;) {
        std::vector<RxFrame> frames(batch);
        std::vector<Slot> dropped(batch);
        const auto [received, lost] = nic->receive(frames, dropped);
        EXPECT_LE(received, batch);
        EXPECT_LE(lost, batch);
        for (size_t i = 0; i < received; i++) {
            move(frames[i].slot, Owner::rx_ring, Owner::test);
            all.push_back(contents(frames[i]));
            last_received.push_back(frames[i]);
        }
        for (size_t i = 0; i < lost; i++)
            move(dropped[i], Owner::rx_ring, Owner::test);
        if (received == 0 && lost == 0) return all;
    }
}

size_t Rig::transmit(const std::vector<Frame>& frames, size_t header) {
    std::vector<TxFrame> out;
    const std::vector<uint32_t> slots = free_slots(frames.size());
    for (size_t i = 0; i < slots.size(); i++) {
        const RxBuffer at = buffer(slots[i]);
        const size_t in_header = std::min(header, frames[i].size());
        memory.write(at.header, std::span(frames[i]).first(in_header));
        if (in_header < frames[i].size()) memory.write(at.payload, std::span(frames[i]).subspan(in_header));
        out.push_back({at.slot, at.header, at.payload, static_cast<uint32_t>(in_header),
                       static_cast<uint32_t>(frames[i].size() - in_header)});
    }
    // Before the doorbell: the model completes what it is handed at once.
    const size_t taken = nic->transmit(out);
    EXPECT_LE(taken, out.size());
    for (size_t i = 0; i < taken; i++)
        move(out[i].slot, Owner::test, Owner::tx_ring);
    return taken;
}

size_t Rig::complete(size_t batch) {
    size_t all = 0;
    for (;;) {
        std::vector<Slot> slots(batch);
        const size_t count = nic->completed(slots);
        EXPECT_LE(count, batch);
        for (size_t i = 0; i < count; i++)
            move(slots[i], Owner::tx_ring, Owner::test);
        all += count;
        if (count == 0) return all;
    }
}

bool Rig::stop() {
    std::vector<Slot> left;
    const bool at_rest = nic->stop(left);
    for (const Slot slot : left) {
        EXPECT_LT(slot.index, owners_.size());
        EXPECT_NE(owners_[slot.index], Owner::test) << "slot " << slot.index << " came back twice";
        owners_[slot.index] = Owner::test;
    }
    return at_rest;
}

size_t Rig::owned_by(Owner owner) const {
    return static_cast<size_t>(std::count(owners_.begin(), owners_.end(), owner));
}

void Rig::expect_all_back() const {
    EXPECT_EQ(owned_by(Owner::test), owners_.size());
}

uint64_t Rig::statistic(std::string_view name) {
    for (const auto& [key, value] : nic->statistics())
        if (key == name) return value;
    ADD_FAILURE() << "no statistic " << name;
    return 0;
}

}  // namespace pktpit::offload::test
