#include "router/daemon/offloads.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>

#include "base/fd.h"

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

std::optional<bool> set_receive_vlan_offload(const std::string& device, bool on) {
    ethtool_value flags{ETHTOOL_GFLAGS, 0};
    if (!ethtool(device, flags)) return std::nullopt;
    const bool before = (flags.data & ETH_FLAG_RXVLAN) != 0;
    if (before == on) return before;
    flags.cmd = ETHTOOL_SFLAGS;
    flags.data ^= ETH_FLAG_RXVLAN;
    if (!ethtool(device, flags)) return std::nullopt;
    return before;
}

}  // namespace pktpit::router
