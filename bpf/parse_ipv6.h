/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* IPv6: header validation (RFC 8200 3), where the packet goes, and what may not go there. */
#ifndef PKTPIT_BPF_PARSE_IPV6_H
#define PKTPIT_BPF_PARSE_IPV6_H

#include "bpf/auto.h"
#include "bpf/bpf_common.h"
#include "bpf/flow_hash.h"
#include "bpf/route.h"

#define PP_IPV6_HEADER 40
#define PP_IPV6_HOP_BY_HOP 0
#define PP_IPV6_OPTION_PAD1 0
#define PP_IPV6_OPTION_PADN 1
/* Options other than padding; RFC 8504 5.3 has 8 as the limit that a node may set. */
#define PP_IPV6_MAX_OPTIONS 8
/* The longest hop-by-hop header that fits into a slice. */
#define PP_IPV6_MAX_HOP_BY_HOP (PP_SLICE_BYTES - PP_ETH_HEADER - PP_IPV6_HEADER)

/* One hop-by-hop option, at `header + at` of a header `length` bytes long that starts behind the IPv6 header:
 * verdict << 24 | options other than padding << 16 | where the next one starts. A function of its own, so
 * that the verifier follows its branches once and not again in each step of the walk. */
PP_RARE __u32 pp_hop_by_hop_option(struct xdp_md* ctx, __u32 l3_offset, __u32 at, __u32 length) {
    void* end = PP_END(ctx);
    __u8* option = pp_l3(PP_DATA(ctx), l3_offset) + PP_IPV6_HEADER + (at & 127);
    PP_BARRIER(option);
    if ((void*)(option + 1) > end) return PP_DROP_IPV6_EXTENSION << 24;
    __u32 type = option[0];
    if (type == PP_IPV6_OPTION_PAD1) return at + 1;
    if (at + 2 > length || (void*)(option + 2) > end) return PP_DROP_IPV6_EXTENSION << 24;
    at += 2u + option[1];
    if (at > length) return PP_DROP_IPV6_EXTENSION << 24;
    if (type == PP_IPV6_OPTION_PADN) return at;
    /* What to do with an option that is not known stands in its top bits (RFC 8200 4.2). */
    __u32 action = type >> 6;
    if (action == 1) return PP_DROP_IPV6_OPTION << 24;
    if (action > 1) return PP_PUNT_IPV6_OPTION << 24;
    return 1 << 16 | at;
}

/* Walks the hop-by-hop options: PP_NONE, or what they end in. `payload` is the IPv6 payload length. */
PP_RARE __u32 pp_hop_by_hop(struct xdp_md* ctx, __u32 l3_offset, __u32 payload) {
    void* end = PP_END(ctx);
    __u8* header = pp_l3(PP_DATA(ctx), l3_offset) + PP_IPV6_HEADER;
    if ((void*)(header + 8) > end) return PP_DROP_IPV6_EXTENSION;
    __u32 length = (header[1] + 1u) * 8;
    if (length > payload || l3_offset + PP_IPV6_HEADER + length > PP_SLICE_BYTES)
        return PP_DROP_IPV6_EXTENSION;
    __u32 options = 0;
    __u32 at = 2;
    for (__u32 step = 2; step < PP_IPV6_MAX_HOP_BY_HOP; step++) {
        if (at >= length) break;
        __u32 result = pp_hop_by_hop_option(ctx, l3_offset, at, length);
        if (result >> 24) return result >> 24;
        options += result >> 16;
        if (options > PP_IPV6_MAX_OPTIONS) return PP_DROP_IPV6_EXTENSION;
        at = result & 0xffff;
    }
    return PP_NONE;
}

/* ::, ::1 and ::ffff:0:0/96 may be on no wire (RFC 4291 2.5.2, 2.5.3; RFC 6890). Halves in host byte order.
 */
PP_INLINE int pp_ipv6_martian(__u64 high, __u64 low) {
    return high == 0 && (low <= 1 || low >> 32 == 0xffff);
}

/* Of a source that may be forbidden: is it? */
PP_RARE __u32 pp_forbidden_source6(struct xdp_md* ctx, __u32 l3_offset, __u32 interface) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), l3_offset);
    const void* image = pp_image();
    if (!image || l3 + PP_IPV6_HEADER > end) return PP_NONE;
    const struct pp_fib_geometry* shape = pp_geometry();
    const __u32 table = pp_full_table(image, shape, interface);
    return pp_source_verdict(image, shape,
                             pp_fib_walk6(image, shape, pp_fib_load32(image, table + 4), (__u8*)l3 + 8));
}

