// SPDX-License-Identifier: BSD-3-Clause
/// Descriptors that firmware writes into a ring elsewhere, of another NIC or of the host, several in one TLP
/// where they have to wait for the link anyway: the next write holds what has gathered while the last one
/// waited. None is held back for others to come. Firmware owns one for each ring. One thread.
#pragma once

#include <vector>

#include "offload/model/nic.h"

namespace pktpit::model {

class DescriptorWriter {
  public:
    static constexpr uint32_t descriptor_bytes = 16;
    static constexpr unsigned most_batch = 8;  ///< 128 bytes, the least Max_Payload_Size

    /// `ring`: its bus address; `entries`: a power of two; `cookie`: dma_done() with it means done().
    DescriptorWriter(Nic& nic, uint64_t ring, uint32_t entries, unsigned batch, uint64_t cookie);
    /// The next of the ring, descriptor_bytes long.
    void put(std::span<const std::byte> descriptor, uint64_t packet);
    /// The last write is on the link.
    void done();

  private:
    void write();

    Nic& nic_;
    uint64_t ring_;
    uint32_t entries_;
    unsigned batch_;
    uint64_t cookie_;
    std::vector<std::byte> copy_;  ///< of the ring: DMA takes it from here; empty without batches
    uint64_t put_ = 0, written_ = 0;
    uint64_t packet_ = 0;  ///< of the last descriptor, for the tracer
    bool busy_ = false;
};

}  // namespace pktpit::model
