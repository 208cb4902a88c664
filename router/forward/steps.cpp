// SPDX-License-Identifier: BSD-3-Clause
#include "router/forward/steps.h"

#include <algorithm>

namespace pktpit::router {

void begin(Frame& frame, const ImageView& image, uint16_t port, std::span<const uint8_t> slice,
           uint32_t frame_length) {
    const size_t most = std::min<size_t>(frame_length, PP_SLICE_BYTES);
    frame.image = image;
    frame.port = port;
    frame.slice = slice.first(std::min(slice.size(), most));
    frame.length = frame_length;
    frame.ethertype = 0;
    frame.table = PP_FIB_DEFAULT_TABLE;
    frame.checksum_good = false;
    frame.link_layer_group = false;
}

pp_verdict before_lookup(Frame& frame, Decision& decision, Destination& destination) {
    if (const pp_verdict verdict = parse_link_layer(frame, decision); verdict != PP_NONE) return verdict;
    switch (frame.ethertype) {
        case ethertype_ipv4:
            return check_ipv4(frame, decision, destination.ipv4);
        case ethertype_ipv6:
            return check_ipv6(frame, decision, destination.ipv6);
        case ethertype_arp:
            return PP_HOST_ARP;
        default:
            return PP_HOST_NOT_IP;
    }
}

void after_lookup(const Frame& frame, Decision& decision, uint32_t group) {
    Egress egress;
    if (frame.ethertype == ethertype_ipv4) {
        decision.verdict = decide_ipv4(frame, decision, egress, group);
        pass_filters(frame, decision);
        if (decision.verdict == PP_FORWARDED) rewrite_ipv4(frame, decision, egress);
    } else {
        decision.verdict = decide_ipv6(frame, decision, egress, group);
        pass_filters(frame, decision);
        if (decision.verdict == PP_FORWARDED) rewrite_ipv6(frame, decision, egress);
    }
}

}  // namespace pktpit::router
