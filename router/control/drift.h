// SPDX-License-Identifier: BSD-3-Clause
/// What of the machine is no longer as the configuration wants it, because somebody else has changed it.
/// Plain values.
#pragma once

#include <compare>
#include <string>

namespace pktpit::router {

struct DriftItem {
    std::string what;      ///< "address", "link", "mtu", "sysctl", "offload", "device", "xdp", "route"
    std::string where;     ///< interface, or prefix of a route
    std::string expected;  ///< "10.0.0.1/24"
    std::string found;     ///< "absent"
    bool mended_by_reload = true;
    auto operator<=>(const DriftItem&) const = default;
    [[nodiscard]] std::string to_string() const {
        return where + ": " + what + " " + expected + ": " + found;
    }
};

}  // namespace pktpit::router
