// SPDX-License-Identifier: BSD-3-Clause
/// The Linux device that stands for a NIC which the kernel does not have: the host's own traffic (ARP, ND,
/// ping, BGP) goes through it. Gone when this is. The daemon's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/address.h"
#include "base/fd.h"
#include "base/result.h"

namespace pktpit::router {

class Tap {
  public:
    /// Errors: no tun driver, no permission, a device of this name is there already.
    static Result<Tap> create(const std::string& name, const MacAddress& mac);

    [[nodiscard]] int descriptor() const { return file_.get(); }
    /// One frame that the kernel wants to send, into `room`; its length, 0: there is none now.
    [[nodiscard]] size_t receive(std::span<uint8_t> room) const;
    /// Hands a frame to the kernel as received. False: it refused (the device is down, no memory).
    [[nodiscard]] bool deliver(std::span<const uint8_t> frame) const;
    /// What they are now: `ip link` may have changed them. Nothing: the device has gone.
    [[nodiscard]] std::optional<MacAddress> mac() const;
    [[nodiscard]] std::optional<uint32_t> mtu() const;
    bool set_mtu(uint32_t mtu) const;
    /// Whether the device has a link, as `ip link` shows it.
    void set_carrier(bool on);

  private:
    explicit Tap(Fd file) : file_(std::move(file)) {}
    Fd file_;
    bool carrier_ = true;
};

}  // namespace pktpit::router
