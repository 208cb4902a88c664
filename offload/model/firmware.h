// SPDX-License-Identifier: BSD-3-Clause
/// A program that runs on a modelled NIC: what happens to a frame between the wire, the fabric and the wire.
/// It is called for events and starts what follows; its computing time is charged by Nic::compute(). One
/// thread.
#pragma once

#include <cstdint>

#include "offload/model/requester.h"

namespace pktpit::model {

class Firmware {
  public:
    virtual ~Firmware() = default;
    /// A frame is in a slot of the NIC (Nic::meta() tells length, port and packet).
    virtual void frame(uint32_t slot) = 0;
    virtual void computed(uint32_t what, uint64_t argument) = 0;
    /// Somebody wrote into the BAR, beyond the packet slots.
    virtual void written(uint64_t offset, uint32_t length, uint64_t packet) = 0;
    virtual void dma_done(uint64_t cookie, DmaResult result) = 0;
    virtual void transmitted(uint64_t cookie) = 0;
};

/// Where a frame is to go.
struct Egress {
    bool forward = false;
    uint16_t nic = 0;
    uint16_t port = 0;
};

/// The routing decision that programs ask for; on the NIC or on the CPU. It may rewrite the header in place.
class Decider {
  public:
    virtual ~Decider() = default;
    virtual Egress decide(unsigned nic, unsigned port, std::byte* frame, uint32_t length) = 0;
};

}  // namespace pktpit::model
