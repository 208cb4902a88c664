/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* IPv4: header validation (RFC 1812 5.2.2), where the packet goes, and what may not go there. */
#ifndef PKTPIT_BPF_PARSE_IPV4_H
#define PKTPIT_BPF_PARSE_IPV4_H

#include "bpf/auto.h"
#include "bpf/bpf_common.h"
#include "bpf/checksum.h"
#include "bpf/dhcp.h"
#include "bpf/flow_hash.h"
#include "bpf/route.h"

#define PP_IPV4_OPTION_END 0
#define PP_IPV4_OPTION_NOP 1
#define PP_IPV4_OPTION_RECORD_ROUTE 7
#define PP_IPV4_OPTION_TIMESTAMP 68
#define PP_IPV4_OPTION_LOOSE_SOURCE_ROUTE 131
#define PP_IPV4_OPTION_STRICT_SOURCE_ROUTE 137
#define PP_IPV4_MAX_HEADER 60

/* Sum of the option words, for the checksum; their being in the linear part was checked by the caller, and is
 * checked again for the verifier. */
PP_RARE __u64 pp_sum_options(struct xdp_md* ctx, __u32 l3_offset, __u32 header_length) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), l3_offset);
    __u64 sum = 0;
    for (__u32 at = 20; at < PP_IPV4_MAX_HEADER; at += 4) {
        if (at >= header_length) break;
        struct pp_field32* word = l3 + at;
        if ((void*)(word + 1) > end) break;
        sum += word->value;
    }
    return sum;
}

/* One option, at `l3 + at` of a header `length` bytes long: verdict << 16 | where the next one starts. A
 * function of its own, so that the verifier follows its branches once and not again in each step of the walk.
 */
PP_RARE __u32 pp_ipv4_option(struct xdp_md* ctx, __u32 l3_offset, __u32 at, __u32 length) {
    void* end = PP_END(ctx);
    __u8* option = pp_l3(PP_DATA(ctx), l3_offset) + (at & 63);
    PP_BARRIER(option);
    if ((void*)(option + 1) > end) return PP_IPV4_MAX_HEADER;
    __u32 type = option[0];
    if (type == PP_IPV4_OPTION_END) return PP_IPV4_MAX_HEADER;
    if (type == PP_IPV4_OPTION_NOP) return at + 1;
    if (type == PP_IPV4_OPTION_LOOSE_SOURCE_ROUTE || type == PP_IPV4_OPTION_STRICT_SOURCE_ROUTE)
        return PP_DROP_IPV4_SOURCE_ROUTE << 16;
    const __u32 broken = PP_PUNT_IPV4_OPTIONS << 16 | PP_IPV4_MAX_HEADER;
    if (at + 2 > length || (void*)(option + 2) > end) return broken;
    __u32 bytes = option[1];
    if (bytes < 2 || at + bytes > length) return broken;
    at += bytes;
    return type == PP_IPV4_OPTION_RECORD_ROUTE || type == PP_IPV4_OPTION_TIMESTAMP
               ? PP_PUNT_IPV4_OPTIONS << 16 | at
               : at;
}

/* What the options ask for: PP_NONE (kept and forwarded), a drop for source routes (RFC 7126 4.3, 4.4: they
 * override routing), a punt for those a router writes into and for malformed ones. */
PP_RARE __u32 pp_scan_options(struct xdp_md* ctx, __u32 l3_offset, __u32 header_length) {
    __u32 verdict = PP_NONE;
    __u32 at = 20;
    /* No header has more than 40 bytes of options, so no walk is longer. */
    for (__u32 step = 20; step < PP_IPV4_MAX_HEADER; step++) {
        if (at >= header_length) break;
        __u32 result = pp_ipv4_option(ctx, l3_offset, at, header_length);
        if (result >> 16) verdict = result >> 16;
        if (verdict == PP_DROP_IPV4_SOURCE_ROUTE) break;
        at = result & 0xffff;
    }
    return verdict;
}

/* Of a source that may be forbidden: is it? */
PP_RARE __u32 pp_forbidden_source4(struct xdp_md* ctx, __u32 l3_offset, __u32 interface) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), l3_offset);
    const void* image = pp_image();
    if (!image || l3 + 20 > end) return PP_NONE;
    __u32 source = bpf_ntohl(((struct pp_field32*)l3)[3].value);
    const struct pp_fib_geometry* shape = pp_geometry();
    const __u32 table = pp_full_table(image, shape, interface);
    return pp_source_verdict(image, shape, pp_fib_walk4(image, shape, pp_fib_load32(image, table), source));
}

