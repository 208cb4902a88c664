// SPDX-License-Identifier: BSD-3-Clause
/// What a worker needs of its ports beside their packets: frames of the daemon's to send, and how to sleep
/// until something comes. The worker's thread.
#pragma once

#include "router/loop/packet_io.h"

namespace pktpit::router {

class PortIo : public offload::PacketIo {
  public:
    /// Sends a frame of the daemon's. False: no such port, too long, no slot, no room.
    virtual bool send(uint16_t port, std::span<const uint8_t> frame) = 0;
    /// From here on the next packet of any port ends the worker's sleep; packets that came before do not.
    virtual void arm() = 0;
    /// Whether frames wait to leave, and nothing will say when they can: a worker sleeps for a millisecond
    /// only, and asks the device again.
    [[nodiscard]] virtual bool waits_to_send() const { return false; }
    /// The sleep is over.
    virtual void disarm() = 0;
    /// Every 100 ms: what changes slowly, as links do.
    virtual void look() = 0;
};

}  // namespace pktpit::router
