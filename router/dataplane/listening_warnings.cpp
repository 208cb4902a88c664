// SPDX-License-Identifier: BSD-3-Clause
#include "router/dataplane/listening_warnings.h"

#include <algorithm>

#include "base/socket_address.h"

namespace pktpit::router {

std::vector<Error> listening_warnings(const config::Config& config) {
    std::vector<Error> warnings;
    const auto is_given = [&](const IpAddress& address) {
        return std::ranges::any_of(config.interfaces, [&](const auto& entry) {
            return std::ranges::any_of(entry.second.addresses,
                                       [&](const auto& own) { return own.address == address; });
        });
    };
    const auto look_at = [&](const std::string& where, bool enabled, const IpAddress& address) {
        if (enabled && !is_given(address) && !is_of_this_host(address))
            warnings.push_back({where, address.to_string() + " is no address of this machine",
                                "one that it has, or that an interface of the configuration gets",
                                "nobody reaches it there until the machine has that address"});
    };
    look_at("/web/listen", config.web.enabled, config.web.address);
    look_at("/metrics/listen", config.metrics.enabled, config.metrics.address);
    look_at("/fpm/listen", config.fpm.enabled, config.fpm.address);
    return warnings;
}

}  // namespace pktpit::router
