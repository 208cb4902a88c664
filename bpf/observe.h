/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Observation: what the port stage writes down of a packet for `pktpit trace` and `pktpit capture`. Only the
 * program port_observed has these steps, which the daemon puts in the place of port_stage while somebody
 * looks; port_stage has not one instruction of them.
 *
 * The packet's first bytes are saved when it comes, since it is rewritten in place; at its end they go out
 * together with the decision and the frame as it is then. What goes to a socket is the worker's to write
 * down. */
#ifndef PKTPIT_BPF_OBSERVE_H
#define PKTPIT_BPF_OBSERVE_H

#include "bpf/bpf_common.h"
#include "bpf/maps.h"
#include "bpf/ring.h"

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct pp_observing);
} observing SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, PP_MAX_PORTS);
    __type(key, __u32);
    __type(value, struct pp_observed);
} observed SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 1);
    __type(key, __u32);
    __array(values, struct pp_ring);
} observations SEC(".maps");

/* Records until the reader is woken: each waking costs more than a record. */
#define PP_OBSERVATIONS_PER_WAKEUP 16

PP_RARE int pp_observe_begin(struct xdp_md* ctx) {
    __u32 zero = 0;
    __u32 port = port_id;
    struct pp_observed* at = bpf_map_lookup_elem(&observed, &port);
    const struct pp_observing* wanted = bpf_map_lookup_elem(&observing, &zero);
    if (!at || !wanted) return 0;
    at->wanted = 0;
    __u32 points = wanted->points[port_id & (PP_MAX_PORTS - 1)];
    if (!points || bpf_get_prandom_u32() > wanted->threshold) return 0;

    struct pp_observation* record = &at->record;
    record->start = bpf_ktime_get_ns();
    record->decided = 0;
    record->port = (__u16)port_id;
    record->by = PP_OBSERVED_BY_STAGE;
    __u32 length = (__u32)bpf_xdp_get_buff_len(ctx);
    __u32 bytes = length < PP_SLICE_BYTES ? length : PP_SLICE_BYTES;
    /* The verifier takes a size that it sees the bounds of: 1 to 128. */
    bytes--;
    PP_BARRIER(bytes);
    if (length == 0 || bpf_xdp_load_bytes(ctx, 0, record->slice, (bytes & (PP_SLICE_BYTES - 1)) + 1))
        return 0;
    record->frame_length = length;
    record->slice_bytes = (__u16)(bytes + 1);
    at->wanted = points;
    return 0;
}

PP_RARE int pp_observe_end(struct xdp_md* ctx, __u32 verdict, __u32 egress_port, __u32 point, __u32 trailer) {
    __u32 zero = 0;
    __u32 port = port_id;
    struct pp_observed* at = bpf_map_lookup_elem(&observed, &port);
    const struct pp_observing* wanted = bpf_map_lookup_elem(&observing, &zero);
    if (!at || !wanted || !(at->wanted & point)) return 0;
    at->wanted = 0;
    struct pp_observation* record = &at->record;
    record->end = bpf_ktime_get_ns();
    record->verdict = (__u8)verdict;
    record->egress_port = (__u16)egress_port;
    record->trailer = trailer;
    __u32 length = (__u32)bpf_xdp_get_buff_len(ctx);
    __u32 bytes = length < wanted->snaplen ? length : wanted->snaplen;
    record->end_length = length;
    record->frame_bytes = bytes;
    void* ring = PP_RING_OF_CPU(&observations);
    const __u64 wakeup = ++at->written % PP_OBSERVATIONS_PER_WAKEUP ? BPF_RB_NO_WAKEUP : BPF_RB_FORCE_WAKEUP;
    if (!ring || pp_write_record(ctx, ring, record, sizeof(*record), bytes, wakeup)) at->lost++;
    return 0;
}

#endif
