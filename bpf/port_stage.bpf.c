/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The port stage: what an XDP port does with each frame, inline, from the FIB image in a map.
 *
 * Loaded once a port, with the port's id and the image's geometry as constants: the verifier then proves
 * every masked index in range, and no bounds check is left at run time. router/forward is its twin in C++;
 * the two are held together by tests/differential. The steps: parse_l2.h, parse_ipv4.h or parse_ipv6.h with
 * route.h and flow_hash.h, rewrite.h; hand_over.h and heartbeat.h for split ports, auto.h for what auto ports
 * do more, returning.h for packets that their senders could send better, complete_checksum.h for senders that
 * leave checksums to a NIC, aggregate.h for what the router adds itself. Headers must lie in the frame's
 * linear part, as every driver puts them.
 */
#include "bpf/aggregate.h"
#include "bpf/auto.h"
#include "bpf/bpf_common.h"
#include "bpf/complete_checksum.h"
#include "bpf/hand_over.h"
#include "bpf/heartbeat.h"
#include "bpf/maps.h"
#include "bpf/observe.h"
#include "bpf/parse_ipv4.h"
#include "bpf/parse_ipv6.h"
#include "bpf/parse_l2.h"
#include "bpf/returning.h"
#include "bpf/rewrite.h"
#include "bpf/ring.h"
#ifdef PP_ASKS_FOR_TAGS
#include "bpf/metadata_tag.h"
#endif

/* The table to ask: of a split port with a socket, and a worker that moves, the one that holds what is not to
 * go there. */
PP_INLINE __u32 pp_table(const struct xdp_md* ctx) {
    if (!split_table_offset) return table_offset;
    __u32 key = pp_socket_key(ctx);
    if (!bpf_map_lookup_elem(&split_sockets, &key)) return table_offset;
    struct pp_order* all = pp_order_of_sockets();
    return all && pp_stands_in(pp_order_of(all, key)) ? table_offset : split_table_offset;
}

/* The whole frame to the daemon, with frags; the frame itself ends here. `port`: pp_punt.port. The verdict
 * that it comes to. */
PP_RARE int pp_punt_frame(struct xdp_md* ctx, __u32 port, __u32 verdict) {
    struct pp_punt punt = {
        .port = (__u16)port,
        .verdict = (__u8)verdict,
        .frame_length = (__u32)bpf_xdp_get_buff_len(ctx),
    };
    void* ring = PP_RING_OF_CPU(&punts);
    if (!ring || pp_write_record(ctx, ring, &punt, sizeof(punt), punt.frame_length, 0))
        return PP_DROP_PUNT_FULL;
    return (int)verdict;
}

static const __u8 pp_actions[PP_VERDICT_CAPACITY] = {
#define PP_VERDICT_ACTION(name, action, text, meaning) PP_ACTION_##action,
    PP_VERDICTS(PP_VERDICT_ACTION)
#undef PP_VERDICT_ACTION
};

/* All that does not leave by a port. */
PP_INLINE int pp_finish_frame(struct xdp_md* ctx, __u32 verdict, const int observe) {
    __u32 length = (__u32)bpf_xdp_get_buff_len(ctx);
    __u32 index = verdict & (PP_VERDICT_CAPACITY - 1);
    PP_BARRIER(index);
    index &= PP_VERDICT_CAPACITY - 1;
    __u32 action = pp_actions[index];
    if (guards & PP_GUARD_HOST && action == PP_ACTION_HOST) {
        index = pp_host_policed(ctx, index) & (PP_VERDICT_CAPACITY - 1);
        PP_BARRIER(index);
        index &= PP_VERDICT_CAPACITY - 1;
        action = pp_actions[index];
    }
    if (action == PP_ACTION_PUNT) {
        index = (__u32)pp_punt_frame(ctx, port_id, index) & (PP_VERDICT_CAPACITY - 1);
        PP_BARRIER(index);
        index &= PP_VERDICT_CAPACITY - 1;
    }
    __u32 key = port_id;
    struct pp_port_counters* count = bpf_map_lookup_elem(&counters, &key);
    if (count) {
        count->rx_packets++;
        count->rx_bytes += length;
        count->verdict[index]++;
    }
    if (observe) pp_observe_end(ctx, index, 0, action == PP_ACTION_DROP ? PP_POINT_DROP : PP_POINT_OTHER, 0);
    return action == PP_ACTION_HOST ? XDP_PASS : XDP_DROP;
}

