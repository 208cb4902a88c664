// SPDX-License-Identifier: BSD-3-Clause
/// The switches of a Linux device that the router turns (run_state.h names them), of this thread's network
/// namespace.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "router/dataplane/run_state.h"

namespace pktpit::router {

/// Receive VLAN offload. Nothing: the device has no such switch.
std::optional<bool> get_receive_vlan_offload(const std::string& device);
Result<void> set_receive_vlan_offload(const std::string& device, bool on);

/// What a router's interface is to the kernel. `forwarding` is the IPv6 role alone (router flag in
/// advertisements, all-routers group, no belief in others' advertisements and redirects): transit does not
/// reach the kernel. Addresses stay when a link goes down, as IPv4 ones do, and an IPv4 address outlives the
/// removal of the first one of its net: else an interface that is renumbered within its net, and others'
/// addresses there, would be lost. IPv4 redirects are not believed
/// (RFC 1812 5.2.7.2); as long as the kernel's own forwarding is off, it asks the device and the namespace's
/// `all`, and either allows. Neighbours stay known for a day though the kernel does not see them used,
/// instead of a minute: while there is no daemon nobody has them verified, the data path goes on with them,
/// and the next daemon is to find them.
struct RoleSwitch {
    std::string_view name;
    std::string_view value;
    bool shared = false;  ///< of all devices: noted by who turns it alone
};
inline constexpr std::array role_switches{
    RoleSwitch{"forwarding", "1"},
    RoleSwitch{"keep_addr_on_down", "1"},
    RoleSwitch{"promote_secondaries", "1"},
    RoleSwitch{"accept_redirects", "0"},
    RoleSwitch{"accept_redirects_of_all", "0", true},
    RoleSwitch{"ipv4_gc_stale_time", "86400"},
    RoleSwitch{"ipv6_gc_stale_time", "86400"},
};

/// The path below net/ of a switch that is a sysctl.
std::string device_sysctl(const std::string& device, std::string_view name);

/// Sets all of them; those that the device does not have are left out. Error: those that cannot be set.
Result<void> put_back_switches(const std::string& device, const SwitchValues& values);

}  // namespace pktpit::router
