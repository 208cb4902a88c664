/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A router in XDP on the kernel's own FIB: bpf_fib_lookup() for route and neighbour, then a redirect through
 * a devmap keyed by ifindex. Of the four ways (rules or the main table directly, bpf_redirect() or a devmap)
 * this was the fastest.
 */
#include "bench/bpf/rewrite.h"

#define PB_AF_INET 2
#define PB_AF_INET6 10

struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, 64);
    __type(key, __u32);
    __type(value, __u32);
} egress SEC(".maps");

/* The egress ifindex, 0 for a frame that the kernel's stack has to see. */
static __always_inline __u32 route(struct xdp_md* ctx) {
    void* data = (void*)(long)ctx->data;
    void* end = (void*)(long)ctx->data_end;
    struct ethhdr* eth = data;
    struct bpf_fib_lookup fib = {};
    struct iphdr* ip4 = 0;
    struct ipv6hdr* ip6 = 0;
    if (data + sizeof(*eth) > end) return 0;
    if (eth->h_proto == bpf_htons(ETH_P_IP)) {
        ip4 = (void*)(eth + 1);
        if ((void*)(ip4 + 1) > end || ip4->ttl <= 1) return 0;
        fib.family = PB_AF_INET;
        fib.tos = ip4->tos;
        fib.l4_protocol = ip4->protocol;
        fib.tot_len = bpf_ntohs(ip4->tot_len);
        fib.ipv4_src = ip4->saddr;
        fib.ipv4_dst = ip4->daddr;
    } else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
        ip6 = (void*)(eth + 1);
        if ((void*)(ip6 + 1) > end || ip6->hop_limit <= 1) return 0;
        fib.family = PB_AF_INET6;
        fib.flowinfo = *(__be32*)ip6 & bpf_htonl(0x0fffffff);
        fib.l4_protocol = ip6->nexthdr;
        fib.tot_len = bpf_ntohs(ip6->payload_len);
        __builtin_memcpy(fib.ipv6_src, &ip6->saddr, 16);
        __builtin_memcpy(fib.ipv6_dst, &ip6->daddr, 16);
    } else {
        return 0;
    }
    fib.ifindex = ctx->ingress_ifindex;
    if (bpf_fib_lookup(ctx, &fib, sizeof(fib), BPF_FIB_LOOKUP_DIRECT) != BPF_FIB_LKUP_RET_SUCCESS) return 0;
    if (ip4)
        decrease_ttl(ip4);
    else if (ip6)
        ip6->hop_limit--;
    __builtin_memcpy(eth->h_dest, fib.dmac, ETH_ALEN);
    __builtin_memcpy(eth->h_source, fib.smac, ETH_ALEN);
    return fib.ifindex;
}

SEC("xdp")
int forward(struct xdp_md* ctx) {
    const __u32 ifindex = route(ctx);
    return ifindex ? bpf_redirect_map(&egress, ifindex, 0) : XDP_PASS;
}

char license_name[] SEC("license") = "Dual BSD/GPL";
