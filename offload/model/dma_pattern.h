// SPDX-License-Identifier: BSD-3-Clause
/// A device that does the same DMA operations for packet after packet, as fast as the fabric lets it: what
/// pcie-bench does, and a NIC without its wire. One thread.
#pragma once

#include <vector>

#include "offload/model/fabric.h"

namespace pktpit::model {

struct DmaStep {
    bool read = false;
    uint64_t address = 0;  ///< of the first packet
    uint64_t stride = 0;   ///< to the next packet's
    uint64_t packets = 1;  ///< after so many it begins again
    uint32_t bytes = 0;
};

class DmaPattern : public DmaClient {
  public:
    /// `window`: packets that are begun and not ended.
    DmaPattern(Fabric& fabric, Endpoint& device, std::vector<DmaStep> steps, unsigned window);
    void start();
    void dma_done(uint64_t cookie, DmaResult result) override;
    [[nodiscard]] uint64_t packets() const { return packets_; }
    [[nodiscard]] uint64_t failed() const { return failed_; }

  private:
    void begin(uint64_t place);

    Fabric& fabric_;
    Endpoint& device_;
    std::vector<DmaStep> steps_;
    std::vector<size_t> left_;  ///< by place in the window: operations that have not ended
    std::vector<std::byte> buffer_;
    uint64_t begun_ = 0;
    uint64_t packets_ = 0;
    uint64_t failed_ = 0;
    Ring<uint64_t> ended_;
    bool beginning_ = false;
};

/// Packets a second that it reaches: `warm_up` and then `duration` of virtual time.
double measure(Fabric& fabric, DmaPattern& pattern, Time warm_up, Time duration);

}  // namespace pktpit::model
