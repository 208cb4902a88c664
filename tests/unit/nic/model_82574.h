// SPDX-License-Identifier: BSD-3-Clause
/// The 82574L: 32-byte packet split descriptors, whose head and tail count 16 bytes.
#pragma once

#include "tests/unit/nic/model_nic.h"

namespace pktpit::offload::test {

class Model82574 final : public ModelNic {
  public:
    explicit Model82574(DmaMemory& memory) : ModelNic(memory) { Model82574::defaults(); }

  protected:
    [[nodiscard]] Queue rx_queue() const override { return {0x2800, 16}; }
    [[nodiscard]] Queue tx_queue() const override { return {0x3800, 16}; }
    [[nodiscard]] uint32_t interrupt_base() const override { return 0x00c0; }
    void defaults() override;
    [[nodiscard]] bool receiver_on() const override;
    [[nodiscard]] bool transmitter_on() const override;
    [[nodiscard]] uint32_t rx_descriptor_bytes() const override { return 32; }
    [[nodiscard]] uint32_t rx_descriptors_for(size_t bytes, size_t header) const override;
    void deliver(const Frame& frame, size_t header) override;
    void check_tx(uint64_t word) const override;

  private:
    [[nodiscard]] size_t header_bytes() const { return size_t{reg(0x2170) & 0x7f} * 128; }
    [[nodiscard]] size_t payload_bytes() const { return size_t{reg(0x2170) >> 8 & 0x3f} * 1024; }
};

}  // namespace pktpit::offload::test
