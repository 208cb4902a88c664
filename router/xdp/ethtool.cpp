// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/ethtool.h"

#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>

namespace pktpit::router {

Ethtool::Ethtool(const std::string& device) : socket_(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
    if (device.size() < sizeof request_.ifr_name)
        std::memcpy(request_.ifr_name, device.data(), device.size());
}

bool Ethtool::call(void* data) {
    request_.ifr_data = static_cast<char*>(data);
    return socket_ && ioctl(socket_.get(), SIOCETHTOOL, &request_) == 0;
}

std::string Ethtool::driver() {
    ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (!call(&info)) return {};
    return {info.driver, strnlen(info.driver, sizeof info.driver)};
}

}  // namespace pktpit::router
