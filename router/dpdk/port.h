// SPDX-License-Identifier: BSD-3-Clause
/// A port of the dpdk dataplane: its Ethernet device and its tap, which has the device's MAC address and MTU,
/// and whose later ones the device follows. The daemon's thread, with the worker paused where it says so.
#pragma once

#include <memory>
#include <string>

#include "config/config.h"
#include "router/dataplane/tap_port.h"
#include "router/dpdk/eth_device.h"

namespace pktpit::router {

class EthPort : public TapPort {
  public:
    /// Errors: the device's, the tap's, an MTU of the device that no slot has room for.
    static Result<std::unique_ptr<EthPort>> open(const config::Interface& interface, uint32_t slot_bytes,
                                                 const std::string& instance);

    /// The tap's MAC address and MTU, if they have changed, become the device's. Says what it refuses, once.
    void follow_tap();
    /// The device is up, and so is its link.
    void show_link();

    const std::string text;             ///< of the device
    std::unique_ptr<EthDevice> device;  ///< null: it has gone, and is looked for
    bool wanted = false;                ///< attached: to be started again when its device is back
    bool failure_told = false;

    [[nodiscard]] uint32_t mtu() const { return mtu_; }
    [[nodiscard]] std::string where() const { return "/interfaces/" + name + "/device"; }

  private:
    EthPort(const config::Interface& interface, std::unique_ptr<EthDevice> opened, Tap made, uint32_t mtu,
            uint32_t slot_bytes);
    uint32_t slot_bytes_;
    uint32_t mtu_;
    MacAddress mac_;
};

}  // namespace pktpit::router
