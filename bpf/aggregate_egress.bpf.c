/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Results on their way to the workers: a copy for each worker of the group has been redirected to the device
 * that the worker is behind (aggregate.h), and is addressed here. Runs at a DEVMAP's entries, pinned by them.
 *
 * Copies for several workers behind one device cannot be told apart by what they were redirected to. So each
 * one takes the first worker there that has not been served; which copy goes to whom does not matter.
 *
 * Frames that are forwarded to these devices come through here, too (pp_sum_mark()), and leave as they are.
 */
#include "bpf/aggregate.h"

SEC("xdp.frags/devmap")
int aggregate_egress(struct xdp_md* ctx) {
    void* end = PP_END(ctx);
    struct pp_sum_frame* frame = PP_DATA(ctx);
    if ((void*)frame + PP_ETH_HEADER > end || !pp_sum_is_marked(frame)) return XDP_PASS;
    if ((void*)(frame + 1) > end || frame->header.magic != PA_MAGIC || frame->header.kind != PA_RESULT)
        return XDP_DROP;
    __u16 port = frame->source_port;
    const __u32* number = bpf_map_lookup_elem(&sum_ports, &port);
    if (!number) return XDP_DROP;
    const __u32 key = *number;
    struct pp_sum_group* group = bpf_map_lookup_elem(&sum_groups, &key);
    if (!group) return XDP_DROP;
    const __u32 at = group->first_slot + (frame->header.chunk & (group->slots - 1u));
    struct pp_sum_slot* slot = bpf_map_lookup_elem(&sum_slots, &at);
    if (!slot) return XDP_DROP;
    struct pp_sum_version* version =
        frame->header.chunk & group->slots ? &slot->version[1] : &slot->version[0];
    const __u32 device = ctx->egress_ifindex;
    for (__u32 i = 0; i < PA_MAX_WORKERS; i++) {
        if (i >= group->workers) break;
        const struct pp_sum_worker* worker = &group->worker[i];
        const __u64 bit = 1ull << i;
        if (worker->device != device || (version->served & bit)) continue;
        if (__sync_fetch_and_or(&version->served, bit) & bit) continue;
        __builtin_memcpy(frame->mac, worker->mac, 6);
        __builtin_memcpy(frame->router_mac, worker->router_mac, 6);
        frame->source = worker->router;
        frame->destination = worker->address;
        frame->destination_port = worker->udp_port;
        frame->header.worker = (__u8)i;
        frame->checksum = 0;
        const struct pp_field16* words = (void*)frame + PP_ETH_HEADER;
        __u64 sum = 0;
#pragma clang loop unroll(full)
        for (int k = 0; k < 10; k++)
            sum += words[k].value;
        frame->checksum = (__u16)~pp_checksum_fold(sum);
        const __u32 egress = worker->port;
        struct pp_port_counters* count = bpf_map_lookup_elem(&counters, &egress);
        if (count) {
            count->tx_packets++;
            count->tx_bytes += (__u32)(end - (void*)frame);
        }
        return XDP_PASS;
    }
    return XDP_DROP;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
