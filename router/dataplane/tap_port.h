// SPDX-License-Identifier: BSD-3-Clause
/// A port with a NIC that the kernel does not have: its tap stands for it there. Dataplanes derive what
/// drives the NIC. The daemon's thread, with the workers paused where a dataplane says so.
#pragma once

#include <cstdint>
#include <string>

#include "router/dataplane/tap.h"

namespace pktpit::router {

class TapPort {
  public:
    virtual ~TapPort() = default;
    TapPort(const TapPort&) = delete;
    TapPort& operator=(const TapPort&) = delete;

    const std::string name;
    Tap tap;
    uint16_t id = 0;  ///< 0: not prepared
    bool started = false;

  protected:
    TapPort(std::string port_name, Tap made) : name(std::move(port_name)), tap(std::move(made)) {}
};

}  // namespace pktpit::router
