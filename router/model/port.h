// SPDX-License-Identifier: BSD-3-Clause
/// A port of the model dataplane: a port of a modelled NIC, the wire that its frames come from and go to, and
/// its tap, which has the wire's MAC address and MTU. The daemon's thread.
#pragma once

#include <memory>

#include "config/config.h"
#include "router/dataplane/tap_port.h"
#include "router/model/wire.h"

namespace pktpit::router {

class ModelPort : public TapPort {
  public:
    /// Errors: the wire's, the tap's, an MTU that modelled packet memory has no room for.
    static Result<std::unique_ptr<ModelPort>> open(const config::Interface& interface,
                                                   const config::Config& config, size_t nic_port);
    /// The same wire again, after its device has come back.
    Result<void> reopen();
    /// The tap's MTU, if it has changed, becomes that of the device below.
    void follow_tap();
    void show_link();
    [[nodiscard]] std::string where() const { return "/interfaces/" + name + "/wire"; }

    const size_t nic_port;       ///< place among the topology's
    std::unique_ptr<Wire> wire;  ///< null: its device has gone, and is looked for
    bool wanted = false;         ///< attached: to be started again when its device is back
    bool failure_told = false;

  private:
    ModelPort(const config::Interface& interface, std::unique_ptr<Wire> opened, Tap made, size_t place,
              uint32_t mtu, const std::string& instance);
    config::Wire settings_;
    std::string instance_;
    uint32_t mtu_;
};

}  // namespace pktpit::router
