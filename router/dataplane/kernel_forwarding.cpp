// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/kernel_forwarding.h"

#include <string>

#include "router/dataplane/sysctl.h"

namespace pktpit::router {

std::vector<Error> kernel_forwarding_warnings(const config::Heartbeat& heartbeat) {
    if (heartbeat.on_daemon_loss != config::OnDaemonLoss::kernel) return {};
    std::vector<Error> warnings;
    for (const std::string path : {"ipv4/ip_forward", "ipv6/conf/all/forwarding"}) {
        if (get_sysctl(path).value_or("0") != "0") continue;
        std::string name = "net/" + path;
        for (char& c : name)
            if (c == '/') c = '.';
        warnings.push_back({"/heartbeat/on_daemon_loss",
                            "net/" + path +
                                " is 0, so that the kernel would drop what it is to forward while the daemon "
                                "stands still",
                            "Linux's forwarding switched on", "sysctl " + name + "=1"});
    }
    return warnings;
}

}  // namespace pktpit::router
