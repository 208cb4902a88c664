// SPDX-License-Identifier: BSD-3-Clause
#include "router/forward/forward.h"

#include <algorithm>

#include "fib/lookup.h"
#include "router/forward/frame.h"
#include "router/forward/steps.h"

namespace pktpit::router {

Decision forward(const ImageView& image, uint16_t ingress_port, std::span<const uint8_t> slice,
                 uint32_t frame_length) {
    Decision decision;
    Frame frame;
    begin(frame, image, ingress_port, slice, frame_length);
    Destination destination;
    decision.verdict = before_lookup(frame, decision, destination);
    if (decision.verdict != PP_NONE) {
        pass_filters(frame, decision);
        return decision;
    }
    const uint32_t group =
        frame.ethertype == ethertype_ipv4
            ? pp_fib_lookup4_in(image.base, image.geometry, frame.table, destination.ipv4)
            : pp_fib_lookup6_in(image.base, image.geometry, frame.table, destination.ipv6.data());
    after_lookup(frame, decision, group);
    return decision;
}

}  // namespace pktpit::router
