// SPDX-License-Identifier: BSD-3-Clause
/// A NIC's registers with what each access needs: reads that notice a device that has gone, and waits that
/// end. Used by the drivers' control code, by the thread that owns the port; the packet path writes only
/// doorbells through it.
#pragma once

#include <chrono>
#include <cstdint>

#include "offload/nic/delay.h"
#include "offload/nic/nic.h"

namespace pktpit::offload {

class Device {
  public:
    Device(Registers& registers, Delay& delay) : registers_(registers), delay_(delay) {}

    /// All ones is what the root complex answers for a device that is not there (PCIe base spec 2.3.2):
    /// counted in errors().dead_reads. No register of these chips that is read holds all ones.
    [[nodiscard]] uint32_t read(uint32_t offset);
    void write(uint32_t offset, uint32_t value) { registers_.write(offset, value); }
    /// Reads, clears and sets bits, writes. Does not write to a device that has gone.
    void change(uint32_t offset, uint32_t clear, uint32_t set);
    /// Waits until the bits of `mask` are `value`. False: not within `limit`, or the device has gone.
    [[nodiscard]] bool wait_until(uint32_t offset, uint32_t mask, uint32_t value,
                                  std::chrono::microseconds limit);
    void wait(std::chrono::microseconds time) { delay_.wait(time); }

    [[nodiscard]] NicErrors& errors() { return errors_; }
    [[nodiscard]] const NicErrors& errors() const { return errors_; }

  private:
    Registers& registers_;
    Delay& delay_;
    NicErrors errors_;
};

}  // namespace pktpit::offload
