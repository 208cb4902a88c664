// SPDX-License-Identifier: BSD-3-Clause
/// What the kernel says of devices that come and go (uevents): a payload memory whose device is unplugged has
/// to be revoked. One thread, the daemon's.
#pragma once

#include <functional>

#include "base/fd.h"
#include "base/result.h"
#include "offload/pci/address.h"

namespace pktpit::router {

class DeviceEvents {
  public:
    using Removed = std::function<void(offload::PciAddress)>;
    static Result<DeviceEvents> open();
    [[nodiscard]] int descriptor() const { return socket_.get(); }
    /// Calls back for each function that has gone. False: events were lost, so any may have.
    [[nodiscard]] bool poll(const Removed& removed) const;

  private:
    explicit DeviceEvents(Fd socket) : socket_(std::move(socket)) {}
    Fd socket_;
};

}  // namespace pktpit::router
