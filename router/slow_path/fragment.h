// SPDX-License-Identifier: BSD-3-Clause
/// IPv4 fragmentation, RFC 791 section 3.2. Pure: header and payload in, fragments out through a function.
#pragma once

#include <functional>

#include "router/forward/packet.h"

namespace pktpit::router {

/// Cuts a packet (itself a fragment or not; DF is the caller's matter) into pieces of at most `mtu` bytes and
/// hands each out in order: complete header, then payload. Options without the copy flag stay in the piece
/// that has the packet's first byte. Returns how many there were; 0, with nothing handed out: no room for 8
/// bytes of payload beside the header, or the packet ends beyond 65,535 bytes.
size_t fragment(const OwnedHeader& header, Bytes payload, size_t mtu,
                const std::function<void(Bytes header, Bytes payload)>& emit);

}  // namespace pktpit::router
