// SPDX-License-Identifier: BSD-3-Clause
/// Switches of the host's devices that the control plane turns without netlink: sysctls and offloads.
/// Injected, so that the control plane is tested without root. One thread, but for what says otherwise.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace pktpit::router {

class HostSwitches {
  public:
    virtual ~HostSwitches() = default;

    /// A sysctl below net/, by its path there: "ipv6/conf/eth0/forwarding". Nothing: there is no such switch.
    /// Any thread.
    [[nodiscard]] virtual std::optional<std::string> sysctl(const std::string& path) = 0;
    /// Error: it cannot be written. A switch that has gone, with its device, needs no setting.
    virtual Result<void> set_sysctl(const std::string& path, const std::string& value) = 0;

    /// Receive VLAN offload takes tags off frames before an XDP program sees them, which would make every
    /// VLAN look like the untagged one. Nothing: the device has no such switch. Any thread; waits for the
    /// kernel's networking lock.
    [[nodiscard]] virtual std::optional<bool> receive_vlan_offload(const std::string& device) = 0;
    virtual Result<void> set_receive_vlan_offload(const std::string& device, bool on) = 0;
};

/// Those of the network namespace that the daemon is in.
class LinuxSwitches : public HostSwitches {
  public:
    [[nodiscard]] std::optional<std::string> sysctl(const std::string& path) override;
    Result<void> set_sysctl(const std::string& path, const std::string& value) override;
    [[nodiscard]] std::optional<bool> receive_vlan_offload(const std::string& device) override;
    Result<void> set_receive_vlan_offload(const std::string& device, bool on) override;
};

}  // namespace pktpit::router