/* Decides; PP_FORWARDED: leaves as `out` says, once rewritten. */
PP_INLINE enum pp_verdict pp_ipv6(struct pp_frame* f, struct pp_egress* out) {
    void* l3 = pp_l3(f->data, f->l3_offset);
    __u8* ip = l3;
    if (unlikely(l3 + PP_IPV6_HEADER > f->end)) return PP_DROP_TRUNCATED;
    if (unlikely(ip[0] >> 4 != 6)) return PP_DROP_IPV6_VERSION;
    __u32 payload = bpf_ntohs(((struct pp_field16*)l3)[2].value);
    if (unlikely(!pp_frame_holds(f, f->l3_offset, PP_IPV6_HEADER + payload))) return PP_DROP_IPV6_LENGTH;
    /* A payload length of 0 before a hop-by-hop header means a jumbogram (RFC 2675): too long for Ethernet.
     */
    __u32 hop_by_hop = ip[6] == PP_IPV6_HOP_BY_HOP;
    if (unlikely(hop_by_hop && !payload)) return PP_DROP_IPV6_LENGTH;

    struct pp_field64* words = l3 + 8;
    __u64 source = bpf_be64_to_cpu(words[0].value);
    __u64 destination = bpf_be64_to_cpu(words[2].value);
    if (unlikely(destination >> 56 == 0xff)) return PP_HOST_MULTICAST;
    if (unlikely(destination >> 54 == 0xfe80 >> 6)) return PP_HOST_LINK_LOCAL;

    __u32 group = pp_fib_walk6(f->image, f->geometry, pp_fib_load32(f->image, f->table + 4), ip + 24);
    if (pp_is_auto() && !group && f->table == (split_table_offset & ~PP_BY_INTERFACE))
        group = pp_cold_group6(f->ctx, f->l3_offset);
    __u64 members = pp_fib_group_word(f->image, f->geometry, group);
    __u32 adjacency = PP_FIB_GROUP_FIRST(members);
    __u32 bits = PP_FIB_GROUP_BITS(members);
    if (bits)
        adjacency =
            pp_fib_bucket(f->image, f->geometry, adjacency, bits, pp_flow_hash6(f->ctx, f->l3_offset));
    out->route_counter = PP_FIB_GROUP_COUNTER(members);
    pp_read_adjacency(f, adjacency, out);
    __u32 kind = pp_kind(out);
    if (unlikely(kind != PP_ADJ_FORWARD)) {
        enum pp_verdict host =
            pp_kind_host(f, kind, pp_fib_adjacency_at(f->image, f->geometry, adjacency)->interface);
        if (host == PP_HOST_LOCAL && pp_fails_rpf(f, kind, 1)) return PP_DROP_RPF;
        if (host) return host;
    }

    /* From here on it is to be forwarded. */
    if (unlikely(f->l2_group)) return PP_DROP_L2_BROADCAST;
    if (unlikely(pp_ipv6_martian(destination, bpf_be64_to_cpu(words[3].value))))
        return PP_DROP_MARTIAN_DESTINATION;
    if (unlikely(source >> 56 == 0xff)) return PP_DROP_MARTIAN_SOURCE;
    if (unlikely(pp_ipv6_martian(source, bpf_be64_to_cpu(words[1].value)))) return PP_DROP_MARTIAN_SOURCE;
    if (unlikely(source >> 54 == 0xfe80 >> 6)) return PP_PUNT_BEYOND_SCOPE; /* RFC 4291 2.5.6 */
    const __u32 suspect = pp_fib_source_bit6(source, bpf_be64_to_cpu(words[1].value));
    if (unlikely(pp_fib_is_suspect(f->image, f->geometry, suspect))) {
        enum pp_verdict forbidden = (enum pp_verdict)pp_forbidden_source6(f->ctx, f->l3_offset, f->interface);
        if (forbidden) return forbidden;
    }
    if (pp_fails_rpf(f, kind, 0)) return PP_DROP_RPF;

    if (unlikely(hop_by_hop)) {
        enum pp_verdict options = pp_hop_by_hop(f->ctx, f->l3_offset, payload);
        if (options) return options;
    }
    if (unlikely(kind != PP_ADJ_FORWARD)) {
        enum pp_verdict route = pp_kind_route(kind, adjacency);
        if (route) return route;
    }
    if (unlikely(ip[7] <= 1)) return PP_PUNT_TTL_EXPIRED;
    enum pp_verdict egress = pp_egress_ready(f, out);
    if (unlikely(egress)) return egress;
    if (unlikely(PP_IPV6_HEADER + payload > out->mtu)) return PP_PUNT_TOO_BIG;

    if (pp_has_filters()) {
        enum pp_verdict filtered = pp_filtered(f, out->interface, 0, PP_FORWARDED);
        if (unlikely(filtered != PP_FORWARDED)) return filtered;
    }
    if (pp_exceeds_rate(f)) return PP_DROP_POLICE;
    ip[7]--;
    f->packet_end = f->l3_offset + PP_IPV6_HEADER + payload;
    return PP_FORWARDED;
}

#endif
