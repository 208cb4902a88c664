// SPDX-License-Identifier: BSD-3-Clause
/// Sends frames that the daemon makes or releases: whole Ethernet frames out of a device, by AF_PACKET. One
/// thread.
#pragma once

#include <cstdint>
#include <span>

#include "base/fd.h"
#include "base/result.h"

namespace pktpit::router {

class Transmitter {
  public:
    static Result<Transmitter> open();
    /// One frame, gathered from its parts. False: the device refused it (gone, down, queue full, too long).
    bool send(uint32_t ifindex, std::span<const std::span<const uint8_t>> parts) const;

  private:
    explicit Transmitter(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
};

}  // namespace pktpit::router
