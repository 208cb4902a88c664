// SPDX-License-Identifier: BSD-3-Clause
/// The Linux device that a driver takes its packets from (net_af_packet, net_af_xdp): the kernel sees its
/// packets, too, and is kept from answering them, since the port's tap stands for the host. Its switches are
/// given back at the end. The daemon's thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/result.h"

namespace pktpit::router {

class LinuxBelow {
  public:
    /// Sets it up and silent. Errors: no such device; it has addresses, so it is the host's own.
    static Result<LinuxBelow> take(const std::string& name, const std::string& where);
    ~LinuxBelow();
    LinuxBelow(LinuxBelow&& other) noexcept = default;
    LinuxBelow& operator=(LinuxBelow&&) = delete;

    /// 0: it has gone.
    [[nodiscard]] uint32_t index() const;
    /// Up, with a carrier.
    [[nodiscard]] bool running() const;
    [[nodiscard]] std::optional<uint32_t> mtu() const;
    [[nodiscard]] bool set_mtu(uint32_t mtu) const;
    [[nodiscard]] const std::string& name() const { return name_; }

  private:
    explicit LinuxBelow(std::string name);
    void silence();

    std::string name_;
    Fd socket_;
    std::vector<std::pair<std::string, std::string>> switches_before_;
};

}  // namespace pktpit::router