/* Decides; PP_FORWARDED: leaves as `out` says, once rewritten. */
PP_INLINE enum pp_verdict pp_ipv4(struct pp_frame* f, struct pp_egress* out) {
    void* l3 = pp_l3(f->data, f->l3_offset);
    __u8* ip = l3;
    struct pp_field32* words = l3;
    if (unlikely(l3 + 20 > f->end)) return PP_DROP_TRUNCATED;

    __u32 header_length = 20;
    __u64 sum = 0;
    if (unlikely(ip[0] != 0x45)) {
        if (ip[0] >> 4 != 4) return PP_DROP_IPV4_VERSION;
        header_length = (ip[0] & 15) * 4;
        if (header_length < 20) return PP_DROP_IPV4_HEADER_LENGTH;
        if (l3 + header_length > f->end) return PP_DROP_IPV4_HEADER_LENGTH;
        sum = pp_sum_options(f->ctx, f->l3_offset, header_length);
    }
    __u32 total_length = bpf_ntohs(((struct pp_field16*)l3)[1].value);
    if (unlikely(total_length < header_length)) return PP_DROP_IPV4_LENGTH;
    if (unlikely(!pp_frame_holds(f, f->l3_offset, total_length))) return PP_DROP_IPV4_LENGTH;
    __u32 source = words[3].value;
    __u32 destination = words[4].value;
    __u32 ttl_word = words[2].value;
    sum += (__u64)words[0].value + words[1].value + ttl_word + source + destination;
    if (unlikely(pp_checksum_fold(sum) != 0xffff)) return PP_DROP_IPV4_CHECKSUM;

    source = bpf_ntohl(source);
    destination = bpf_ntohl(destination);
    if (unlikely(destination >= 0xe0000000)) {
        if (destination < 0xf0000000) return PP_HOST_MULTICAST;
        if (destination == 0xffffffff) return PP_HOST_BROADCAST;
    }
    if (unlikely(pp_awaits_dhcp(f)) && (ttl_word >> 8 & 0xff) == PP_IPPROTO_UDP &&
        pp_is_dhcp_answer(f->ctx, f->l3_offset))
        return PP_HOST_DHCP;

    __u32 group = pp_fib_walk4(f->image, f->geometry, pp_fib_load32(f->image, f->table), destination);
    if (pp_is_auto() && !group && f->table == (split_table_offset & ~PP_BY_INTERFACE))
        group = pp_cold_group4(f->ctx, f->l3_offset);
    __u64 members = pp_fib_group_word(f->image, f->geometry, group);
    __u32 adjacency = PP_FIB_GROUP_FIRST(members);
    __u32 bits = PP_FIB_GROUP_BITS(members);
    if (bits)
        adjacency =
            pp_fib_bucket(f->image, f->geometry, adjacency, bits, pp_flow_hash4(f->ctx, f->l3_offset));
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
    if (unlikely(f->l2_group)) return PP_DROP_L2_BROADCAST;               /* RFC 1812 5.3.4 */
    if (unlikely(destination >> 16 == 0xa9fe)) return PP_DROP_LINK_LOCAL; /* RFC 3927 7 */
    __u32 net = destination >> 24;
    if (unlikely(net == 0 || net == 127 || net >= 240)) return PP_DROP_MARTIAN_DESTINATION;
    if (unlikely(source >> 16 == 0xa9fe)) return PP_DROP_LINK_LOCAL; /* RFC 3927 2.7 */
    net = source >> 24;
    if (unlikely(net == 0 || net == 127 || net >= 224)) return PP_DROP_MARTIAN_SOURCE; /* RFC 1812 5.3.7 */
    if (unlikely(pp_fib_is_suspect(f->image, f->geometry, pp_fib_source_bit4(source)))) {
        enum pp_verdict forbidden = (enum pp_verdict)pp_forbidden_source4(f->ctx, f->l3_offset, f->interface);
        if (forbidden) return forbidden;
    }
    if (pp_fails_rpf(f, kind, 0)) return PP_DROP_RPF;

    enum pp_verdict options = PP_NONE;
    if (unlikely(header_length > 20)) {
        options = pp_scan_options(f->ctx, f->l3_offset, header_length);
        if (options == PP_DROP_IPV4_SOURCE_ROUTE) return options;
    }
    if (unlikely(kind != PP_ADJ_FORWARD)) {
        enum pp_verdict route = pp_kind_route(kind, adjacency);
        if (route) return route;
    }
    if (unlikely((ttl_word & 0xff) <= 1)) return PP_PUNT_TTL_EXPIRED; /* RFC 1812 5.3.1 */
    enum pp_verdict egress = pp_egress_ready(f, out);
    if (unlikely(egress)) return egress;
    if (unlikely(options)) return options;
    if (unlikely(total_length > out->mtu)) return PP_PUNT_TOO_BIG;

    if (pp_has_filters()) {
        enum pp_verdict filtered = pp_filtered(f, out->interface, 0, PP_FORWARDED);
        if (unlikely(filtered != PP_FORWARDED)) return filtered;
    }
    if (pp_exceeds_rate(f)) return PP_DROP_POLICE;
    /* TTL, protocol and checksum are one word, and little-endian: one load and one store. */
    __u32 checksum = pp_checksum_ttl_minus_one((__u16)(ttl_word >> 16));
    words[2].value = ((ttl_word & 0xffff) - 1) | checksum << 16;
    f->packet_end = f->l3_offset + total_length;
    return PP_FORWARDED;
}

#endif
