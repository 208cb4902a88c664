/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* From the stage of a split or auto port to the socket of the queue, and what goes there no longer. Included
 * by BPF code only. */
#ifndef PKTPIT_BPF_HAND_OVER_H
#define PKTPIT_BPF_HAND_OVER_H

#include "bpf/auto.h"
#include "bpf/bpf_common.h"
#include "bpf/heartbeat.h"
#include "bpf/maps.h"

/* Frames that are too long for a socket are decided about here, and with them all to the same destination,
 * for this many jiffies: so that a short one is not overtaken by a long one that comes after it. Some tenths
 * of a second; a flow that changes over has had no long frame before. */
#define PP_LONG_JIFFIES 128

/* Is the frame too long for the socket, or are others to its destination? */
PP_INLINE int pp_is_long(struct xdp_md* ctx, __u32 place, struct pp_order* all,
                         struct pp_socket_order* socket, __u64 now) {
    struct pp_destination destination;
    int is_long = bpf_xdp_get_buff_len(ctx) > PP_SPLIT_BYTES;
    if (likely(!is_long && now >= socket->long_until)) return 0;
    if (!pp_destination_at(ctx, place, &destination)) return is_long;
    __u64* until = &all->long_until[(pp_hash_of(&destination) >> 44) & (PP_ORDER_LONG - 1)];
    if (is_long) {
        socket->long_until = now + PP_LONG_JIFFIES;
        *until = now + PP_LONG_JIFFIES;
    }
    return now < *until;
}

/* Does the full table lead to the kernel? Its frames are passed from here: a worker could not give them to
 * it. Asked only while there is such a route. */
PP_RARE int pp_is_kernels(struct xdp_md* ctx, __u32 place, __u32 interface) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), place & 0xffff);
    const void* image = pp_image();
    const struct pp_fib_geometry* shape = pp_geometry();
    if (!image) return 0;
    const __u32 table = pp_full_table(image, shape, interface);
    __u32 group;
    if (place >> 16 == PP_ETHERTYPE_IPV4) {
        if (l3 + 20 > end) return 0;
        group = pp_fib_walk4(image, shape, pp_fib_load32(image, table),
                             bpf_ntohl(((struct pp_field32*)l3)[4].value));
    } else {
        if (l3 + 40 > end) return 0;
        group = pp_fib_walk6(image, shape, pp_fib_load32(image, table + 4), (__u8*)l3 + 24);
    }
    __u64 members = pp_fib_group_word(image, shape, group);
    if (PP_FIB_GROUP_BITS(members)) return 0;
    __u64 next = PP_LOAD64(&pp_fib_adjacency_at(image, shape, PP_FIB_GROUP_FIRST(members))->next);
    return (__u8)(next >> 48) == PP_ADJ_KERNEL;
}

/* A frame without a route in the tables that this stage has. XDP_REDIRECT: it goes to the socket, numbered,
 * and is counted by whoever takes it there. 0: it is to be decided about here, by the full table. Packet
 * pointers are void afterwards. */
PP_RARE int pp_hand_over(struct xdp_md* ctx, __u32 place) {
    struct pp_order* all = pp_order_of_sockets();
    if (!all) return 0;
    __u32 key = pp_socket_key(ctx);
    struct pp_socket_order* socket = pp_order_of(all, key);
    __u64 now = bpf_jiffies64();
    if (pp_is_long(ctx, place, all, socket, now)) return 0;
    if (pp_worker_stands(all, socket, now)) return 0;
    if (bpf_redirect_map(&split_sockets, key, XDP_DROP) != XDP_REDIRECT) return 0;

    __u32 number = ++socket->sent;
    if (pp_is_auto()) pp_mark_split(ctx, place, all, key, number);
    if (bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct pp_order_tag))) return XDP_REDIRECT;
    void* data = PP_DATA(ctx);
    struct pp_order_tag* tag = (void*)(long)ctx->data_meta;
    if ((void*)(tag + 1) > data) return XDP_REDIRECT;
    tag->magic = PP_ORDER_MAGIC;
    tag->number = number;
    return XDP_REDIRECT;
}

#endif
