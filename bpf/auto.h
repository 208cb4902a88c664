/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What an auto port does more than a split one: it says where its packets go, so that the daemon knows what
 * is worth being decided here, and it keeps the order of packets whose destination comes to be decided here
 * while some before them are still with the control loop. Included by BPF code only. */
#ifndef PKTPIT_BPF_AUTO_H
#define PKTPIT_BPF_AUTO_H

#include "bpf/bpf_common.h"
#include "bpf/heartbeat.h"
#include "bpf/maps.h"

PP_INLINE int pp_is_auto(void) {
    return cold_table_offset != 0;
}

/* The destination of a frame whose IP header begins at `place`, low 16 bits, with the EtherType above. False:
 * no IP header there. */
PP_INLINE int pp_destination_at(struct xdp_md* ctx, __u32 place, struct pp_destination* destination) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), place & 0xffff);
    if (place >> 16 == PP_ETHERTYPE_IPV4) {
        if (l3 + 20 > end) return 0;
        destination->high = 0;
        destination->low = PP_DESTINATION_IPV4 | bpf_ntohl(((struct pp_field32*)l3)[4].value);
        return 1;
    }
    if (place >> 16 != PP_ETHERTYPE_IPV6 || l3 + 40 > end) return 0;
    destination->high = bpf_be64_to_cpu(((struct pp_field64*)l3)[3].value);
    destination->low = bpf_be64_to_cpu(((struct pp_field64*)l3)[4].value);
    return 1;
}

/* The host's own addresses are not among the busiest routes: the group of what those do not have, mostly 0.
 * With no socket the full table was asked, and says all. */
PP_RARE __u32 pp_cold_group4(struct xdp_md* ctx, __u32 l3_offset) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), l3_offset);
    const void* image = pp_image();
    if (!image || l3 + 20 > end) return 0;
    __u32 destination = bpf_ntohl(((struct pp_field32*)l3)[4].value);
    return pp_fib_walk4(image, pp_geometry(), pp_fib_load32(image, cold_table_offset), destination);
}

PP_RARE __u32 pp_cold_group6(struct xdp_md* ctx, __u32 l3_offset) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), l3_offset);
    const void* image = pp_image();
    if (!image || l3 + 40 > end) return 0;
    return pp_fib_walk6(image, pp_geometry(), pp_fib_load32(image, cold_table_offset + 4), (__u8*)l3 + 24);
}

PP_INLINE __u64 pp_hash_of(const struct pp_destination* destination) {
    return (destination->high ^ destination->low * 0x9e3779b97f4a7c15ull) * 0xbb67ae8584caa73bull;
}

PP_INLINE struct pp_order_mark* pp_mark_of(struct pp_order* all, const struct pp_destination* destination) {
    return &all->marks[(pp_hash_of(destination) >> 40) & (PP_ORDER_MARKS - 1)];
}

/* Is a packet to the same destination, sent to this queue's socket, still on its way there or with the
 * control loop? */
PP_RARE int pp_in_flight(struct xdp_md* ctx, __u32 place) {
    struct pp_destination destination;
    struct pp_order* all = pp_order_of_sockets();
    if (!all || !pp_destination_at(ctx, place, &destination)) return 0;
    __u32 key = pp_socket_key(ctx);
    const struct pp_order_mark* mark = pp_mark_of(all, &destination);
    if (mark->socket != key) return 0;
    return (__s32)(PP_LOAD32(&pp_order_of(all, key)->done) - mark->number) < 0;
}

/* A frame to this destination goes to the socket under this number. */
PP_INLINE void pp_mark_split(struct xdp_md* ctx, __u32 place, struct pp_order* all, __u32 key, __u32 number) {
    struct pp_destination destination;
    if (!pp_destination_at(ctx, place, &destination)) return;
    struct pp_order_mark* mark = pp_mark_of(all, &destination);
    mark->socket = key;
    mark->number = number;
}

PP_RARE int pp_write_sample(struct xdp_md* ctx, __u32 place) {
    struct pp_destination destination;
    __u32 cpu = bpf_get_smp_processor_id();
    struct pp_samples* own = bpf_map_lookup_elem(&samples, &cpu);
    if (!own) return 0;
    __u32 every = *(volatile __u32*)&own->every;
    /* At random distances, so that no rhythm of the traffic hides from it. */
    own->left = every > 1 ? 1 + bpf_get_prandom_u32() % (2 * every - 1) : 1;
    if (!pp_destination_at(ctx, place, &destination)) return 0;
    __u64 number = own->taken;
    own->cells[number & (PP_SAMPLES - 1)] = destination;
    *(volatile __u64*)&own->taken = number + 1;
    return 0;
}

/* Called for each packet that this stage forwards. */
PP_INLINE void pp_sample(struct xdp_md* ctx, __u32 place) {
    __u32 cpu = bpf_get_smp_processor_id();
    struct pp_samples* own = bpf_map_lookup_elem(&samples, &cpu);
    if (!own) return;
    own->packets++;
    if (--own->left == 0 || own->left > 1u << 20) pp_write_sample(ctx, place);
}

#endif
