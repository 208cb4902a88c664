/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The filters of the interfaces that a packet comes in and leaves by, once all else about it is decided and
 * before a byte of it is changed: the kernel gets it as it came. Only programs of ports whose packets can
 * meet a filter have these steps. Included by BPF code only; router/forward/filter.cpp is its twin in C++.
 *
 * What is dropped anyway meets none, nor does what is no IP. A packet meets the filter of its ingress
 * interface, wherever it goes, and then that of its egress interface if it leaves by one, now or once the
 * daemon has seen to it. */
#ifndef PKTPIT_BPF_FILTER_H
#define PKTPIT_BPF_FILTER_H

#include "bpf/bpf_common.h"
#include "bpf/filter_lookup.h"
#include "bpf/flow_hash.h"
#include "bpf/maps.h"

#define PP_FILTER_EXTENSIONS 8
#define PP_TCP_UP_TO_FLAGS 14

/* Of user space's: half_bytes is 0 where the port's packets meet no filter. */
PP_INLINE int pp_has_filters(void) {
    return filter_shape.half_bytes != 0;
}

/* The shape is not known when this is compiled. */
PP_INLINE const struct pp_filter_shape* pp_filter_shape_of(void) {
    const struct pp_filter_shape* constants = (const struct pp_filter_shape*)&filter_shape;
    PP_BARRIER(constants);
    return constants;
}

PP_INLINE const void* pp_filter_block(void) {
    __u32 zero = 0;
    return bpf_map_lookup_elem(&filter_image, &zero);
}

/* A packet's key in a word: the ports, the transport above them, and whether it shows ports. */
#define PP_KEY_HAS_PORTS (1ull << 63)
#define PP_KEY(kind, byte) ((__u64)((kind)*256u + (byte)) << 32)

/* Of the transport header at `l3 + at`; `available` bytes of the packet are there from l3 on. */
PP_INLINE __u64 pp_key_at(void* l3, void* end, __u32 at, __u32 available, __u32 protocol, __u32 icmp) {
    __u64 key = PP_KEY(PP_FILTER_OTHER, protocol);
    if (at >= available || at > PP_SLICE_BYTES) return key;
    const __u32 bytes = available - at;
    PP_BARRIER(at);
    at &= 0xff;
    __u8* header = (__u8*)l3 + at;
    if (protocol == icmp) {
        if ((void*)(header + 1) > end) return key;
        return PP_KEY(PP_FILTER_ICMP, header[0]);
    }
    if (!pp_has_ports(protocol) || bytes < 4 || (void*)(header + 4) > end) return key;
    key |= PP_KEY_HAS_PORTS | bpf_ntohl(((struct pp_field32*)header)->value);
    if (protocol != 6 || bytes < PP_TCP_UP_TO_FLAGS || (void*)(header + PP_TCP_UP_TO_FLAGS) > end) return key;
    return (key & ~PP_KEY(0, 0xffu)) | PP_KEY(PP_FILTER_TCP, header[PP_TCP_UP_TO_FLAGS - 1]);
}

PP_RARE __u64 pp_filter_key4(struct xdp_md* ctx, __u32 l3_offset) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), l3_offset);
    __u8* ip = l3;
    if (l3 + 20 > end) return 0;
    const __u32 protocol = ip[9];
    if (((__u32)ip[6] << 8 | ip[7]) & 0x1fff) return PP_KEY(PP_FILTER_FRAGMENT, protocol);
    const __u32 total = (__u32)ip[2] << 8 | ip[3];
    const __u32 slice = PP_SLICE_BYTES - l3_offset;
    return pp_key_at(l3, end, (ip[0] & 15u) * 4, total < slice ? total : slice, protocol, 1);
}

#define PP_EXTENSION_FRAGMENT (1u << 30)
#define PP_EXTENSION_CUT (1u << 31)

PP_INLINE int pp_is_extension(__u32 next) {
    return next == 0 || next == 43 || next == 44 || next == 51 || next == 60;
}

