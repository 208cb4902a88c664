/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The traffic source: run by BPF_PROG_RUN with live frames, sends each out of the source's port.
 *
 * The kernel recycles the frame's page, with the router's edits in it, so every header is written anew.
 */

#include "bench/bpf/program.h"
#include "bench/bpf/traffic.h"

const volatile struct pb_plan plan = {};
struct pb_generator_state state = {};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1); /* set before loading */
    __type(key, __u32);
    __type(value, struct pb_destination);
} destinations SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} source_port SEC(".maps");

/* Written by the sink's program. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct pb_progress);
} progress SEC(".maps");

/* Looks at the sink's counter that often a slot (about 10 us), and gives the frames on their way up for lost
 * after that many slots. */
#define LOOKS 4096
#define LONGEST_WAIT 5000

struct waiting {
    const volatile __u64* published;
    __u64 enough;
};

static long look(__u32 step, struct waiting* waiting) {
    (void)step;
    return *waiting->published >= waiting->enough;
}

/* Room for one more frame on the way? Waiting in place costs the other core nothing; handing the slot's page
 * back, or frames that a full ring refuses, would fight it for the page pool's lock. */
static __always_inline int window_opens(__u64 number) {
    const __u32 zero = 0;
    struct pb_progress* sink = bpf_map_lookup_elem(&progress, &zero);
    if (!sink) return 0;
    struct waiting waiting = {&sink->published, number + 1 - state.window - state.given_up};
    bpf_loop(LOOKS, look, &waiting, 0);
    const __u64 published = *waiting.published;
    state.acknowledged = state.given_up + published;
    if (published >= waiting.enough) {
        state.waits = 0;
        return 1;
    }
    if (++state.waits > LONGEST_WAIT) {
        state.given_up = number - published;
        state.waits = 0;
    }
    return 0;
}

static __always_inline void write_udp(void* at, __u32 flow, __u16 length) {
    struct udphdr* udp = at;
    udp->source = bpf_htons(PB_PORT_BASE + (flow & ((1 << PB_FLOW_BITS) - 1)));
    udp->dest = bpf_htons(PB_PORT_BASE + (flow >> PB_FLOW_BITS));
    udp->len = bpf_htons(length);
    udp->check = 0;
}

static __always_inline void write_ipv4(struct iphdr* ip, const struct pb_destination* destination,
                                       __u32 bytes) {
    const __u32 source = *(const volatile __u32*)plan.source;
    const __u32 target = *(const __u32*)destination->address;
    const __u16 length = bpf_htons(bytes - sizeof(struct ethhdr));
    *(__u16*)ip = bpf_htons(0x4500);
    ip->tot_len = length;
    ip->id = 0;
    ip->frag_off = 0;
    ip->ttl = PB_TTL;
    ip->protocol = 17;
    ip->saddr = source;
    ip->daddr = target;
    __u64 sum = bpf_htons(0x4500) + length + bpf_htons(PB_TTL << 8 | 17);
    sum += (source & 0xffff) + (source >> 16) + (target & 0xffff) + (target >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    ip->check = ~sum;
}

static __always_inline void write_ipv6(struct ipv6hdr* ip, const struct pb_destination* destination,
                                       __u32 bytes) {
    *(__u32*)ip = bpf_htonl(6u << 28);
    ip->payload_len = bpf_htons(bytes - sizeof(struct ethhdr) - sizeof(*ip));
    ip->nexthdr = 17;
    ip->hop_limit = PB_TTL;
    copy_constant(&ip->saddr, plan.source, 16);
    __builtin_memcpy(&ip->daddr, destination->address, 16);
}

static __always_inline __u32 mixed_bytes(__u64 number) {
    const __u32 place = number % PB_MIX_OF;
    if (place < PB_MIX_SMALL) return PB_FRAME_BYTES;
    return place < PB_MIX_MIDDLE ? PB_MIX_MIDDLE_BYTES : plan.frame_bytes;
}

SEC("xdp")
int generate(struct xdp_md* ctx) {
    const __u64 number = state.sent;
    if (state.paced) {
        if (state.most && number >= state.most) return XDP_DROP;
        const __u64 now = bpf_ktime_get_ns() << 10;
        __u64 due = state.next_due;
        if (now < due) return XDP_DROP;
        /* After an interruption no more than PB_CATCH_UP missed frames are made up for. */
        if (now - due > PB_CATCH_UP * state.interval) due = now - PB_CATCH_UP * state.interval;
        state.next_due = due + state.interval;
    } else if (number >= state.acknowledged + state.window && !window_opens(number)) {
        return XDP_DROP;
    }
    const __u32 index = number & plan.destination_mask;
    const struct pb_destination* destination = bpf_map_lookup_elem(&destinations, &index);
    if (!destination) return XDP_ABORTED;
    if (bpf_xdp_adjust_head(ctx, PB_ALIGNMENT)) return XDP_ABORTED;
    const __u32 bytes = plan.mix ? mixed_bytes(number) : plan.frame_bytes;
    if (plan.mix && bytes != plan.frame_bytes && bpf_xdp_adjust_tail(ctx, (int)bytes - (int)plan.frame_bytes))
        return XDP_ABORTED;
    void* data = (void*)(long)ctx->data;
    if (data + PB_FRAME_BYTES > (void*)(long)ctx->data_end) return XDP_ABORTED;
    state.sent = number + 1;

    struct ethhdr* eth = data;
    copy_constant(eth, &plan.macs, sizeof(plan.macs));
    if (plan.family == 4) {
        eth->h_proto = bpf_htons(ETH_P_IP);
        write_ipv4((void*)(eth + 1), destination, bytes);
        write_udp(data + 34, index, bytes - 34);
        if (plan.timestamps) *(__u64*)(data + PB_TIMESTAMP_OFFSET(4)) = bpf_ktime_get_ns();
    } else {
        eth->h_proto = bpf_htons(ETH_P_IPV6);
        write_ipv6((void*)(eth + 1), destination, bytes);
        write_udp(data + 54, index, bytes - 54);
        if (plan.timestamps) *(__u64*)(data + PB_TIMESTAMP_OFFSET(6)) = bpf_ktime_get_ns();
    }
    *(__u32*)(data + PB_SEQUENCE_OFFSET) = (__u32)(number >> plan.flow_shift);
    return bpf_redirect_map(&source_port, 0, 0);
}

char license_name[] SEC("license") = "Dual BSD/GPL";
