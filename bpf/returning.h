/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A packet that leaves by the interface that it came in by, on its way to a next hop that its sender could
 * reach itself. It is forwarded as any other. The daemon, which sends redirects (RFC 1812 5.2.7.2, RFC 4861
 * 8.2), gets a copy of a few: of one each time that it asks. Included by BPF code only. */
#ifndef PKTPIT_BPF_RETURNING_H
#define PKTPIT_BPF_RETURNING_H

#include "bpf/bpf_common.h"
#include "bpf/maps.h"
#include "bpf/ring.h"

/* Has the frame, whose IP header is at `place`, the VLANs that it leaves with? */
PP_INLINE int pp_has_tags(struct xdp_md* ctx, __u64 tags, __u32 place) {
    const __u16 vid = bpf_htons(0xfff);
    const __u32 l3_offset = place & 0xffff;
    void* data = PP_DATA(ctx);
    const struct pp_field16* fields = data;
    if (!(__u16)tags) return l3_offset == PP_ETH_HEADER;
    if (data + PP_ETH_HEADER + 2 * PP_VLAN_TAG > PP_END(ctx)) return 0;
    if ((fields[7].value ^ (__u16)(tags >> 32)) & vid) return 0;
    if (!(__u16)(tags >> 16)) return l3_offset == PP_ETH_HEADER + PP_VLAN_TAG;
    if ((fields[9].value ^ (__u16)(tags >> 48)) & vid) return 0;
    return l3_offset == PP_ETH_HEADER + 2 * PP_VLAN_TAG;
}

/* The frame has not been rewritten yet, but for its TTL and checksum. */
PP_RARE int pp_copy_returning(struct xdp_md* ctx, __u64 tags, __u32 place) {
    struct pp_order* all = pp_order_of_sockets();
    if (!all) return 0;
    volatile __u8* wanted = &all->copy_returning[port_id & (PP_MAX_PORTS - 1)];
    if (likely(!*wanted) || !pp_has_tags(ctx, tags, place)) return 0;
    *wanted = 0;
    struct pp_punt punt = {
        .port = (__u16)port_id,
        .verdict = PP_FORWARDED,
        .copy = 1,
        .frame_length = (__u32)bpf_xdp_get_buff_len(ctx),
    };
    void* ring = PP_RING_OF_CPU(&punts);
    if (ring) pp_write_record(ctx, ring, &punt, sizeof(punt), punt.frame_length, 0);
    return 0;
}

#endif
