// SPDX-License-Identifier: BSD-3-Clause
/// A dataplane in memory: frames put in by a test come out as header slices, and what the control loop
/// submits is put together again. Every slot has one owner, and a wrong one is a failure of the test.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "bpf/abi.h"
#include "router/loop/port_io.h"
#include "tests/unit/forward/packets.h"

namespace pktpit::router::test {

class FakeIo : public PortIo {
  public:
    explicit FakeIo(size_t slots = 256, size_t doorbell = offload::default_batch);

    /// A frame that arrives: the slice ends after `split` bytes.
    struct Arrival {
        uint16_t port = 1;
        Buffer bytes;
        size_t split = PP_SLICE_BYTES;
        pp_verdict veto = PP_NONE;
        uint64_t timestamp = 0;
    };
    void arrive(Arrival arrival) { arrivals_.push_back(std::move(arrival)); }
    struct Departure {
        uint16_t port = 0;
        Buffer bytes;
        bool operator==(const Departure&) const = default;
    };
    std::vector<Departure> take_departures() { return std::exchange(departures_, {}); }
    [[nodiscard]] bool idle() const { return arrivals_.empty(); }
    [[nodiscard]] size_t free_slots() const { return free_.size(); }
    [[nodiscard]] size_t slots() const { return cells_.size(); }

    size_t receive(std::span<offload::HeaderSlice> slices) override;
    [[nodiscard]] size_t most_per_doorbell() const override { return doorbell_; }
    void submit(std::span<const offload::EgressDescriptor> descriptors) override;
    void release(std::span<const offload::Slot> slots) override;
    void complete() override {}
    bool copy_frame(const offload::HeaderSlice& slice, std::span<uint8_t> frame) override;
    [[nodiscard]] size_t readable_bytes(const offload::HeaderSlice& slice) const override {
        return in_one_piece ? slice.frame_length : slice.length;
    }
    bool send(uint16_t port, std::span<const uint8_t> frame) override;
    void arm() override {}
    void disarm() override {}
    void look() override {}

    bool payload_gone = false;
    bool in_one_piece = false;    ///< what is behind a slice lies in main memory, too
    pp_verdict refuse = PP_NONE;  ///< what submit() does with all it gets; PP_NONE: sends it
    size_t submits = 0;

  private:
    void give(offload::Slot slot);

    struct Cell {
        std::vector<uint8_t> header;   ///< headroom, then the slice: ends where the slice does
        std::vector<uint8_t> payload;  ///< what is behind it
        size_t length = 0;             ///< of the slice
        bool out = false;
    };
    size_t doorbell_;
    std::deque<Arrival> arrivals_;
    std::vector<Departure> departures_;
    std::vector<Cell> cells_;
    std::vector<uint32_t> free_;
};

}  // namespace pktpit::router::test