/* What follows the extension header of kind `next` at `l3 + at`: where it starts << 8 | its kind. For a
 * fragment that is not the first one PP_EXTENSION_FRAGMENT | the kind; PP_EXTENSION_CUT: the header is not
 * all there. A function of its own, so that the verifier follows its branches once. */
PP_RARE __u32 pp_behind_extension(struct xdp_md* ctx, __u32 l3_offset, __u32 next, __u32 at,
                                  __u32 available) {
    if (at + 4 > available) return PP_EXTENSION_CUT;
    PP_BARRIER(at);
    at &= 0xff;
    __u8* header = pp_l3(PP_DATA(ctx), l3_offset) + at;
    if ((void*)(header + 4) > PP_END(ctx)) return PP_EXTENSION_CUT;
    if (next == 44) {
        const int later = ((__u32)header[2] << 8 | header[3]) & 0xfff8;
        return header[0] | (later ? PP_EXTENSION_FRAGMENT : (at + 8) << 8);
    }
    const __u32 length = header[1];
    return header[0] | (at + (next == 51 ? (length + 2) * 4 : (length + 1) * 8)) << 8;
}

PP_RARE __u64 pp_filter_key6(struct xdp_md* ctx, __u32 l3_offset) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), l3_offset);
    __u8* ip = l3;
    if (l3 + 40 > end) return 0;
    const __u32 packet = 40 + ((__u32)ip[4] << 8 | ip[5]);
    const __u32 slice = PP_SLICE_BYTES - l3_offset;
    const __u32 available = packet < slice ? packet : slice;
    __u32 next = ip[6];
    __u32 at = 40;
    for (int walked = 0; walked < PP_FILTER_EXTENSIONS && pp_is_extension(next); walked++) {
        const __u32 behind = pp_behind_extension(ctx, l3_offset, next, at, available);
        if (behind == PP_EXTENSION_CUT) return PP_KEY(PP_FILTER_OTHER, next);
        if (behind & PP_EXTENSION_FRAGMENT) return PP_KEY(PP_FILTER_FRAGMENT, behind & 0xff);
        next = behind & 0xff;
        at = behind >> 8;
    }
    if (pp_is_extension(next)) return PP_KEY(PP_FILTER_OTHER, next);
    return pp_key_at(l3, end, at, available, next, 58);
}

/* What the rules say of the packet: pp_filter_rule. `place`: where its IP header is, in bit 16 whether it is
 * one of IPv6, and above it which half the rules are in. */
#define PP_PLACE_IPV6 (1u << 16)
#define PP_PLACE_HALF 17
PP_RARE __u32 pp_filter_rule(struct xdp_md* ctx, __u32 place, __u32 rules, __u64 word) {
    if (!pp_has_filters()) return PP_FILTER_ACCEPT;
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), place & 0xffff);
    const struct pp_filter_shape* shape = pp_filter_shape_of();
    const void* block = pp_filter_block();
    if (!block) return PP_FILTER_ACCEPT;
    const void* half = pp_filter_half(block, shape, place >> PP_PLACE_HALF);
    if (!PP_FILTER_RULES_FIELD(half, shape, rules, words))
        return PP_FILTER_RULES_FIELD(half, shape, rules, unmatched);
    const struct pp_filter_key key = {
        .transport = (__u32)(word >> 32) & (PP_FILTER_TRANSPORTS - 1),
        .has_ports = word >> 63,
        .source_port = (__u32)word >> 16,
        .destination_port = (__u32)word & 0xffff,
    };
    __u32 source = PP_FILTER_RULES_FIELD(half, shape, rules, source);
    __u32 destination = PP_FILTER_RULES_FIELD(half, shape, rules, destination);
    if (place & PP_PLACE_IPV6) {
        if (l3 + 40 > end) return PP_FILTER_ACCEPT;
        source = pp_filter_class6(half, shape, source, (__u8*)l3 + 8);
        destination = pp_filter_class6(half, shape, destination, (__u8*)l3 + 24);
    } else {
        if (l3 + 20 > end) return PP_FILTER_ACCEPT;
        source = pp_filter_class4(half, shape, source, bpf_ntohl(((struct pp_field32*)l3)[3].value));
        destination =
            pp_filter_class4(half, shape, destination, bpf_ntohl(((struct pp_field32*)l3)[4].value));
    }
    return pp_filter_match(half, shape, rules, source, destination, &key);
}

