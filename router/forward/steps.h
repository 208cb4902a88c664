// SPDX-License-Identifier: BSD-3-Clause
/// forward() in two steps with the lookup between them, for one frame or for a batch whose lookups are made
/// at once. Internal to router/forward.
#pragma once

#include "fib/reader.h"
#include "router/forward/frame.h"

namespace pktpit::router {

struct Destination {
    uint32_t ipv4 = 0;  ///< host byte order
    fib::Ip6Bytes ipv6{};
};

/// `frame` becomes one whose steps are still to come. In place, field by field: a Frame that is put together
/// elsewhere and copied is read wider than it was written, which stalls the CPU (8 % of a worker's core).
void begin(Frame& frame, const ImageView& image, uint16_t port, std::span<const uint8_t> slice,
           uint32_t frame_length);
/// PP_NONE: `destination` is to be looked up, of the family that frame.ethertype says.
pp_verdict before_lookup(Frame& frame, Decision& decision, Destination& destination);
void after_lookup(const Frame& frame, Decision& decision, uint32_t group);
/// What the filters of the interfaces say of a packet that is not dropped already (filter.cpp). After all
/// that decides, and before a byte is changed: the kernel gets it as it came.
void pass_filters(const Frame& frame, Decision& decision);

}  // namespace pktpit::router
