// SPDX-License-Identifier: BSD-3-Clause
/// A NIC that is added while everything runs: until then its link is down and no route leads to it. The link
/// comes up, the CPU configures the device (a configuration write, answered by a completion), the driver
/// starts it, and then routes lead to it. One thread.
#pragma once

#include <functional>

#include "offload/model/nic.h"

namespace pktpit::model {

struct HotAddSettings {
    unsigned nic = 1;
    Time at = 0;
};

class HotAdd : public Actor, public Decider {
  public:
    /// `inner` decides; egresses on the NIC are no routes until it is there. `start_driver`: called once.
    HotAdd(Fabric& fabric, Nic& nic, Decider& inner, Time at, std::function<void()> start_driver);
    void on_event(uint32_t what, uint64_t argument) override;
    Egress decide(unsigned nic, unsigned port, std::byte* frame, uint32_t length) override;
    [[nodiscard]] bool present() const { return present_; }

  private:
    void set_link(bool up);

    Fabric& fabric_;
    Nic& nic_;
    Decider& inner_;
    std::function<void()> start_driver_;
    bool present_ = false;
};

}  // namespace pktpit::model
