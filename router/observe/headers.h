// SPDX-License-Identifier: BSD-3-Clause
/// The headers of a frame as JSON, for people: Ethernet, VLAN tags, ARP, IPv4, IPv6, ports, ICMP. Takes any
/// bytes and reads only those there are. Pure; any thread.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <span>

#include "base/address.h"

namespace pktpit::router {

/// The shape is in docs/api.md (trace). A header that ends early is left out.
nlohmann::json headers_of(std::span<const uint8_t> frame);

/// Where its IP packet goes; nullopt: none, or not all of the address is there.
std::optional<IpAddress> destination_of(std::span<const uint8_t> frame);

}  // namespace pktpit::router
