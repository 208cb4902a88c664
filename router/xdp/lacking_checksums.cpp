// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/lacking_checksums.h"

#include "router/xdp/ethtool.h"

namespace pktpit::router {

bool may_lack_checksums(const std::string& device) {
    const std::string driver = Ethtool(device).driver();
    return driver == "veth" || driver == "tun" || driver == "virtio_net" || driver == "bonding";
}

}  // namespace pktpit::router
