/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reverse-path checks, rates of interfaces and rates to the host. Only programs of ports whose packets can
 * meet them have these steps: `guards`. Included by BPF code only; router/forward/rpf.cpp and
 * router/guard/policer.h are their twins in C++.
 *
 * The reverse path is asked for once it is known that a packet is to be forwarded or is for this host:
 * unicast alone. Rates come last, behind filters: what is dropped anyway takes nothing from a bucket. */
#ifndef PKTPIT_BPF_GUARD_H
#define PKTPIT_BPF_GUARD_H

#include "bpf/bpf_common.h"
#include "bpf/filter.h"
#include "bpf/guard_layout.h"
#include "bpf/maps.h"
#include "bpf/police.h"

PP_INLINE struct pp_guard* pp_guard_block(void) {
    __u32 zero = 0;
    return bpf_map_lookup_elem(&guard, &zero);
}

/* How the interface's sources are checked: enum pp_rpf. */
PP_INLINE __u32 pp_rpf_of(const struct pp_guard* block, __u32 interface) {
    return *(const volatile __u8*)&block->interfaces[interface & (PP_GUARD_INTERFACES - 1)].rpf;
}

/* Does the adjacency lead back to the source as `mode` wants it? */
PP_INLINE int pp_rpf_leads_back(const void* image, const struct pp_fib_geometry* shape, __u32 index,
                                __u32 mode, __u32 interface) {
    const struct pp_fib_adjacency* adjacency = pp_fib_adjacency_at(image, shape, index);
    const __u64 next = PP_LOAD64(&adjacency->next);
    const __u32 kind = (__u32)(next >> 48) & 0xff;
    if (kind == PP_ADJ_KERNEL) return mode == PP_RPF_LOOSE;
    if (kind != PP_ADJ_FORWARD && kind != PP_ADJ_INCOMPLETE && kind != PP_ADJ_GLEAN) return 0;
    return mode == PP_RPF_LOOSE || *(const volatile __u16*)&adjacency->interface == (interface & 0xffff);
}

/* One bucket of a group; 1 ends the walk. */
struct pp_rpf_walk {
    __u32 first;
    __u32 mode;
    __u32 interface;
    __u32 leads_back;
};
static long pp_rpf_member(__u32 member, void* data) {
    struct pp_rpf_walk* walk = data;
    const void* image = pp_image();
    const struct pp_fib_geometry* shape = pp_geometry();
    if (!image) return 1;
    const __u64 place = ((__u64)walk->first + member) & (shape->bucket_count - 1);
    const __u32 index = pp_fib_load32(image, shape->bucket_offset + place * 4);
    walk->leads_back = (__u32)pp_rpf_leads_back(image, shape, index, walk->mode, walk->interface);
    return walk->leads_back;
}

/* Is the packet's source one that cannot have come this way? `place`: where its IP header is, PP_PLACE_IPV6.
 * A packet to the host may come from no address yet (DHCP, duplicate address detection), or from one of its
 * link: 1 in `to_host`. */
PP_RARE __u32 pp_rpf_fails(struct xdp_md* ctx, __u32 place, __u32 interface, __u32 to_host) {
    void* end = PP_END(ctx);
    void* l3 = pp_l3(PP_DATA(ctx), place & 0xffff);
    const struct pp_guard* block = pp_guard_block();
    const void* image = pp_image();
    const struct pp_fib_geometry* shape = pp_geometry();
    if (!block || !image) return 0;
    const __u32 mode = pp_rpf_of(block, interface);
    if (!mode) return 0;
    const __u32 table = pp_full_table(image, shape, interface);
    __u32 group;
    if (place & PP_PLACE_IPV6) {
        if (l3 + 40 > end) return 0;
        const struct pp_field64* words = l3 + 8;
        const __u64 high = bpf_be64_to_cpu(words[0].value);
        if (to_host && (high >> 54 == 0xfe80 >> 6 || !(high | words[1].value))) return 0;
        group = pp_fib_walk6(image, shape, pp_fib_load32(image, table + 4), (__u8*)l3 + 8);
    } else {
        if (l3 + 20 > end) return 0;
        const __u32 source = bpf_ntohl(((struct pp_field32*)l3)[3].value);
        if (to_host && (source >> 16 == 0xa9fe || !source)) return 0;
        group = pp_fib_walk4(image, shape, pp_fib_load32(image, table), source);
    }
    const __u64 members = pp_fib_group_word(image, shape, group);
    const __u32 first = PP_FIB_GROUP_FIRST(members);
    const __u32 bits = PP_FIB_GROUP_BITS(members);
    if (!bits) return !pp_rpf_leads_back(image, shape, first, mode, interface);
    struct pp_rpf_walk walk = {.first = first, .mode = mode, .interface = interface};
    bpf_loop(1u << (bits & 15), pp_rpf_member, &walk, 0); /* of most_bucket_bits (fib/bucket_share.h) */
    return !walk.leads_back;
}

/* Of a packet that is to be forwarded, or is for the host. A split or auto port's stage that has no route for
 * it leaves the question to the worker, as all others. */
PP_INLINE int pp_fails_rpf(const struct pp_frame* f, __u32 kind, int to_host) {
    if (!(guards & PP_GUARD_RPF)) return 0;
    if (split_table_offset && kind == PP_ADJ_INVALID && f->table != table_offset &&
        !(f->interface & PP_ALL_ROUTES))
        return 0;
    const __u32 place = f->l3_offset | (f->ethertype == PP_ETHERTYPE_IPV6 ? PP_PLACE_IPV6 : 0);
    return unlikely(pp_rpf_fails(f->ctx, place, f->interface & 0xffff, to_host));
}

