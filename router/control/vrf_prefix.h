// SPDX-License-Identifier: BSD-3-Clause
/// The place of a route: prefixes of different VRFs have nothing to do with each other.
#pragma once

#include <compare>
#include <string>

#include "base/address.h"
#include "config/config.h"

namespace pktpit::router {

struct VrfPrefix {
    std::string vrf;  ///< empty: the default one; it comes first
    Prefix prefix;
    auto operator<=>(const VrfPrefix&) const = default;
    /// For people.
    [[nodiscard]] std::string to_string() const {
        return prefix.to_string() + (vrf.empty() ? "" : " of VRF " + vrf);
    }
};

inline VrfPrefix place_of(const config::StaticRoute& route) {
    return {route.vrf, route.prefix};
}

}  // namespace pktpit::router
