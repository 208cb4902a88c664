/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The traffic sink: counts what arrives, looks at a sample of it in full, and drops it.
 * `count` is for rates; `sequence` also follows every flow's sequence numbers.
 */

#include "bench/bpf/program.h"
#include "bench/bpf/traffic.h"

const volatile struct pb_expectation expectation = {};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct pb_sink_counters);
} sink_counters SEC(".maps");

/* The generator's map. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct pb_progress);
} progress SEC(".maps");

/* Next sequence number of each flow. NAPI runs a queue on one CPU at a time: no atomics. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* set before loading */
    __type(key, __u32);
    __type(value, __u32);
} flows SEC(".maps");

static __always_inline int header_checksum_is_right(const struct iphdr* ip) {
    const __u16* words = (const void*)ip;
    __u32 sum = 0;
    for (int i = 0; i < 10; i++)
        sum += words[i];
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return sum == 0xffff;
}

/* Null for a frame that is not the benchmark's. */
static __always_inline const struct udphdr* udp_of(void* data, __u32 family) {
    const struct ethhdr* eth = data;
    if (family == 4) {
        const struct iphdr* ip = (void*)(eth + 1);
        if (eth->h_proto != bpf_htons(ETH_P_IP) || ip->protocol != 17) return 0;
        return (void*)(ip + 1);
    }
    const struct ipv6hdr* ip = (void*)(eth + 1);
    if (eth->h_proto != bpf_htons(ETH_P_IPV6) || ip->nexthdr != 17) return 0;
    return (void*)(ip + 1);
}

static __always_inline __u32 expected_bytes(const void* data) {
    if (expectation.frame_bytes) return expectation.frame_bytes;
    const void* ip = data + sizeof(struct ethhdr);
    if (expectation.family == 4) return sizeof(struct ethhdr) + bpf_ntohs(((const struct iphdr*)ip)->tot_len);
    return sizeof(struct ethhdr) + sizeof(struct ipv6hdr) +
           bpf_ntohs(((const struct ipv6hdr*)ip)->payload_len);
}

static __always_inline void look_at(void* data, __u64 length, struct pb_sink_counters* counters) {
    const struct ethhdr* eth = data;
    counters->sampled++;
    if (length != expected_bytes(data)) counters->bad_length++;
    for (int i = 0; i < 6; i++) {
        if (eth->h_dest[i] != expectation.macs.destination[i] ||
            eth->h_source[i] != expectation.macs.source[i]) {
            counters->bad_mac++;
            break;
        }
    }
    if (expectation.family == 4) {
        const struct iphdr* ip = (void*)(eth + 1);
        if (ip->ttl != expectation.ttl) counters->bad_ttl++;
        if (!header_checksum_is_right(ip)) counters->bad_checksum++;
    } else {
        const struct ipv6hdr* ip = (void*)(eth + 1);
        if (ip->hop_limit != expectation.ttl) counters->bad_ttl++;
    }
    const struct udphdr* udp = udp_of(data, expectation.family);
    if (udp && (bpf_ntohs(udp->source) < PB_PORT_BASE || bpf_ntohs(udp->dest) < PB_PORT_BASE))
        counters->bad_payload++;
}

/* The pattern behind the headers: every 64th byte, and the last. */
static __always_inline void look_at_payload(struct xdp_md* ctx, struct pb_sink_counters* counters) {
    if ((void*)(long)ctx->data + PB_FRAME_BYTES > (void*)(long)ctx->data_end) return;
    const __u32 last = expected_bytes((void*)(long)ctx->data) - 1;
    for (__u32 offset = PB_FRAME_BYTES; offset < PB_MOST_FRAME_BYTES; offset += 64) {
        __u32 place = offset < last ? offset : last;
        if (place < PB_FRAME_BYTES) return;
        const __u8* byte = (void*)(long)ctx->data + (place & 2047);
        if ((void*)(byte + 1) > (void*)(long)ctx->data_end) return; /* its length is wrong, and counted */
        if (*byte != PB_PATTERN(place)) {
            counters->bad_payload++;
            return;
        }
        if (place == last) return;
    }
}

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, PB_LATENCY_BUCKETS);
    __type(key, __u32);
    __type(value, __u64);
} latencies SEC(".maps");

static __always_inline void count_latency(const void* data) {
    const __u64 left = *(const __u64*)(data + PB_TIMESTAMP_OFFSET(expectation.family));
    const __u64 now = bpf_ktime_get_ns();
    const __u64 took = now > left ? now - left : 0;
    __u32 shifted = 0;
    __u64 rest = took < (1ull << 35) ? took : (1ull << 35); /* half a minute */
    for (int shift = 16; shift > 0; shift /= 2) {
        if (rest >> (4 + shift) == 0) continue;
        rest >>= shift;
        shifted += shift;
    }
    const __u32 bucket = shifted * PB_LATENCY_STEPS + (__u32)rest;
    __u64* count = bpf_map_lookup_elem(&latencies, &bucket);
    if (count) (*count)++;
}

static __always_inline void tell_generator(void) {
    const __u32 zero = 0;
    struct pb_progress* mine = bpf_map_lookup_elem(&progress, &zero);
    if (!mine) return;
    const __u64 arrived = ++mine->arrived;
    if (arrived % PB_PUBLISH_EVERY == 0) *(volatile __u64*)&mine->published = arrived;
}

/* What arrived: `udp` is null for a frame that is not the benchmark's. */
struct arrival {
    struct pb_sink_counters* counters;
    void* data;
    const struct udphdr* udp;
};

static __always_inline struct arrival take(struct xdp_md* ctx) {
    const __u32 zero = 0;
    void* data = (void*)(long)ctx->data;
    void* end = (void*)(long)ctx->data_end;
    struct arrival arrival = {bpf_map_lookup_elem(&sink_counters, &zero), data, 0};
    if (!arrival.counters) return arrival;
    if (data + PB_FRAME_BYTES <= end) arrival.udp = udp_of(data, expectation.family);
    if (!arrival.udp)
        arrival.counters->other++;
    else if ((arrival.counters->frames++ & expectation.sample_mask) == 0) {
        look_at(data, end - data, arrival.counters);
        look_at_payload(ctx, arrival.counters);
    }
    if (arrival.udp) {
        tell_generator();
        if (expectation.timestamps) count_latency(data);
    }
    return arrival;
}

SEC("xdp")
int count(struct xdp_md* ctx) {
    take(ctx);
    return XDP_DROP;
}

SEC("xdp")
int sequence(struct xdp_md* ctx) {
    const struct arrival arrival = take(ctx);
    if (!arrival.udp) return XDP_DROP;
    const __u32 flow = ((bpf_ntohs(arrival.udp->dest) - PB_PORT_BASE) << PB_FLOW_BITS) |
                       (bpf_ntohs(arrival.udp->source) - PB_PORT_BASE);
    __u32* next = bpf_map_lookup_elem(&flows, &flow);
    if (!next) {
        arrival.counters->bad_payload++;
        return XDP_DROP;
    }
    const __u32 number = *(const __u32*)(arrival.data + PB_SEQUENCE_OFFSET);
    if (number < *next) {
        arrival.counters->late++;
        return XDP_DROP;
    }
    arrival.counters->skipped += number - *next;
    *next = number + 1;
    return XDP_DROP;
}

char license_name[] SEC("license") = "Dual BSD/GPL";
