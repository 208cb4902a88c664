// SPDX-License-Identifier: BSD-3-Clause
/// What a packet to the host is of, by its headers: whose budget it takes from. The twin of
/// pp_host_class_of() (bpf/guard.h). Any thread.
#pragma once

#include <cstdint>
#include <span>

#include "bpf/guard_layout.h"

namespace pktpit::router {

/// Of a frame that has passed the link layer; `slice`: its first bytes, at most 128.
pp_host_class host_class_of(std::span<const uint8_t> slice);

/// Is the IP packet at `l3_offset` one of IPv6 neighbour discovery? A hop limit of 255 has met no router.
bool shows_discovery(std::span<const uint8_t> slice, size_t l3_offset);

}  // namespace pktpit::router
