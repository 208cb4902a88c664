// SPDX-License-Identifier: BSD-3-Clause
/// A NIC that lies: the fuzzer chooses every register value that a driver reads and every byte of its
/// descriptor rings, under a caller that keeps count of its slots. What must hold: no byte is touched outside
/// of the rings (sanitizers), no slot comes back that the driver does not hold, lengths stay within the
/// layout, all slots are back after a stop, and no call goes on for ever.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "offload/nic/drivers.h"
#include "tests/fuzz/demand.h"
#include "tests/fuzz/input.h"

namespace {

using pktpit::fuzz::demand;
using pktpit::fuzz::Input;
using namespace pktpit::offload;

/// Until `lying`, it answers as a chip does that comes up well; then with what the fuzzer says.
class LyingRegisters : public Registers {
  public:
    explicit LyingRegisters(Input& input) : input_(input) {}
    uint32_t read(uint32_t offset) override {
        if (lying) return static_cast<uint32_t>(input_.word(4));
        if (offset == 0x5400) return 0x00000002;
        if (offset == 0x5404) return 1U << 31 | 0x0100;
        if (offset == 0x0100 || offset == 0xc028 || offset == 0xe028) return last_[offset >> 2 & 0xffff];
        if (offset == 0x0020) return 1U << 28 | 0x1140;
        return 0;
    }
    void write(uint32_t offset, uint32_t value) override { last_[offset >> 2 & 0xffff] = value; }
    bool lying = false;

  private:
    Input& input_;
    std::vector<uint32_t> last_ = std::vector<uint32_t>(0x10000);
};

class NoDelay : public Delay {
  public:
    void wait(std::chrono::microseconds time) override {
        waited_ += time;
        demand(waited_ < std::chrono::minutes(10));
    }

  private:
    std::chrono::microseconds waited_{0};
};

enum class Owner : uint8_t { caller, receive, transmit };

class Caller {
  public:
    Caller(Nic& nic, const NicLayout& layout) : nic_(nic), layout_(layout) {}

    void fill(size_t most) {
        std::vector<RxBuffer> buffers;
        for (const uint32_t slot : free(most))
            buffers.push_back({{0, slot}, 0x10000 + slot * 128U, 0x100000 + slot * 2048U});
        const size_t taken = nic_.fill(buffers);
        demand(taken <= buffers.size());
        for (size_t i = 0; i < taken; i++)
            move(buffers[i].slot, Owner::caller, Owner::receive);
    }
    void receive(size_t batch) {
        std::vector<RxFrame> frames(batch);
        std::vector<Slot> dropped(batch);
        const auto [received, lost] = nic_.receive(frames, dropped);
        demand(received <= batch && lost <= batch);
        for (size_t i = 0; i < received; i++) {
            demand(frames[i].header_length <= layout_.header_bytes);
            demand(frames[i].payload_length <= layout_.payload_bytes);
            demand(frames[i].header_length + frames[i].payload_length <= layout_.max_frame);
            demand(frames[i].header_length == 0 ? !frames[i].split : frames[i].header_length >= 14);
            move(frames[i].slot, Owner::receive, Owner::caller);
        }
        for (size_t i = 0; i < lost; i++)
            move(dropped[i], Owner::receive, Owner::caller);
    }
    void transmit(size_t most, uint32_t header, uint32_t payload) {
        std::vector<TxFrame> frames;
        for (const uint32_t slot : free(most))
            frames.push_back({{0, slot}, 0x10000, 0x100000, header, payload});
        const size_t taken = nic_.transmit(frames);
        demand(taken <= frames.size());
        for (size_t i = 0; i < taken; i++)
            move(frames[i].slot, Owner::caller, Owner::transmit);
    }
    void complete(size_t batch) {
        std::vector<Slot> slots(batch);
        const size_t count = nic_.completed(slots);
        demand(count <= batch);
        for (size_t i = 0; i < count; i++)
            move(slots[i], Owner::transmit, Owner::caller);
    }
    void stop() {
        std::vector<Slot> left;
        nic_.stop(left);
        for (const Slot slot : left) {
            demand(slot.region == 0 && slot.index < owners_.size() && owners_[slot.index] != Owner::caller);
            owners_[slot.index] = Owner::caller;
        }
        demand(
            std::all_of(owners_.begin(), owners_.end(), [](Owner owner) { return owner == Owner::caller; }));
    }

