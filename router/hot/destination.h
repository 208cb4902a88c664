// SPDX-License-Identifier: BSD-3-Clause
/// Destinations as packets' samples carry them (bpf/abi.h), and what they are counted by. Plain values; any
/// thread.
#pragma once

#include <cstdint>

#include "base/address.h"
#include "bpf/abi.h"

namespace pktpit::router {

IpAddress address_of(const pp_destination& destination);
pp_destination destination_of(const IpAddress& address);

/// Destinations are counted by what is seldom routed apart: an IPv4 /24, an IPv6 /48.
uint64_t neighbourhood_of(const pp_destination& destination);

}  // namespace pktpit::router
