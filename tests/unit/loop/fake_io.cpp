// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/loop/fake_io.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace pktpit::router::test {

using offload::HeaderSlice;
using offload::Slot;

FakeIo::FakeIo(size_t slots, size_t doorbell) : doorbell_(doorbell), cells_(slots) {
    for (uint32_t index = 0; index < slots; index++)
        free_.push_back(index);
}

size_t FakeIo::receive(std::span<HeaderSlice> slices) {
    size_t count = 0;
    for (; count < slices.size() && !arrivals_.empty() && !free_.empty(); count++) {
        const Arrival arrival = std::move(arrivals_.front());
        arrivals_.pop_front();
        const uint32_t index = free_.back();
        free_.pop_back();
        Cell& cell = cells_[index];
        EXPECT_FALSE(std::exchange(cell.out, true));
        const auto& bytes = arrival.bytes;
        const size_t length = std::min({bytes.size(), arrival.split, size_t{PP_SLICE_BYTES}});
        const auto end = bytes.begin() + static_cast<long>(length);
        cell.header.assign(offload::header_headroom, 0xee);
        cell.header.insert(cell.header.end(), bytes.begin(), end);
        cell.header.shrink_to_fit();
        cell.payload.assign(end, bytes.end());
        cell.length = length;
        HeaderSlice& slice = slices[count];
        slice = {};
        slice.bytes = cell.header.data() + offload::header_headroom;
        slice.length = static_cast<uint16_t>(length);
        slice.port = arrival.port;
        slice.frame_length = static_cast<uint32_t>(bytes.size());
        slice.veto = static_cast<uint8_t>(arrival.veto);
        slice.timestamp = arrival.timestamp;
        slice.slot = {0, index};
    }
    return count;
}

void FakeIo::give(Slot slot) {
    ASSERT_EQ(slot.region, 0);
    ASSERT_LT(slot.index, cells_.size());
    ASSERT_TRUE(std::exchange(cells_[slot.index].out, false)) << "given back twice";
    free_.push_back(slot.index);
}

void FakeIo::submit(std::span<const offload::EgressDescriptor> descriptors) {
    submits++;
    for (const auto& descriptor : descriptors) {
        ASSERT_LT(descriptor.slot.index, cells_.size());
        const Cell& cell = cells_[descriptor.slot.index];
        ASSERT_GE(descriptor.header, cell.header.data());
        ASSERT_LE(descriptor.header + descriptor.header_length, cell.header.data() + cell.header.size());
        ASSERT_LE(descriptor.payload_length, cell.payload.size());  // without a trailer
        if (refuse != PP_NONE) {
            note_refused(descriptor.slot, static_cast<uint8_t>(refuse));
            give(descriptor.slot);
            continue;
        }
        Departure departure{descriptor.port, {}};
        departure.bytes.assign(descriptor.header, descriptor.header + descriptor.header_length);
        departure.bytes.insert(departure.bytes.end(), cell.payload.begin(),
                               cell.payload.begin() + descriptor.payload_length);
        departures_.push_back(std::move(departure));
        give(descriptor.slot);
    }
}

void FakeIo::release(std::span<const Slot> slots) {
    for (const Slot slot : slots)
        give(slot);
}

bool FakeIo::copy_frame(const HeaderSlice& slice, std::span<uint8_t> frame) {
    const Cell& cell = cells_.at(slice.slot.index);
    EXPECT_EQ(frame.size(), slice.frame_length);
    EXPECT_EQ(frame.size(), cell.length + cell.payload.size());
    if (payload_gone && !cell.payload.empty()) return false;
    std::copy_n(slice.bytes, slice.length, frame.begin());
    std::ranges::copy(cell.payload, frame.begin() + slice.length);
    return true;
}

bool FakeIo::send(uint16_t port, std::span<const uint8_t> frame) {
    departures_.push_back({port, {frame.begin(), frame.end()}});
    return true;
}

}  // namespace pktpit::router::test
