/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Ethernet and VLAN tags: whom the frame is for, which L3 interface it arrived on, where its IP header
 * starts. */
#ifndef PKTPIT_BPF_PARSE_L2_H
#define PKTPIT_BPF_PARSE_L2_H

#include "bpf/bpf_common.h"
#include "bpf/maps.h"

PP_INLINE int pp_is_vlan(__u16 ethertype) {
    return ethertype == PP_ETHERTYPE_VLAN || ethertype == PP_ETHERTYPE_QINQ;
}

/* A tag as the image has it (struct pp_fib_vlan). */
PP_INLINE __u32 pp_tag(__u16 tpid, __u16 tci) {
    return (bpf_ntohs(tci) & PP_VLAN_VID) | (tpid == PP_ETHERTYPE_QINQ ? PP_VLAN_SERVICE : 0);
}

/* What the tags say: verdict (0: go on) << 48 | interface << 32 | EtherType << 16 | offset of the L3 header.
 * A tag of VID 0 carries a priority and names no VLAN (IEEE 802.1Q 9.6): it counts as absent, wherever it
 * stands. */
PP_RARE __u64 pp_parse_tags(struct xdp_md* ctx) {
    void* data = PP_DATA(ctx);
    void* end = PP_END(ctx);
    const struct pp_fib_geometry* shape = pp_geometry();
    const void* image = pp_image();
    if (!image) return (__u64)PP_DROP_BROKEN_FIB << 48;
    struct pp_field16* fields = data;
    if (data + PP_ETH_HEADER + PP_VLAN_TAG > end) return (__u64)PP_DROP_TRUNCATED << 48;
    __u32 outer = pp_tag(fields[6].value, fields[7].value);
    __u32 inner = 0;
    __u32 offset = PP_ETH_HEADER + PP_VLAN_TAG;
    __u16 ethertype = fields[8].value;
    if (pp_is_vlan(ethertype)) {
        if (data + PP_ETH_HEADER + 2 * PP_VLAN_TAG > end) return (__u64)PP_DROP_TRUNCATED << 48;
        inner = pp_tag(ethertype, fields[9].value);
        if (!(inner & PP_VLAN_VID)) inner = 0;
        offset += PP_VLAN_TAG;
        ethertype = fields[10].value;
        if (pp_is_vlan(ethertype)) return (__u64)PP_DROP_VLAN_DEPTH << 48;
        if (!(outer & PP_VLAN_VID)) {
            outer = inner;
            inner = 0;
        }
    }
    __u32 interface = outer & PP_VLAN_VID ? pp_fib_vlan_interface(image, shape, port_id, outer, inner)
                                          : pp_fib_port_at(image, shape, port_id)->interface;
    return (__u64)(interface & 0xffff) << 32 | (__u64)ethertype << 16 | offset;
}

/* In the frame's first eight bytes: no station is a group (IEEE 802.3 3.2.3). */
#define PP_SOURCE_GROUP (1ull << 48)

/* Fills in the L3 side of the frame; PP_NONE: go on with the EtherType. */
PP_INLINE enum pp_verdict pp_parse_l2(struct pp_frame* f) {
    if (unlikely(f->data + PP_ETH_HEADER > f->end)) return PP_DROP_TRUNCATED;
    const struct pp_fib_port* own = pp_fib_port_at(f->image, f->geometry, port_id);
    const __u64 mac = PP_LOAD64(own);
    /* The destination, and the source's first two bytes. */
    __u64 destination = ((struct pp_field64*)f->data)->value;
    f->l2_group = destination & 1;
    if (unlikely(((destination ^ mac) & PP_MAC_MASK) | (destination & PP_SOURCE_GROUP))) {
        if (destination & PP_SOURCE_GROUP) return PP_DROP_SOURCE_MAC;
        if (!f->l2_group) return PP_HOST_OTHER_MAC;
    } else if (unlikely(((struct pp_field32*)f->data)[2].value == (__u32)(mac >> 16)) &&
               destination >> 48 == (mac & 0xffff)) {
        return PP_DROP_SOURCE_MAC;
    }

    f->ethertype = ((struct pp_field16*)f->data)[6].value;
    f->l3_offset = PP_ETH_HEADER;
    if (unlikely(pp_is_vlan(f->ethertype))) {
        __u64 parsed = pp_parse_tags(f->ctx);
        if (parsed >> 48) return (enum pp_verdict)(parsed >> 48);
        f->interface = (parsed >> 32) & 0xffff;
        f->ethertype = (__u16)(parsed >> 16);
        f->l3_offset = parsed & 0x1f;
    } else {
        f->interface = own->interface;
    }
    /* A port may have VLAN interfaces only; what arrives untagged on it is then as foreign as an unknown tag.
     */
    return unlikely(!f->interface) ? PP_HOST_UNKNOWN_VLAN : PP_NONE;
}

#endif
