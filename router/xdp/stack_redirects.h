// SPDX-License-Identifier: BSD-3-Clause
/// The program that sends on what port stages hand to the kernel's stack for devices that no XDP redirect
/// reaches (bpf/stack_redirect.bpf.c): on each port's device as a tcx link (Linux 6.6), pinned beside the
/// port's own (`stack_<ifindex>`), so that it goes on without the daemon. It is the same for all ports and
/// has no state: one that an earlier daemon has left is taken as it is. Used by XdpDataplane; one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "router/xdp/pins.h"

namespace pktpit::router {

class StackRedirects {
  public:
    /// `pins` outlives this.
    explicit StackRedirects(const PinDirectory& pins) : pins_(&pins) {}

    /// Nothing happens if it is there. Errors: a kernel before 6.6, no privileges, no such device; not tried
    /// again on this device until take_off().
    Result<void> put_on(uint32_t ifindex, const std::string& device);
    [[nodiscard]] bool is_on(uint32_t ifindex) const;
    /// Somebody else has taken it off, or the device has gone.
    [[nodiscard]] bool was_detached(uint32_t ifindex) const;
    /// The device is no port any more.
    void take_off(uint32_t ifindex);
    /// Of a start that is refused: what an earlier daemon has not left goes.
    void undo();
    /// What an earlier daemon has left on other devices goes.
    void keep_only(const std::set<uint32_t>& devices) const;

  private:
    struct OnDevice {
        Fd link;  ///< none: it was refused
        bool made = false;
    };
    Result<void> load();
    [[nodiscard]] Fd left_on(uint32_t ifindex) const;

    const PinDirectory* pins_;
    Fd program_;
    std::map<uint32_t, OnDevice> devices_;
};

}  // namespace pktpit::router
