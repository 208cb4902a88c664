/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The upper bound: no lookup at all. MACs, TTL and checksum are rewritten, and every IP packet leaves by the
 * same port through a devmap. What a router does beyond this is what its lookups and checks cost.
 */
#include "bench/bpf/rewrite.h"
#include "bench/bpf/traffic.h"

const volatile struct pb_macs macs = {};

struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u32);
} egress SEC(".maps");

SEC("xdp")
int redirect(struct xdp_md* ctx) {
    void* data = (void*)(long)ctx->data;
    void* end = (void*)(long)ctx->data_end;
    struct ethhdr* eth = data;
    if (data + sizeof(*eth) > end) return XDP_PASS;
    if (eth->h_proto == bpf_htons(ETH_P_IP)) {
        struct iphdr* ip = (void*)(eth + 1);
        if ((void*)(ip + 1) > end || ip->ttl <= 1) return XDP_PASS;
        decrease_ttl(ip);
    } else if (eth->h_proto == bpf_htons(ETH_P_IPV6)) {
        struct ipv6hdr* ip = (void*)(eth + 1);
        if ((void*)(ip + 1) > end || ip->hop_limit <= 1) return XDP_PASS;
        ip->hop_limit--;
    } else {
        return XDP_PASS;
    }
    copy_constant(eth, &macs, sizeof(macs));
    return bpf_redirect_map(&egress, 0, 0);
}

char license_name[] SEC("license") = "Dual BSD/GPL";
