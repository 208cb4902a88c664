/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A router in XDP on eBPF's own longest-prefix map, then a redirect through a devmap. Every route leads to
 * the same next hop, so the map's value is the egress' number alone. IPv4 headers are taken for valid.
 */
#include "bench/bpf/rewrite.h"
#include "bench/bpf/traffic.h"

const volatile struct pb_macs macs = {};

struct key4 {
    __u32 length;
    __u8 address[4];
};
struct key6 {
    __u32 length;
    __u8 address[16];
};

struct {
    __uint(type, BPF_MAP_TYPE_LPM_TRIE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1); /* set before loading */
    __type(key, struct key4);
    __type(value, __u32);
} routes4 SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_LPM_TRIE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __uint(max_entries, 1); /* set before loading */
    __type(key, struct key6);
    __type(value, __u32);
} routes6 SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} egress SEC(".maps");

static __always_inline __u32* route4(struct iphdr* ip) {
    struct key4 key = {.length = 32};
    __builtin_memcpy(key.address, &ip->daddr, 4);
    __u32* port = bpf_map_lookup_elem(&routes4, &key);
    if (port) decrease_ttl(ip);
    return port;
}

static __always_inline __u32* route6(struct ipv6hdr* ip) {
    struct key6 key = {.length = 128};
    __builtin_memcpy(key.address, &ip->daddr, 16);
    __u32* port = bpf_map_lookup_elem(&routes6, &key);
    if (port) ip->hop_limit--;
    return port;
}

SEC("xdp")
int forward(struct xdp_md* ctx) {
    void* data = (void*)(long)ctx->data;
    void* end = (void*)(long)ctx->data_end;
    struct ethhdr* eth = data;
    __u32* port = 0;
    if (data + sizeof(*eth) > end) return XDP_PASS;
    if (eth->h_proto == bpf_htons(ETH_P_IP)) {
        struct iphdr* ip = (void*)(eth + 1);
        if ((void*)(ip + 1) > end || ip->ttl <= 1) return XDP_PASS;
        port = route4(ip);
    } else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
        struct ipv6hdr* ip = (void*)(eth + 1);
        if ((void*)(ip + 1) > end || ip->hop_limit <= 1) return XDP_PASS;
        port = route6(ip);
    }
    if (!port) return XDP_PASS;
    copy_constant(eth, &macs, sizeof(macs));
    return bpf_redirect_map(&egress, *port, 0);
}

char license_name[] SEC("license") = "Dual BSD/GPL";
