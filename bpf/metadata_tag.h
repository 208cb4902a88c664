/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* VLAN tags that a device keeps apart from the frame, in its metadata: the far end of a veth pair does when
 * it has VLAN devices or a bridge that filters VLANs, and so does a NIC that strips tags and cannot be told
 * not to. The frame alone would pass for untagged.
 *
 * Only the programs of port_stage_tags.bpf.c have these steps: they call a function of the driver
 * (Linux 6.8, where programs bound to the device may redirect). The tag goes where it belongs, in front of
 * the EtherType, before anything is decided; a frame for the host loses it again, since the kernel has it in
 * its metadata still. Included by BPF code only. */
#ifndef PKTPIT_BPF_METADATA_TAG_H
#define PKTPIT_BPF_METADATA_TAG_H

#include "bpf/bpf_common.h"

extern int bpf_xdp_metadata_rx_vlan_tag(const struct xdp_md* ctx, __be16* protocol, __u16* tci) __ksym;

enum pp_metadata_tag {
    PP_NO_METADATA_TAG,
    PP_METADATA_TAG_TAKEN,
    PP_METADATA_TAG_LOST, /* no room in front of the frame */
};

PP_RARE int pp_push_tag(struct xdp_md* ctx, __u32 protocol, __u32 tci) {
    if (bpf_xdp_adjust_head(ctx, -PP_VLAN_TAG)) return PP_METADATA_TAG_LOST;
    void* data = PP_DATA(ctx);
    void* end = PP_END(ctx);
    if (data + PP_ETH_HEADER + PP_VLAN_TAG > end) return PP_METADATA_TAG_LOST;
    struct pp_field32* words = data;
    struct pp_field16* fields = data;
    for (int i = 0; i < 3; i++)
        words[i].value = words[i + 1].value;
    fields[6].value = (__u16)protocol;
    fields[7].value = bpf_htons((__u16)tci);
    return PP_METADATA_TAG_TAKEN;
}

PP_RARE int pp_pop_tag(struct xdp_md* ctx) {
    void* data = PP_DATA(ctx);
    void* end = PP_END(ctx);
    if (data + PP_ETH_HEADER + PP_VLAN_TAG > end) return XDP_DROP;
    struct pp_field32* words = data;
    for (int i = 3; i > 0; i--)
        words[i].value = words[i - 1].value;
    return bpf_xdp_adjust_head(ctx, PP_VLAN_TAG) ? XDP_DROP : XDP_PASS;
}

/* Of a frame that the kernel gets: its own, or one that only leaves by its stack, which is then told. */
PP_RARE int pp_settle_tag(struct xdp_md* ctx) {
    void* data = PP_DATA(ctx);
    struct pp_leave_tag* leaves = (void*)(long)ctx->data_meta;
    if ((void*)(leaves + 1) > data || leaves->magic != PP_LEAVE_MAGIC) return pp_pop_tag(ctx);
    leaves->tag_apart = 1;
    return XDP_PASS;
}

/* Of type enum pp_metadata_tag. The verifier is not to know it, or it walks all that follows once for each:
 * no bit is in a number and in its complement, and it does not look for that. */
PP_INLINE int pp_take_metadata_tag(struct xdp_md* ctx) {
    __be16 protocol = 0;
    __u16 tci = 0;
    const int none = bpf_xdp_metadata_rx_vlan_tag(ctx, &protocol, &tci);
    __u32 number = tci;
    __u32 complement = ~number;
    PP_BARRIER(complement);
    int tag = (int)(number & complement);
    if (unlikely(!none)) tag |= pp_push_tag(ctx, protocol, tci);
    return tag;
}

#endif