/* A packet of the aggregation service: `out` is what pp_aggregate() made of it. */
PP_INLINE int pp_finish_aggregated(struct xdp_md* ctx, __u32 out, const int observe) {
    const __u32 index = out >> 8 & (PP_VERDICT_CAPACITY - 1);
    __u32 key = port_id;
    struct pp_port_counters* count = bpf_map_lookup_elem(&counters, &key);
    if (count) {
        const __u32 length = (__u32)bpf_xdp_get_buff_len(ctx);
        count->rx_packets++;
        count->rx_bytes += length;
        count->verdict[index]++;
        if (out & PP_SUM_BACK) {
            count->tx_packets++;
            count->tx_bytes += length;
        }
    }
    if (observe)
        pp_observe_end(ctx, index, 0, index == PP_DROP_AGGREGATION ? PP_POINT_DROP : PP_POINT_OTHER, 0);
    return out & 0xff;
}

PP_RARE int pp_finish(struct xdp_md* ctx, __u32 verdict) {
    if (aggregation && verdict == PP_HOST_LOCAL) {
        const __u32 out = pp_aggregate(ctx);
        if (out) return pp_finish_aggregated(ctx, out, 0);
    }
    return pp_finish_frame(ctx, verdict, 0);
}
PP_RARE int pp_finish_observed(struct xdp_md* ctx, __u32 verdict) {
    if (aggregation && verdict == PP_HOST_LOCAL) {
        const __u32 out = pp_aggregate(ctx);
        if (out) return pp_finish_aggregated(ctx, out, 1);
    }
    return pp_finish_frame(ctx, verdict, 1);
}
#define PP_FINISH(ctx, verdict) (observe ? pp_finish_observed(ctx, verdict) : pp_finish(ctx, verdict))

/* Few routes are counted: off the common path. */
PP_RARE int pp_count_route(__u32 counter, __u32 bytes) {
    struct pp_route_counters* count = bpf_map_lookup_elem(&route_counters, &counter);
    if (count) {
        count->packets++;
        count->bytes += bytes;
    }
    return 0;
}

/* No redirect to the port: it is gone, or its device takes none (bpf_redirect_map would count a success, and
 * the device lose the frame). In generic mode it takes them all the same, since that sends as the stack does.
 * In native mode the rewritten frame leaves by the kernel's stack, where this port's device has the program
 * that sends it on (stack_redirect.bpf.c), with or without a daemon. (Generic mode could not: since 6.9 it
 * forgets where the Ethernet header of a frame ends, and a tc program finds no metadata.) Else the daemon
 * sends it: PP_FORWARDED in the punt, and the port that it leaves by. The verdict, and PP_BY_STACK or
 * PP_BY_REDIRECT. */
#define PP_BY_STACK 0x100
#define PP_BY_REDIRECT 0x200
PP_RARE int pp_send_otherwise(struct xdp_md* ctx, __u32 egress_port) {
    const void* image = pp_image();
    const struct pp_fib_geometry* g = pp_geometry();
    if (!image || !egress_port || egress_port >= g->port_count) return PP_DROP_NO_EGRESS;
    const struct pp_fib_port* egress = pp_fib_port_at(image, g, egress_port);
    if (!(PP_LOAD64(egress) >> 48 & PP_PORT_NO_REDIRECT)) return PP_DROP_NO_EGRESS;
    const struct pp_order* all = pp_order_of_sockets();
    const __u32 otherwise = all ? all->otherwise[port_id & (PP_MAX_PORTS - 1)] : PP_OTHERWISE_DAEMON;
    if (otherwise == PP_OTHERWISE_REDIRECT &&
        bpf_redirect_map(&tx_devices, egress_port, XDP_DROP) == XDP_REDIRECT)
        return PP_FORWARDED | PP_BY_REDIRECT;
    if (otherwise == PP_OTHERWISE_STACK && !bpf_xdp_adjust_meta(ctx, -(int)sizeof(struct pp_leave_tag))) {
        void* data = PP_DATA(ctx);
        struct pp_leave_tag* tag = (void*)(long)ctx->data_meta;
        if ((void*)(tag + 1) > data) return PP_DROP_NO_HEADROOM;
        tag->magic = PP_LEAVE_MAGIC;
        tag->ifindex = egress->ifindex;
        tag->tag_apart = 0;
        return PP_FORWARDED | PP_BY_STACK;
    }
    return pp_punt_frame(ctx, egress_port, PP_FORWARDED);
}

