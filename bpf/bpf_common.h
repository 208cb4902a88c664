/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What every header of the port stage builds on: hints, byte order, and the frame as the stages hand it on.
 * Included by BPF code only. */
#ifndef PKTPIT_BPF_COMMON_H
#define PKTPIT_BPF_COMMON_H

/* The helpers' header needs the types before it. */
/* clang-format off */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "bpf/abi.h"
#include "bpf/verdict.h"
#include "fib/layout.h"
#include "fib/lookup.h"

#define PP_INLINE static __always_inline
/* A path that few packets take: a call, so that the common path stays short in the instruction cache. Global,
 * so that the verifier walks it once and not once for each state of its callers; hence it takes the context
 * and no packet pointers, and its result is an unknown number to the caller. One of a feature begins with
 * what switches that on, since kernels before 6.8 verify it whether or not it can be called. */
#define PP_RARE __attribute__((noinline))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define PP_ETH_HEADER 14
#define PP_VLAN_TAG 4
#define PP_MAC_MASK 0xffffffffffffull /* a MAC address in the low 48 bits of a little-endian word */

#define PP_ETHERTYPE_IPV4 bpf_htons(0x0800)
#define PP_ETHERTYPE_ARP bpf_htons(0x0806)
#define PP_ETHERTYPE_IPV6 bpf_htons(0x86dd)
#define PP_ETHERTYPE_VLAN bpf_htons(0x8100)
#define PP_ETHERTYPE_QINQ bpf_htons(0x88a8)

/* Each field may change under the reader: taken once, by one load. */
#define PP_LOAD64(pointer) (*(const volatile __u64*)(pointer))
/* Packet fields, at whatever alignment they have. Not `packed`: clang would load them byte by byte, 8 ns a
 * packet. Where the processor takes unaligned loads, as x86-64 and arm64 do, the verifier lets them be. */
struct pp_field16 {
    __u16 value;
} __attribute__((may_alias));
struct pp_field32 {
    __u32 value;
} __attribute__((may_alias));
struct pp_field64 {
    __u64 value;
} __attribute__((may_alias));

/* Bounds of the linear part, in a rare path. */
#define PP_DATA(ctx) ((void*)(long)(ctx)->data)
#define PP_END(ctx) ((void*)(long)(ctx)->data_end)

/* Where the IP header starts: after at most two tags. The verifier needs the mask, and that all accesses go
 * by this one pointer: it knows bounds of a pointer, not of a place. */
PP_INLINE void* pp_l3(void* data, __u32 l3_offset) {
    PP_BARRIER(l3_offset);
    void* l3 = data + (l3_offset & 0x1f);
    PP_BARRIER(l3);
    return l3;
}

/* Of programs that know VRFs: a table with all routes is asked. Which one that is the verifier does not know.
 */
#define PP_ALL_ROUTES 0x10000u

/* A frame on its way through the stages. Never has its address taken by a rare path, so it stays in
 * registers. */
struct pp_frame {
    struct xdp_md* ctx;
    void* data;
    void* end; /* of the linear part */
    const void* image;
    const struct pp_fib_geometry* geometry;
    __u32 table;  /* offset of the table to ask */
    __u32 length; /* the frame as far as it was looked at: its linear part, or all of it */
    __u32 l3_offset;
    __u32 interface;  /* L3 interface it arrived on; PP_ALL_ROUTES */
    __u32 l2_group;   /* link-layer broadcast or multicast */
    __u32 packet_end; /* where the IP packet ends; what is behind it is padding, or a trailer */
    __u16 ethertype;  /* network byte order */
};

/* The words of an adjacency, each read once. */
struct pp_egress {
    __u64 next; /* dst_mac, kind */
    __u64 own;  /* src_mac, port */
    __u64 tags;
    __u32 mtu;
    __u32 route_counter; /* of the route, 0: it is not counted */
    __u32 interface;     /* to leave by; of programs with filters alone */
};

/* Does the frame hold `bytes` bytes from `offset` on? Frags are asked for only when the linear part ends
 * early, which saves the common packet a helper call. */
PP_INLINE int pp_frame_holds(struct pp_frame* f, __u32 offset, __u32 bytes) {
    if (likely(offset + bytes <= f->length)) return 1;
    f->length = bpf_xdp_get_buff_len(f->ctx);
    return offset + bytes <= f->length;
}

#endif
