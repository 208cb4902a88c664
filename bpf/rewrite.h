/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The link layer of a frame that leaves: MAC addresses, VLAN tags removed and added as its adjacency says,
 * and no trailer. */
#ifndef PKTPIT_BPF_REWRITE_H
#define PKTPIT_BPF_REWRITE_H

#include "bpf/bpf_common.h"

/* Both MAC addresses, in two stores. */
PP_INLINE void pp_write_macs(void* data, __u64 next, __u64 own) {
    ((struct pp_field64*)data)->value = (next & PP_MAC_MASK) | own << 48;
    ((struct pp_field32*)(data + 8))->value = (__u32)(own >> 16);
}

/* Bytes that the frame gets longer by (negative: shorter), or PP_NO_HEADROOM. Moves the frame's start; every
 * packet pointer of the caller is void afterwards. */
#define PP_NO_HEADROOM 64
PP_RARE int pp_rewrite_tagged(struct xdp_md* ctx, __u64 next, __u64 own, __u64 tags, __u32 offset_and_type) {
    __u32 l3_offset = offset_and_type & 0x1f;
    __u16 ethertype = (__u16)(offset_and_type >> 16);
    __u16 outer = (__u16)tags;
    __u16 inner = (__u16)(tags >> 16);
    __u32 header = PP_ETH_HEADER + (outer ? PP_VLAN_TAG : 0) + (outer && inner ? PP_VLAN_TAG : 0);
    int longer = (int)header - (int)l3_offset;
    if (longer && bpf_xdp_adjust_head(ctx, -longer)) return PP_NO_HEADROOM;

    void* data = PP_DATA(ctx);
    void* end = PP_END(ctx);
    struct pp_field16* fields = data;
    if (data + PP_ETH_HEADER > end) return PP_NO_HEADROOM;
    pp_write_macs(data, next, own);
    if (!outer) {
        fields[6].value = ethertype;
        return longer;
    }
    if (data + PP_ETH_HEADER + PP_VLAN_TAG > end) return PP_NO_HEADROOM;
    fields[6].value = outer;
    fields[7].value = (__u16)(tags >> 32);
    if (!inner) {
        fields[8].value = ethertype;
        return longer;
    }
    if (data + PP_ETH_HEADER + 2 * PP_VLAN_TAG > end) return PP_NO_HEADROOM;
    fields[8].value = inner;
    fields[9].value = (__u16)(tags >> 48);
    fields[10].value = ethertype;
    return longer;
}

/* The least that an Ethernet frame carries behind its header and tags (IEEE 802.3 3.2.8). */
#define PP_ETH_MIN_PAYLOAD 46
/* The linear part of a frame in fragments is no shorter. */
#define PP_LONG_PACKET 2048

/* Is there more behind the packet than a short frame's padding? Such a trailer stays behind, or the frame
 * might be longer than its packet, whose length alone was held against the MTU. Where a long packet ends the
 * linear part may end as well, so that only the rare path sees what follows. */
PP_INLINE int pp_may_have_trailer(const struct pp_frame* f) {
    if (likely(f->length == f->packet_end)) return f->packet_end >= PP_LONG_PACKET;
    return f->length > f->l3_offset + PP_ETH_MIN_PAYLOAD;
}

/* Shortens the frame to `bytes`; how many it has lost. Every packet pointer of the caller is void
 * afterwards. */
PP_RARE __u32 pp_cut(struct xdp_md* ctx, __u32 bytes) {
    __u32 length = (__u32)bpf_xdp_get_buff_len(ctx);
    if (length <= bytes) return 0;
    __u32 trailer = length - bytes;
    return bpf_xdp_adjust_tail(ctx, -(int)trailer) ? 0 : trailer;
}

#endif