/* May a packet of so many units pass by the bucket? */
PP_RARE int pp_police_passes(__u32 bucket, __u32 units) {
    struct pp_guard* block = pp_guard_block();
    __u64* own = bpf_map_lookup_elem(&police_shares, &bucket);
    if (!block || !own) return 1;
    if (likely(*own >= units)) {
        *own -= units;
        return 1;
    }
    const __u64 now =
        guards & PP_GUARD_GIVEN_CLOCK ? *(const volatile __u64*)&block->clock : bpf_ktime_get_ns();
    return pp_police_take(&block->buckets[bucket & (PP_BUCKETS - 1)], own, units, now);
}

/* IPv6 neighbour discovery, without which there is no IPv6. A hop limit of 255 has met no router. */
PP_RARE int pp_shows_discovery(struct xdp_md* ctx, __u32 l3_offset) {
    __u8* ip = pp_l3(PP_DATA(ctx), l3_offset);
    return (void*)(ip + 41) <= PP_END(ctx) && ip[6] == 58 && ip[7] == 255 && ip[40] >= 133 && ip[40] <= 137;
}

/* Is the packet above the rate of the interface that it came in by? ARP and neighbour discovery never are. */
PP_INLINE int pp_exceeds_rate(const struct pp_frame* f) {
    if (!(guards & PP_GUARD_POLICE)) return 0;
    const struct pp_guard* block = pp_guard_block();
    if (!block) return 0;
    const __u32 bucket =
        *(const volatile __u16*)&block->interfaces[f->interface & (PP_GUARD_INTERFACES - 1)].bucket;
    if (!bucket || pp_police_passes(bucket, (__u32)bpf_xdp_get_buff_len(f->ctx))) return 0;
    return f->ethertype != PP_ETHERTYPE_IPV6 || !pp_shows_discovery(f->ctx, f->l3_offset);
}

/* Whose budget a packet to the host is of: enum pp_host_class. Extension headers are not walked. */
PP_RARE __u32 pp_host_class_of(struct xdp_md* ctx) {
    void* data = PP_DATA(ctx);
    void* end = PP_END(ctx);
    struct pp_field16* fields = data;
    if (data + PP_ETH_HEADER > end) return PP_HOST_CLASS_OTHER;
    __u16 ethertype = fields[6].value;
    __u32 l3_offset = PP_ETH_HEADER;
    for (int tag = 0; tag < 2; tag++) {
        if (ethertype != PP_ETHERTYPE_VLAN && ethertype != PP_ETHERTYPE_QINQ) break;
        l3_offset += PP_VLAN_TAG;
        if (data + PP_ETH_HEADER + (tag + 1) * PP_VLAN_TAG > end) return PP_HOST_CLASS_OTHER;
        ethertype = fields[6 + 2 * (tag + 1)].value;
    }
    if (ethertype == PP_ETHERTYPE_ARP) return PP_HOST_CLASS_ARP;
    __u8* ip = pp_l3(data, l3_offset);
    __u32 protocol;
    __u32 header;
    if (ethertype == PP_ETHERTYPE_IPV4) {
        if ((void*)(ip + 20) > end) return PP_HOST_CLASS_OTHER;
        if (((__u32)ip[6] << 8 | ip[7]) & 0x1fff) return PP_HOST_CLASS_OTHER;
        protocol = ip[9];
        if (protocol == 1) return PP_HOST_CLASS_ICMP;
        header = (ip[0] & 15u) * 4;
    } else if (ethertype == PP_ETHERTYPE_IPV6) {
        if ((void*)(ip + 40) > end) return PP_HOST_CLASS_OTHER;
        protocol = ip[6];
        if (protocol == 58)
            return pp_shows_discovery(ctx, l3_offset) ? PP_HOST_CLASS_ARP : PP_HOST_CLASS_ICMP;
        header = 40;
    } else {
        return PP_HOST_CLASS_OTHER;
    }
    if (protocol != 6) return PP_HOST_CLASS_OTHER;
    PP_BARRIER(header);
    __u8* ports = ip + (header & 63);
    PP_BARRIER(ports);
    if ((void*)(ports + 4) > end) return PP_HOST_CLASS_OTHER;
    const struct pp_field16* both = (const struct pp_field16*)ports;
    return both[0].value == bpf_htons(179) || both[1].value == bpf_htons(179) ? PP_HOST_CLASS_BGP
                                                                              : PP_HOST_CLASS_OTHER;
}

/* What becomes of a packet that is the host's by this verdict: the verdict, or that of its class. What the
 * kernel is to forward is not the host's. */
PP_INLINE __u32 pp_host_policed(struct xdp_md* ctx, __u32 verdict) {
    if (!(guards & PP_GUARD_HOST) || verdict == PP_HOST_DAEMON_LOST || verdict == PP_HOST_KERNEL_ROUTE ||
        verdict == PP_HOST_FILTER)
        return verdict;
    const int others = verdict == PP_HOST_OTHER_MAC || verdict == PP_HOST_UNKNOWN_VLAN;
    const __u32 class = others ? PP_HOST_CLASS_OTHER : pp_host_class_of(ctx);
    return pp_police_passes(class, 1) ? verdict : PP_DROP_HOST_ARP + (class & (PP_HOST_CLASSES - 1));
}

#endif
