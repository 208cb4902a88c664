// SPDX-License-Identifier: BSD-3-Clause
/// Questions about one device by SIOCETHTOOL, in this thread's network namespace. Private to router/xdp.
#pragma once

#include <net/if.h>

#include <string>

#include "base/fd.h"

namespace pktpit::router {

class Ethtool {
  public:
    explicit Ethtool(const std::string& device);
    /// One of the structures of linux/ethtool.h with its `cmd`. False: refused.
    bool call(void* data);
    /// "veth", "virtio_net", …; empty: it does not say.
    [[nodiscard]] std::string driver();

  private:
    Fd socket_;
    ifreq request_{};
};

}  // namespace pktpit::router
