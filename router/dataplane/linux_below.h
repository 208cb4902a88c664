// SPDX-License-Identifier: BSD-3-Clause
/// The Linux device that a driver takes its packets from (net_af_packet, net_af_xdp): the kernel sees its
/// packets, too, and is kept from answering them, since the port's tap stands for the host. Its switches are
/// given back at the end; after a daemon that was killed by the next one of the instance, for what they were
/// stands in a file of the device (INSTANCE.below_NAMESPACE_IFINDEX in the run directory, as run_state.h has
/// it), which is locked as long as somebody has the device. The daemon's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/fd.h"
#include "base/result.h"
#include "router/dataplane/run_state.h"

namespace pktpit::router {

class LinuxBelow {
  public:
    /// Sets it up and silent. Errors: no such device; it has addresses, so it is the host's own.
    static Result<LinuxBelow> take(const std::string& name, const std::string& where,
                                   const std::string& instance);
    /// What a daemon that was killed has left silent, and nobody has taken since, gets its switches back.
    static void give_back_left(const std::string& instance);
    ~LinuxBelow();
    LinuxBelow(LinuxBelow&& other) noexcept;
    LinuxBelow& operator=(LinuxBelow&&) = delete;

    /// 0: it has gone.
    [[nodiscard]] uint32_t index() const;
    /// Up, with a carrier.
    [[nodiscard]] bool running() const;
    [[nodiscard]] std::optional<uint32_t> mtu() const;
    [[nodiscard]] bool set_mtu(uint32_t mtu) const;
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    LinuxBelow(std::string name, const std::string& instance);
    void silence();
    [[nodiscard]] Result<void> note();

    std::string name_;
    std::string file_;  ///< empty once moved from
    Fd socket_;
    Fd lock_;
    SwitchValues before_;
};

}  // namespace pktpit::router
