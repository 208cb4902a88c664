// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/host_switches.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "base/errno_text.h"
#include "base/fd.h"
#include "router/dataplane/sysctl.h"

namespace pktpit::router {
namespace {

bool ethtool(const std::string& device, ethtool_value& value) {
    const Fd socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    ifreq request{};
    if (!socket || device.size() >= sizeof request.ifr_name) return false;
    std::memcpy(request.ifr_name, device.data(), device.size());
    request.ifr_data = reinterpret_cast<char*>(&value);
    return ioctl(socket.get(), SIOCETHTOOL, &request) == 0;
}

}  // namespace

std::optional<std::string> LinuxSwitches::sysctl(const std::string& path) {
    return get_sysctl(path);
}

Result<void> LinuxSwitches::set_sysctl(const std::string& path, const std::string& value) {
    if (!get_sysctl(path) || router::set_sysctl(path, value)) return {};
    return fail("net/" + path, "cannot be set to " + value, "a writable /proc/sys");
}

std::optional<bool> LinuxSwitches::receive_vlan_offload(const std::string& device) {
    ethtool_value flags{ETHTOOL_GFLAGS, 0};
    if (!ethtool(device, flags)) return std::nullopt;
    return (flags.data & ETH_FLAG_RXVLAN) != 0;
}

Result<void> LinuxSwitches::set_receive_vlan_offload(const std::string& device, bool on) {
    ethtool_value flags{ETHTOOL_GFLAGS, 0};
    if (!ethtool(device, flags) || ((flags.data & ETH_FLAG_RXVLAN) != 0) == on) return {};
    flags.cmd = ETHTOOL_SFLAGS;
    flags.data ^= ETH_FLAG_RXVLAN;
    if (ethtool(device, flags)) return {};
    return fail(device, std::string("receive VLAN offload cannot be turned ") + (on ? "on" : "off") + ": " +
                            errno_text(errno));
}

}  // namespace pktpit::router
