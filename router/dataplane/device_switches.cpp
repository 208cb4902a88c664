// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/device_switches.h"

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

std::optional<bool> get_receive_vlan_offload(const std::string& device) {
    ethtool_value flags{ETHTOOL_GFLAGS, 0};
    if (!ethtool(device, flags)) return std::nullopt;
    return (flags.data & ETH_FLAG_RXVLAN) != 0;
}

Result<void> set_receive_vlan_offload(const std::string& device, bool on) {
    ethtool_value flags{ETHTOOL_GFLAGS, 0};
    if (!ethtool(device, flags) || ((flags.data & ETH_FLAG_RXVLAN) != 0) == on) return {};
    flags.cmd = ETHTOOL_SFLAGS;
    flags.data ^= ETH_FLAG_RXVLAN;
    if (ethtool(device, flags)) return {};
    return fail(device, std::string("receive VLAN offload cannot be turned ") + (on ? "on" : "off") + ": " +
                            errno_text(errno));
}

std::string device_sysctl(const std::string& device, std::string_view name) {
    if (name == "accept_redirects_of_all") return "ipv4/conf/all/accept_redirects";
    if (constexpr std::string_view kept = "_gc_stale_time"; name.ends_with(kept))
        return std::string(name.substr(0, name.size() - kept.size())) + "/neigh/" + device + "/gc_stale_time";
    const bool ipv4 = name == "accept_redirects" || name == "promote_secondaries";
    const char* family = ipv4 ? "ipv4" : "ipv6";
    return std::string(family) + "/conf/" + device + "/" + std::string(name);
}

Result<void> put_back_switches(const std::string& device, const SwitchValues& values) {
    Result<void> all;
    for (const auto& [name, value] : values) {
        auto done = name == vlan_offload_switch ? set_receive_vlan_offload(device, value == "1")
                                                : put_sysctl(device_sysctl(device, name), value);
        if (!done) all = std::move(done);
    }
    return all;
}

}  // namespace pktpit::router