/* Sends the rewritten frame, whose IP header was at `place`; `longer` is what the VLAN tags added, `trailer`
 * what was cut off its end. */
PP_INLINE int pp_send(struct xdp_md* ctx, __u32 egress_port, __u32 place, __u32 length, int longer,
                      __u32 trailer, __u32 route_counter, const int observe) {
    __u32 key = egress_port;
    int action = (int)bpf_redirect_map(&tx_ports, key, XDP_DROP);
    __u32 verdict = PP_FORWARDED;
    if (unlikely(action != XDP_REDIRECT)) {
        verdict = (__u32)pp_send_otherwise(ctx, egress_port);
        action = verdict & PP_BY_STACK ? XDP_PASS : verdict & PP_BY_REDIRECT ? XDP_REDIRECT : XDP_DROP;
        PP_BARRIER(verdict);
        verdict &= PP_VERDICT_CAPACITY - 1;
    } else if (completes_checksums) {
        pp_complete_checksum(ctx, place + longer);
    }

    __u32 ingress = port_id;
    struct pp_port_counters* count = bpf_map_lookup_elem(&counters, &ingress);
    if (likely(count)) {
        count->rx_packets++;
        count->rx_bytes += length;
        count->verdict[verdict]++;
    }
    if (observe)
        pp_observe_end(ctx, verdict, egress_port, verdict == PP_FORWARDED ? PP_POINT_EGRESS : PP_POINT_DROP,
                       trailer);
    if (unlikely(verdict != PP_FORWARDED)) return XDP_DROP;
    length += longer - trailer;
    count = bpf_map_lookup_elem(&counters, &key);
    if (likely(count)) {
        count->tx_packets++;
        count->tx_bytes += length;
    }
    if (unlikely(route_counter)) pp_count_route(route_counter, length);
    return action;
}

/* The filters of an IP packet that this stage does not forward itself. One that a filter has decided about is
 * not asked about again. */
PP_INLINE enum pp_verdict pp_filter_others(const struct pp_frame* f, const struct pp_egress* out,
                                           enum pp_verdict verdict) {
    if (f->ethertype != PP_ETHERTYPE_IPV4 && f->ethertype != PP_ETHERTYPE_IPV6) return verdict;
    __u32 index = verdict & (PP_VERDICT_CAPACITY - 1);
    PP_BARRIER(index);
    index &= PP_VERDICT_CAPACITY - 1;
    const __u32 action = pp_actions[index];
    if ((action != PP_ACTION_HOST && action != PP_ACTION_PUNT) || verdict == PP_HOST_FILTER) return verdict;
    const int leaving =
        verdict == PP_PUNT_NO_NEIGHBOUR || verdict == PP_PUNT_TOO_BIG || verdict == PP_PUNT_IPV4_OPTIONS;
    return pp_filtered(f, leaving ? out->interface : 0, action == PP_ACTION_HOST, verdict);
}

/* The rate of the ingress interface for what is not dropped already, and not forwarded here. */
PP_INLINE enum pp_verdict pp_police_others(const struct pp_frame* f, enum pp_verdict verdict) {
    if (f->ethertype != PP_ETHERTYPE_IPV4 && f->ethertype != PP_ETHERTYPE_IPV6) return verdict;
    __u32 index = verdict & (PP_VERDICT_CAPACITY - 1);
    PP_BARRIER(index);
    index &= PP_VERDICT_CAPACITY - 1;
    const __u32 action = pp_actions[index];
    if (action != PP_ACTION_HOST && action != PP_ACTION_PUNT) return verdict;
    return pp_exceeds_rate(f) ? PP_DROP_POLICE : verdict;
}

