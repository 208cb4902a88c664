// SPDX-License-Identifier: BSD-3-Clause
/// What the simulated peer device reaches: its own memory, and registers of other devices. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace pktpit::test_peer {

/// Writes on the bus. Handed in, so that programs are executed in tests without a machine.
class Doorbells {
  public:
    virtual ~Doorbells() = default;
    virtual void write32(uint64_t address, uint32_t value) = 0;
};

class Bus {
  public:
    Bus(std::span<std::byte> memory, Doorbells& doorbells) : memory_(memory), doorbells_(doorbells) {}

    void set_bus_address(uint64_t address) { address_ = address; }
    [[nodiscard]] std::span<std::byte> memory() const { return memory_; }
    [[nodiscard]] uint64_t address() const { return address_; }
    /// Null: not all of it is the device's own memory.
    [[nodiscard]] std::byte* at(uint64_t address, uint64_t bytes) const {
        const uint64_t offset = address - address_;
        return offset <= memory_.size() && bytes <= memory_.size() - offset ? memory_.data() + offset
                                                                            : nullptr;
    }
    void write32(uint64_t address, uint32_t value) { doorbells_.write32(address, value); }

  private:
    std::span<std::byte> memory_;
    Doorbells& doorbells_;
    uint64_t address_ = 0;
};

}  // namespace pktpit::test_peer
