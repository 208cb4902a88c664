/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The flow hash that picks a member of a next-hop group. A packet of a flow always gets the same value, on
 * every port and in router/forward, which has the same function; only the top bits choose, so they must be
 * good. It begins with the instance's own seed (pp_fib_globals), without which routers in a row would all
 * choose alike: of two next hops the second router would use one alone.
 *
 * IPv4: addresses, protocol and, unless the packet is a fragment, ports. IPv6: addresses and flow label where
 * there is one (RFC 6438), else as IPv4, the ports looked for behind the extension headers in the slice.
 * Only computed for groups of several members. */
#ifndef PKTPIT_BPF_FLOW_HASH_H
#define PKTPIT_BPF_FLOW_HASH_H

#include "bpf/bpf_common.h"
#include "bpf/maps.h"

/* Odd 64-bit constants with no structure: the fractions of the golden ratio, sqrt(2) and sqrt(3). */
#define PP_HASH_K1 0x9e3779b97f4a7c15ull
#define PP_HASH_K2 0x6a09e667f3bcc909ull
#define PP_HASH_K3 0xbb67ae8584caa73bull

/* Most extension headers walked to find the ports. */
#define PP_HASH_EXTENSIONS 8

PP_INLINE __u64 pp_hash_add(__u64 hash, __u64 word) {
    hash = (hash ^ word) * PP_HASH_K1;
    return hash ^ hash >> 32;
}

PP_INLINE __u32 pp_hash_finish(__u64 hash) {
    hash *= PP_HASH_K2;
    hash ^= hash >> 29;
    return (__u32)(hash * PP_HASH_K3 >> 32);
}

/* Transport protocols whose first four bytes are the ports. */
PP_INLINE int pp_has_ports(__u32 protocol) {
    return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}

/* Source and destination port at `l3 + at` as one number; 0 when they are not in the slice or not in the
 * packet, `available` bytes long from l3 on. */
PP_INLINE __u32 pp_ports(void* l3, void* end, __u32 at, __u32 available) {
    if (at > PP_SLICE_BYTES || at + 4 > available) return 0;
    PP_BARRIER(at);
    at &= 0xff;
    __u8* ports = (__u8*)l3 + at;
    if ((void*)(ports + 4) > end) return 0;
    return bpf_ntohl(((struct pp_field32*)ports)->value);
}

PP_INLINE __u64 pp_hash_begin(void) {
    const void* image = pp_image();
    return image ? pp_fib_hash_seed(image, pp_geometry()) : 0;
}

PP_RARE __u32 pp_flow_hash4(struct xdp_md* ctx, __u32 l3_offset) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), l3_offset);
    __u8* ip = l3;
    if (l3 + 20 > end) return 0;
    __u32 protocol = ip[9];
    __u32 total = (__u32)ip[2] << 8 | ip[3];
    __u32 slice = PP_SLICE_BYTES - l3_offset;
    __u32 available = total < slice ? total : slice;
    __u32 ports = 0;
    __u32 fragment = ((__u32)ip[6] << 8 | ip[7]) & 0x3fff; /* more fragments, or an offset */
    if (!fragment && pp_has_ports(protocol)) ports = pp_ports(l3, end, (ip[0] & 15u) * 4, available);
    __u64 source = bpf_ntohl(((struct pp_field32*)(ip + 12))->value);
    __u64 destination = bpf_ntohl(((struct pp_field32*)(ip + 16))->value);
    return pp_hash_finish(
        pp_hash_add(pp_hash_add(pp_hash_begin(), source << 32 | destination), (__u64)protocol << 32 | ports));
}

PP_RARE __u32 pp_flow_hash6(struct xdp_md* ctx, __u32 l3_offset) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), l3_offset);
    __u8* ip = l3;
    if (l3 + 40 > end) return 0;
    struct pp_field64* words = (struct pp_field64*)(ip + 8);
    __u64 hash = pp_hash_begin();
    for (int i = 0; i < 4; i++)
        hash = pp_hash_add(hash, bpf_be64_to_cpu(words[i].value));
    __u32 label = bpf_ntohl(((struct pp_field32*)ip)->value) & 0xfffff;
    if (label) return pp_hash_finish(pp_hash_add(hash, 1ull << 63 | label));

    __u32 packet = 40 + ((__u32)ip[4] << 8 | ip[5]);
    __u32 slice = PP_SLICE_BYTES - l3_offset;
    __u32 available = packet < slice ? packet : slice;
    __u32 next = ip[6];
    __u32 at = 40;
    __u32 ports = 0;
    for (int i = 0; i < PP_HASH_EXTENSIONS; i++) {
        int options = next == 0 || next == 43 || next == 60;
        if (!options && next != 44 && next != 51) {
            if (pp_has_ports(next)) ports = pp_ports(l3, end, at, available);
            break;
        }
        if (at + 2 > available) break;
        PP_BARRIER(at);
        at &= 0xff;
        __u8* header = ip + at;
        if ((void*)(header + 2) > end) break;
        __u32 length = header[1];
        __u32 fragment = next == 44;
        at += options ? (length + 1) * 8 : (length + 2) * 4;
        next = header[0];
        if (fragment) break;
    }
    return pp_hash_finish(pp_hash_add(hash, (__u64)next << 32 | ports));
}

#endif
