// SPDX-License-Identifier: BSD-3-Clause
/// The 82576: advanced descriptors, header split by SRRCTL, queues that have to be enabled.
#pragma once

#include "tests/unit/nic/model_nic.h"

namespace pktpit::offload::test {

class Model82576 final : public ModelNic {
  public:
    explicit Model82576(DmaMemory& memory) : ModelNic(memory) {}

  protected:
    [[nodiscard]] Queue rx_queue() const override { return {0xc000, 16}; }
    [[nodiscard]] Queue tx_queue() const override { return {0xe000, 16}; }
    [[nodiscard]] uint32_t interrupt_base() const override { return 0x1500; }
    void defaults() override {}
    [[nodiscard]] bool receiver_on() const override;
    [[nodiscard]] bool transmitter_on() const override;
    [[nodiscard]] uint32_t rx_descriptor_bytes() const override { return 16; }
    [[nodiscard]] uint32_t rx_descriptors_for(size_t bytes, size_t header) const override;
    void deliver(const Frame& frame, size_t header) override;
    void check_tx(uint64_t word) const override;

  private:
    /// Bytes of a frame that go into the header buffer (82576 datasheet 7.1.6, header split always).
    [[nodiscard]] size_t in_header_buffer(size_t bytes, size_t header) const;
    [[nodiscard]] size_t header_bytes() const { return size_t{reg(0xc00c) >> 8 & 0x3f} * 64; }
    [[nodiscard]] size_t payload_bytes() const { return size_t{reg(0xc00c) & 0x7f} * 1024; }
};

}  // namespace pktpit::offload::test
