// SPDX-License-Identifier: BSD-3-Clause
#include "fib/lookup.h"
#include "router/forward/frame.h"

namespace pktpit::router {

void read_adjacency(const ImageView& image, Decision& decision, Egress& egress, uint32_t adjacency) {
    const pp_fib_adjacency* entry = pp_fib_adjacency_at(image.base, image.geometry, adjacency);
    static_assert(sizeof(pp_fib_adjacency) == 4 * sizeof(uint64_t));
    egress.index = adjacency;
    egress.next = image_word(entry, 0);
    egress.own = image_word(entry, 1);
    egress.tags = image_word(entry, 2);
    const uint64_t link = image_word(entry, 3);
    egress.kind = static_cast<uint8_t>(egress.next >> 48);
    decision.adjacency = adjacency;
    decision.mtu = static_cast<uint32_t>(link);
    decision.egress_interface = static_cast<uint16_t>(link >> 32);
    decision.egress_port = static_cast<uint16_t>(egress.own >> 48);
}

uint64_t hash_seed(const Frame& frame) {
    return pp_fib_hash_seed(frame.image.base, frame.image.geometry);
}

namespace {

/// By the group that the source's own longest match leads to.
pp_verdict source_verdict(const ImageView& image, uint32_t group) {
    const uint64_t members = pp_fib_group_word(image.base, image.geometry, group);
    if (PP_FIB_GROUP_BITS(members) != 0) return PP_NONE;
    const pp_fib_adjacency* entry =
        pp_fib_adjacency_at(image.base, image.geometry, PP_FIB_GROUP_FIRST(members));
    const uint64_t next = image_word(entry, 0);
    switch (static_cast<uint8_t>(next >> 48)) {
        case PP_ADJ_HOST:
            return PP_DROP_OWN_SOURCE;
        case PP_ADJ_BROADCAST:
            return PP_DROP_BROADCAST_SOURCE;
        default:
            return PP_NONE;
    }
}

}  // namespace

pp_verdict source_verdict_ipv4(const Frame& frame, uint32_t source) {
    const ImageView& image = frame.image;
    if (!pp_fib_is_suspect(image.base, image.geometry, pp_fib_source_bit4(source))) return PP_NONE;
    return source_verdict(image, pp_fib_lookup4_in(image.base, image.geometry, frame.table, source));
}

pp_verdict source_verdict_ipv6(const Frame& frame, const uint8_t* source) {
    const ImageView& image = frame.image;
    const uint32_t bit = pp_fib_source_bit6(load_be64(source), load_be64(source + 8));
    if (!pp_fib_is_suspect(image.base, image.geometry, bit)) return PP_NONE;
    return source_verdict(image, pp_fib_lookup6_in(image.base, image.geometry, frame.table, source));
}

pp_verdict host_verdict(const Decision& decision, uint8_t kind) {
    if (kind == PP_ADJ_HOST) return PP_HOST_LOCAL;
    if (kind == PP_ADJ_BROADCAST && decision.egress_interface == decision.ingress_interface)
        return PP_HOST_BROADCAST;
    return PP_NONE;
}

pp_verdict route_verdict(const Egress& egress) {
    switch (egress.kind) {
        case PP_ADJ_FORWARD:
        case PP_ADJ_INCOMPLETE:
        case PP_ADJ_GLEAN:
            return PP_NONE;
        case PP_ADJ_BROADCAST:
            return PP_DROP_DIRECTED_BROADCAST;  // RFC 2644
        case PP_ADJ_BLACKHOLE:
            return PP_DROP_BLACKHOLE;
        case PP_ADJ_UNREACHABLE:
            return PP_PUNT_UNREACHABLE;
        case PP_ADJ_PROHIBIT:
            return PP_PUNT_PROHIBITED;
        case PP_ADJ_KERNEL:
            return PP_HOST_KERNEL_ROUTE;
        case PP_ADJ_INVALID:
            // Adjacency 0 is what no route, and a group without members, leads to.
            return egress.index == 0 ? PP_PUNT_NO_ROUTE : PP_DROP_BROKEN_FIB;
        default:
            return PP_DROP_BROKEN_FIB;
    }
}

pp_verdict egress_verdict(const Frame& frame, const Decision& decision, const Egress& egress) {
    if (egress.kind != PP_ADJ_FORWARD) return PP_PUNT_NO_NEIGHBOUR;
    const uint16_t port = decision.egress_port;
    if (port == 0 || port >= frame.image.geometry->port_count) return PP_DROP_NO_EGRESS;
    const pp_fib_port* entry = pp_fib_port_at(frame.image.base, frame.image.geometry, port);
    return is_port_up(image_word(entry, 0)) ? PP_NONE : PP_DROP_NO_EGRESS;
}

}  // namespace pktpit::router
