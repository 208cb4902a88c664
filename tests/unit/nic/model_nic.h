// SPDX-License-Identifier: BSD-3-Clause
/// A model of Intel's gigabit controllers for the driver's tests, after their datasheets, in the parts that
/// are used. Frames come in by receive() and go out into `sent`. What the datasheet forbids a driver to do
/// is a test failure. Faults are put in by the public members.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "offload/nic/nic.h"
#include "tests/unit/nic/dma_memory.h"
#include "tests/unit/nic/frames.h"

namespace pktpit::offload::test {

/// A descriptor as it is written back; 82576: words 0 and 1 alone.
using DescriptorImage = std::array<uint64_t, 4>;

class ModelNic : public Registers {
  public:
    explicit ModelNic(DmaMemory& memory);

    uint32_t read(uint32_t offset) final;
    void write(uint32_t offset, uint32_t value) final;

    /// A frame from the wire. False: it was not taken (receiver off, filtered, no descriptor).
    bool receive(const Frame& frame);
    /// Sends what the tail says; with `hold_transmit` only when called here, at most `most` descriptors.
    void run_transmit(size_t most = SIZE_MAX);
    void set_link(bool up);
    /// Takes buffers and forgets them.
    void lose_buffers(size_t count) {
        for (size_t i = 0; i < count; i++)
            (void)take(rx_queue(), rx_descriptor_bytes());
    }

    std::vector<Frame> sent;
    uint64_t interrupts = 0;
    uint64_t doorbells = 0;
    std::set<uint32_t> read_offsets;

    bool dead = false;  ///< surprise removal: all registers read as all ones
    bool never_ending_reset = false;
    bool reset_keeps_registers = false;  ///< as QEMU's e1000e does
    bool no_eeprom = false;
    bool never_at_rest = false;
    bool hold_transmit = false;
    bool phy_powered_down = false;
    bool reset_ends_link = false;                     ///< until negotiation is started, as QEMU's igb does
    bool does_not_split = false;                      ///< 82576: as QEMU 8.0 models it
    bool icr_clears_on_read = true;                   ///< QEMU 7.2: false
    std::function<void(DescriptorImage&)> change_rx;  ///< applied to the next write-back of a frame's end
    uint64_t tx_status = 0;                           ///< added to the status of transmit descriptors
    std::map<uint32_t, uint32_t> overridden;          ///< registers that read as this, whatever happens

  protected:
    struct Queue {
        uint32_t base;
        uint32_t unit;  ///< bytes that head and tail count
    };
    [[nodiscard]] uint32_t reg(uint32_t offset) const;
    void set(uint32_t offset, uint32_t value) { registers_[offset] = value; }
    [[nodiscard]] Iova ring(const Queue& queue) const {
        return reg(queue.base) | uint64_t{reg(queue.base + 4)} << 32;
    }
    /// Descriptors of `bytes` that the device owns.
    [[nodiscard]] uint32_t owned(const Queue& queue, uint32_t bytes) const;
    Iova take(const Queue& queue, uint32_t bytes);
    /// Writes back all words but the one that holds DD, then that.
    void write_back(Iova at, const DescriptorImage& image, size_t words, bool last_of_frame);
    void raise(uint32_t causes);
    DmaMemory& memory() { return memory_; }

    [[nodiscard]] virtual Queue rx_queue() const = 0;
    [[nodiscard]] virtual Queue tx_queue() const = 0;
    [[nodiscard]] virtual uint32_t interrupt_base() const = 0;
    /// What a reset leaves in the registers.
    virtual void defaults() = 0;
    [[nodiscard]] virtual bool receiver_on() const = 0;
    [[nodiscard]] virtual bool transmitter_on() const = 0;
    [[nodiscard]] virtual uint32_t rx_descriptor_bytes() const = 0;
    [[nodiscard]] virtual uint32_t rx_descriptors_for(size_t bytes, size_t header) const = 0;
    virtual void deliver(const Frame& frame, size_t header) = 0;
    /// Checks a transmit descriptor's second word.
    virtual void check_tx(uint64_t word) const = 0;
    [[nodiscard]] bool master() const;

  private:
    void reset();
    void phy(uint32_t command);
    [[nodiscard]] bool accepts(const Frame& frame) const;
    void count(uint32_t offset) { registers_[offset]++; }
    void count_wide(uint32_t offset, uint64_t octets);
    void update_interrupt();

    DmaMemory& memory_;
    std::map<uint32_t, uint32_t> registers_;
    Frame sending_;
    bool link_ = true;
    bool asserted_ = false;
    uint16_t phy_control_ = 0x1140;
};

}  // namespace pktpit::offload::test
