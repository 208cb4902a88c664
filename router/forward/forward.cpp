#include "router/forward/forward.h"

#include <algorithm>

#include "router/forward/frame.h"

namespace pktpit::router {

Decision forward(const ImageView& image, uint16_t ingress_port, std::span<const uint8_t> slice,
                 uint32_t frame_length) {
    Decision decision;
    Frame frame{
        .image = image,
        .port = ingress_port,
        .slice = slice.first(std::min({slice.size(), size_t{frame_length}, size_t{PP_SLICE_BYTES}})),
        .length = frame_length,
    };
    decision.verdict = parse_link_layer(frame, decision);
    if (decision.verdict != PP_NONE) return decision;

    Egress egress;
    switch (frame.ethertype) {
        case ethertype_ipv4:
            decision.verdict = decide_ipv4(frame, decision, egress);
            if (decision.verdict == PP_FORWARDED) rewrite_ipv4(frame, decision, egress);
            break;
        case ethertype_ipv6:
            decision.verdict = decide_ipv6(frame, decision, egress);
            if (decision.verdict == PP_FORWARDED) rewrite_ipv6(frame, decision, egress);
            break;
        case ethertype_arp:
            decision.verdict = PP_HOST_ARP;
            break;
        default:
            decision.verdict = PP_HOST_NOT_IP;
    }
    return decision;
}

}  // namespace pktpit::router
