// SPDX-License-Identifier: BSD-3-Clause
/// Whose prefix routes count as the kernel's own: with `noprefixroute` whoever set the address sets the
/// route, as network managers do by the protocol that the address came by.
#pragma once

#include <linux/rtnetlink.h>

#include <array>
#include <cstdint>

namespace pktpit::router {

inline constexpr std::array<uint8_t, 3> prefix_route_protocols{RTPROT_KERNEL, RTPROT_RA, RTPROT_DHCP};

}  // namespace pktpit::router