  private:
    void move(Slot slot, Owner from, Owner to) {
        demand(slot.region == 0 && slot.index < owners_.size() && owners_[slot.index] == from);
        owners_[slot.index] = to;
    }
    [[nodiscard]] std::vector<uint32_t> free(size_t most) const {
        std::vector<uint32_t> slots;
        for (uint32_t i = 0; i < owners_.size() && slots.size() < most; i++)
            if (owners_[i] == Owner::caller) slots.push_back(i);
        return slots;
    }

    Nic& nic_;
    NicLayout layout_;
    std::vector<Owner> owners_ = std::vector<Owner>(48, Owner::caller);
};

void step(Input& input, Nic& nic, Caller& caller, LyingRegisters& registers, DmaBuffer rings,
          const NicLayout& layout, size_t rx_descriptor_bytes) {
    switch (input.byte() % 12) {
        case 0:
            caller.fill(input.byte() % 40);
            break;
        case 1:
            caller.receive(input.byte() % 20);
            break;
        case 2: {
            const size_t count = input.byte() % 24;
            const auto header = static_cast<uint32_t>(input.word(2));
            caller.transmit(count, header, static_cast<uint32_t>(input.word(2)));
            break;
        }
        case 3:
            caller.complete(input.byte() % 20);
            break;
        case 4:
        case 5:
        case 6: {
            // What the device writes into its rings: one word, anywhere.
            const uint64_t value = input.word(8);
            std::memcpy(rings.bytes.data() + input.word(2) % (rings.bytes.size() / 8) * 8, &value, 8);
            break;
        }
        case 7: {
            // A whole descriptor of the receive ring, done.
            const size_t at = input.byte() % layout.rx_descriptors;
            const uint64_t words[3] = {input.word(4) << 16, input.word(8) | 3, input.word(6)};
            std::memcpy(rings.bytes.data() + at * rx_descriptor_bytes, words, sizeof words);
            break;
        }
        case 8:
            static_cast<void>(nic.link());
            break;
        case 9:
            static_cast<void>(nic.statistics());
            nic.acknowledge_interrupt();
            break;
        case 10:
            registers.lying = input.byte() & 1;
            break;
        default:
            if (input.byte() % 8 != 0) break;
            caller.stop();
            static_cast<void>(nic.start(layout, rings, false));
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    constexpr std::pair<uint16_t, size_t> chips[] = {{0x10d3, 32}, {0x10c9, 16}};
    Input input(data, size);
    LyingRegisters registers(input);
    NoDelay delay;
    const auto& [device, rx_descriptor_bytes] = chips[input.byte() % 2];
    const auto nic = make_nic(0x8086, device, registers, delay);
    NicLayout layout;
    layout.rx_descriptors = 16;
    layout.tx_descriptors = 16;
    const size_t bytes = nic->ring_bytes(layout);
    const std::unique_ptr<std::byte, decltype(&std::free)> memory(
        static_cast<std::byte*>(std::aligned_alloc(4096, bytes)), &std::free);
    std::memset(memory.get(), 0, bytes);
    const DmaBuffer rings{std::span(memory.get(), bytes), 0x4000};
    registers.lying = input.byte() & 1;
    if (!nic->reset() || !nic->start(layout, rings, false)) {
        // One that does not come up: the next tells the truth.
        registers.lying = false;
        demand(nic->reset().has_value());
        demand(nic->start(layout, rings, false).has_value());
    }
    Caller caller(*nic, layout);
    while (!input.empty())
        step(input, *nic, caller, registers, rings, layout, rx_descriptor_bytes);
    caller.stop();
    return 0;
}
