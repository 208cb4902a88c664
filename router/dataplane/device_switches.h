// SPDX-License-Identifier: BSD-3-Clause
/// The switches of a Linux device that the router turns (run_state.h names them), of this thread's network
/// namespace.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "router/dataplane/run_state.h"

namespace pktpit::router {

/// Receive VLAN offload. Nothing: the device has no such switch.
std::optional<bool> get_receive_vlan_offload(const std::string& device);
Result<void> set_receive_vlan_offload(const std::string& device, bool on);

/// The path below net/ of a switch that is a sysctl.
std::string device_sysctl(const std::string& device, std::string_view name);

/// Sets all of them; those that the device does not have are left out. Error: those that cannot be set.
Result<void> put_back_switches(const std::string& device, const SwitchValues& values);

}  // namespace pktpit::router
