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

Frame frame_of(const ImageView& image, uint16_t port, std::span<const uint8_t> slice, uint32_t frame_length);
/// PP_NONE: `destination` is to be looked up, of the family that frame.ethertype says.
pp_verdict before_lookup(Frame& frame, Decision& decision, Destination& destination);
void after_lookup(const Frame& frame, Decision& decision, uint32_t group);

}  // namespace pktpit::router
