/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* From a FIB group to the adjacency that a packet leaves by, and what its kind means for the packet.
 *
 * The order of reasons, the same for IPv4 and IPv6: what the kernel is to have (its own addresses, own-subnet
 * broadcast, link-local) before anything that forbids forwarding, since a source such as 0.0.0.0 may well
 * speak to the router itself and it is then the kernel's business to judge it, but for the reverse path where
 * that is checked. Then what no route can make right: the link-layer broadcast, martians, sources that are
 * the router's or a broadcast address or have no way back, forbidden options. Then the routing decision (RFC
 * 1812 5.2.1.1 has it before the TTL; Linux too answers "no route" for a packet whose TTL is 1); what only
 * the kernel can forward is its own to judge from here on. Then the TTL, before the next hop's MAC address is
 * asked for: a traceroute must not cause neighbour resolution. Then neighbour, egress, and last what the
 * daemon finishes itself and for which it needs a complete adjacency: IPv4 options, packets too big. */
#ifndef PKTPIT_BPF_ROUTE_H
#define PKTPIT_BPF_ROUTE_H

#include "bpf/bpf_common.h"
#include "bpf/filter.h"
#include "bpf/guard.h"

PP_INLINE __u32 pp_kind(const struct pp_egress* out) {
    return (__u32)(out->next >> 48) & 0xff;
}

/* Reads the adjacency, each word by one load. */
PP_INLINE void pp_read_adjacency(struct pp_frame* f, __u32 index, struct pp_egress* out) {
    const struct pp_fib_adjacency* adjacency = pp_fib_adjacency_at(f->image, f->geometry, index);
    out->next = PP_LOAD64(&adjacency->next);
    out->own = PP_LOAD64(&adjacency->own);
    out->tags = PP_LOAD64(&adjacency->tpid);
    out->mtu = *(const volatile __u32*)&adjacency->mtu;
    if (pp_has_filters()) out->interface = *(const volatile __u16*)&adjacency->interface;
}

/* Is it the kernel's, by its destination? PP_NONE: no. */
PP_INLINE enum pp_verdict pp_kind_host(const struct pp_frame* f, __u32 kind, __u32 adjacency_interface) {
    if (kind == PP_ADJ_HOST) return PP_HOST_LOCAL;
    if (kind == PP_ADJ_BROADCAST && adjacency_interface == (f->interface & 0xffff)) return PP_HOST_BROADCAST;
    return PP_NONE;
}

/* What the group that the source's own longest match leads to says of a packet that is to be forwarded:
 * nobody but this router sends from its addresses (RFC 1812 5.3.8, as Linux), and nobody at all from a
 * broadcast address (RFC 1812 5.3.7). */
PP_INLINE __u32 pp_source_verdict(const void* image, const struct pp_fib_geometry* shape, __u32 group) {
    __u64 members = pp_fib_group_word(image, shape, group);
    if (PP_FIB_GROUP_BITS(members)) return PP_NONE;
    __u64 next = PP_LOAD64(&pp_fib_adjacency_at(image, shape, PP_FIB_GROUP_FIRST(members))->next);
    __u32 kind = (__u32)(next >> 48) & 0xff;
    if (kind == PP_ADJ_HOST) return PP_DROP_OWN_SOURCE;
    return kind == PP_ADJ_BROADCAST ? PP_DROP_BROADCAST_SOURCE : PP_NONE;
}

/* Does the routing decision itself end the packet? PP_NONE: no. */
PP_INLINE enum pp_verdict pp_kind_route(__u32 kind, __u32 adjacency) {
    switch (kind) {
        case PP_ADJ_FORWARD:
        case PP_ADJ_INCOMPLETE:
        case PP_ADJ_GLEAN:
            return PP_NONE;
        case PP_ADJ_INVALID:
            return adjacency ? PP_DROP_BROKEN_FIB : PP_PUNT_NO_ROUTE;
        case PP_ADJ_BROADCAST:
            return PP_DROP_DIRECTED_BROADCAST; /* RFC 2644 */
        case PP_ADJ_BLACKHOLE:
            return PP_DROP_BLACKHOLE;
        case PP_ADJ_UNREACHABLE:
            return PP_PUNT_UNREACHABLE;
        case PP_ADJ_PROHIBIT:
            return PP_PUNT_PROHIBITED;
        case PP_ADJ_KERNEL:
            return PP_HOST_KERNEL_ROUTE;
        default:
            return PP_DROP_BROKEN_FIB;
    }
}

/* Neighbour and egress port. */
PP_INLINE enum pp_verdict pp_egress_ready(const struct pp_frame* f, const struct pp_egress* out) {
    if (unlikely(pp_kind(out) != PP_ADJ_FORWARD)) return PP_PUNT_NO_NEIGHBOUR;
    __u32 port = (__u32)(out->own >> 48);
    if (unlikely(!port || port >= f->geometry->port_count)) return PP_DROP_NO_EGRESS;
    __u64 word = PP_LOAD64(pp_fib_port_at(f->image, f->geometry, port));
    if (unlikely(!(word >> 48 & PP_PORT_UP))) return PP_DROP_NO_EGRESS;
    return PP_NONE;
}

#endif
