// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/host_switches.h"

#include "router/dataplane/device_switches.h"
#include "router/dataplane/sysctl.h"

namespace pktpit::router {

std::optional<std::string> LinuxSwitches::sysctl(const std::string& path) {
    return get_sysctl(path);
}

Result<void> LinuxSwitches::set_sysctl(const std::string& path, const std::string& value) {
    return put_sysctl(path, value);
}

std::optional<bool> LinuxSwitches::receive_vlan_offload(const std::string& device) {
    return get_receive_vlan_offload(device);
}

Result<void> LinuxSwitches::set_receive_vlan_offload(const std::string& device, bool on) {
    return router::set_receive_vlan_offload(device, on);
}

}  // namespace pktpit::router