/* `observe` is known when this is compiled. */
PP_INLINE int pp_stage(struct xdp_md* ctx, const int observe) {
    if (observe) pp_observe_begin(ctx);
    if (pp_daemon_lost()) return PP_FINISH(ctx, PP_HOST_DAEMON_LOST);
    struct pp_frame f = {
        .ctx = ctx,
        .data = PP_DATA(ctx),
        .end = PP_END(ctx),
        .image = pp_image(),
        .geometry = pp_geometry(),
        .table = pp_table(ctx),
    };
    if (!f.image) return XDP_ABORTED;
    f.length = (__u32)((long)f.end - (long)f.data);

    struct pp_egress out;
    out.interface = 0;
    enum pp_verdict verdict = pp_parse_l2(&f);
    if (unlikely(verdict)) return PP_FINISH(ctx, verdict);
    const __u32 place = f.l3_offset | (__u32)f.ethertype << 16;
    if (f.table & PP_BY_INTERFACE) {
        const __u32 all = f.table == table_offset ? PP_ALL_ROUTES : 0;
        f.table = pp_table_of(f.image, f.geometry, f.table, f.interface);
        f.interface |= all;
    }
    if (pp_is_auto() && f.table == (split_table_offset & ~PP_BY_INTERFACE)) {
        const struct pp_order* all = pp_order_of_sockets();
        if (all && unlikely(*(const volatile __u32*)&all->guarding) && pp_in_flight(ctx, place))
            f.table = cold_table_offset;
    }
    /* For the verifier: before Linux 6.7 it takes a loop for endless unless a number that it knows ends it.
     */
    int whole = 0;
    PP_BARRIER(whole);
again:
    if (f.ethertype == PP_ETHERTYPE_IPV4)
        verdict = pp_ipv4(&f, &out);
    else if (f.ethertype == PP_ETHERTYPE_IPV6)
        verdict = pp_ipv6(&f, &out);
    else
        verdict = f.ethertype == PP_ETHERTYPE_ARP ? PP_HOST_ARP : PP_HOST_NOT_IP;
    if (unlikely(verdict != PP_FORWARDED)) {
        if (!split_table_offset || verdict != PP_PUNT_NO_ROUTE || whole || f.table == table_offset ||
            f.interface & PP_ALL_ROUTES) {
            if (pp_has_filters()) verdict = pp_filter_others(&f, &out, verdict);
            if (guards & PP_GUARD_POLICE) verdict = pp_police_others(&f, verdict);
            return PP_FINISH(ctx, verdict);
        }
        const int kernels =
            unlikely(pp_fib_has_kernel_routes(f.image, f.geometry)) && pp_is_kernels(ctx, place, f.interface);
        if (likely(!kernels) && pp_hand_over(ctx, place)) return XDP_REDIRECT;
        f.table = pp_full_table(f.image, f.geometry, f.interface);
        if (table_offset & PP_BY_INTERFACE) f.interface |= PP_ALL_ROUTES;
        f.data = PP_DATA(ctx);
        f.end = PP_END(ctx);
        if (f.data + PP_ETH_HEADER > f.end) return PP_FINISH(ctx, PP_DROP_TRUNCATED);
        whole = 1;
        PP_BARRIER(whole);
        goto again;
    }
    if (pp_is_auto()) pp_sample(ctx, place);
    if (unlikely((__u32)(out.own >> 48) == port_id)) pp_copy_returning(ctx, out.tags, place);

    int longer = 0;
    if (likely(f.l3_offset == PP_ETH_HEADER && !(__u16)out.tags)) {
        pp_write_macs(f.data, out.next, out.own);
    } else {
        longer = pp_rewrite_tagged(ctx, out.next, out.own, out.tags, place);
        if (longer == PP_NO_HEADROOM) return PP_FINISH(ctx, PP_DROP_NO_HEADROOM);
    }
    __u32 trailer = 0;
    if (unlikely(pp_may_have_trailer(&f))) {
        trailer = pp_cut(ctx, f.packet_end + longer);
        if (trailer) f.length = f.packet_end + trailer;
    }
    return pp_send(ctx, (__u32)(out.own >> 48), place, f.length, longer, trailer, out.route_counter, observe);
}

/* Devices that keep VLAN tags apart from frames have an object of their own (port_stage_tags.bpf.c), since a
 * kernel without the function that it calls refuses the whole of it. */
#ifdef PP_ASKS_FOR_TAGS
PP_INLINE int pp_stage_of_object(struct xdp_md* ctx, const int observe) {
    int tag = pp_take_metadata_tag(ctx);
    if (unlikely(tag == PP_METADATA_TAG_LOST)) return PP_FINISH(ctx, PP_DROP_NO_HEADROOM);
    int action = pp_stage(ctx, observe);
    return unlikely(tag && action == XDP_PASS) ? pp_settle_tag(ctx) : action;
}
#else
#define pp_stage_of_object pp_stage
#endif

SEC("xdp.frags")
int port_stage(struct xdp_md* ctx) {
    return pp_stage_of_object(ctx, 0);
}

/* The same and observed: bpf/observe.h. Loaded when asked for. */
SEC("?xdp.frags")
int port_observed(struct xdp_md* ctx) {
    return pp_stage_of_object(ctx, 1);
}

/* Some helpers are for GPL-compatible programs. */
char LICENSE[] SEC("license") = "Dual BSD/GPL";