PP_INLINE void pp_count_filter(__u32 rule, __u32 length) {
    __u32 counter = PP_FILTER_COUNTER(rule);
    struct pp_filter_counters* count = bpf_map_lookup_elem(&filter_counters, &counter);
    if (!count) return;
    count->packets++;
    count->bytes += length;
}

/* Neighbour discovery passes, as ARP does: without it there is no IPv6. A hop limit of 255 has met no router.
 */
PP_INLINE int pp_is_discovery(struct xdp_md* ctx, __u32 place, __u64 word) {
    const __u32 transport = (__u32)(word >> 32) & (PP_FILTER_TRANSPORTS - 1);
    if (!(place & PP_PLACE_IPV6) || transport < PP_FILTER_ICMP * 256u + 133 ||
        transport > PP_FILTER_ICMP * 256u + 137)
        return 0;
    __u8* ip = pp_l3(PP_DATA(ctx), place & 0xffff);
    return (void*)(ip + 8) <= PP_END(ctx) && ip[7] == 255;
}

/* Both filters. `interfaces`: the ingress interface, above it the egress interface, 0: it does not leave by
 * one. The answer is enum pp_filter_action. */
PP_RARE __u32 pp_pass_filters(struct xdp_md* ctx, __u32 place, __u32 interfaces) {
    if (!pp_has_filters()) return PP_FILTER_ACCEPT;
    const struct pp_filter_shape* shape = pp_filter_shape_of();
    const void* block = pp_filter_block();
    if (!block) return PP_FILTER_ACCEPT;
    const __u32 current = pp_filter_current(block);
    const void* half = pp_filter_half(block, shape, current);
    const int ipv6 = !!(place & PP_PLACE_IPV6);
    const __u32 in = pp_filter_of(half, shape, interfaces & 0xffff, 0, ipv6);
    const __u32 out = interfaces >> 16 ? pp_filter_of(half, shape, interfaces >> 16, 1, ipv6) : 0;
    if (!in && !out) return PP_FILTER_ACCEPT;
    const __u64 key = ipv6 ? pp_filter_key6(ctx, place & 0xffff) : pp_filter_key4(ctx, place & 0xffff);
    const __u32 length = (__u32)bpf_xdp_get_buff_len(ctx);
    for (int way = 0; way < 2; way++) {
        const __u32 rules = way ? out : in;
        if (!rules) continue;
        const __u32 rule = pp_filter_rule(ctx, place | current << PP_PLACE_HALF, rules, key);
        pp_count_filter(rule, length);
        const __u32 action = PP_FILTER_ACTION(rule);
        if (unlikely(action != PP_FILTER_ACCEPT) && !pp_is_discovery(ctx, place, key)) return action;
    }
    return PP_FILTER_ACCEPT;
}

/* What becomes of a packet of this verdict, which is no drop. */
PP_INLINE enum pp_verdict pp_filtered(const struct pp_frame* f, __u32 egress_interface, int to_host,
                                      enum pp_verdict verdict) {
    const __u32 place = f->l3_offset | (f->ethertype == PP_ETHERTYPE_IPV6 ? PP_PLACE_IPV6 : 0);
    const __u32 action = pp_pass_filters(f->ctx, place, (f->interface & 0xffff) | egress_interface << 16);
    if (likely(action == PP_FILTER_ACCEPT)) return verdict;
    if (action == PP_FILTER_DROP) return PP_DROP_FILTER;
    return to_host ? verdict : PP_HOST_FILTER;
}

#endif
