/* Reading the FIB image: longest-prefix match, next-hop group, VLAN interface.
 *
 * Plain C, inlined into eBPF (bpf/) and C++ alike. `image` is the image's first byte; `g` its geometry. In
 * eBPF the geometry is constant data that the verifier knows, so that every masked index is provably in range
 * and no bounds check is left at run time. Nothing here is written; a reader needs no lock.
 */
#ifndef PKTPIT_FIB_LOOKUP_H
#define PKTPIT_FIB_LOOKUP_H

#include "fib/layout.h"

#ifdef __bpf__
/* Keeps clang from reasoning a mask away that the verifier needs to see. */
#define PP_BARRIER(var) asm volatile("" : "+r"(var))
/* clang compiles no __atomic_load_n for BPF; a volatile load of this size is one instruction there. */
#define PP_FIB_LOAD(type, place) (*(const volatile type*)(place))
#else
#define PP_BARRIER(var) ((void)0)
/* Relaxed is enough: each load's address depends on the value loaded before it. */
#define PP_FIB_LOAD(type, place) __atomic_load_n((const type*)(place), __ATOMIC_RELAXED)
#endif

#define PP_FIB_INLINE static inline __attribute__((always_inline))

/* One relaxed load: entries change under the reader. */
PP_FIB_INLINE __u32 pp_fib_load32(const void* image, __u64 offset) {
    return PP_FIB_LOAD(__u32, (const char*)image + offset);
}

PP_FIB_INLINE __u32 pp_fib_block_entry(const void* image, __u32 blocks_offset, __u32 block_count, __u32 entry,
                                       __u32 index) {
    __u64 block = entry & (block_count - 1);
    return pp_fib_load32(image, blocks_offset + (block * PP_FIB_BLOCK_ENTRIES + (index & 0xff)) * 4);
}

/* Group id of the longest prefix that matches `address` (host byte order), 0 if none does. */
PP_FIB_INLINE __u32 pp_fib_lookup4(const void* image, const struct pp_fib_geometry* g, __u32 address) {
    __u32 entry = pp_fib_load32(image, g->root4_offset + (__u64)(address >> 16) * 4);
    if (!(entry & PP_FIB_ENTRY_BLOCK)) return entry;
    entry = pp_fib_block_entry(image, g->block4_offset, g->block4_count, entry, address >> 8);
    if (!(entry & PP_FIB_ENTRY_BLOCK)) return entry;
    entry = pp_fib_block_entry(image, g->block4_offset, g->block4_count, entry, address);
    return entry & PP_FIB_ENTRY_BLOCK ? 0 : entry;
}

/* The same for IPv6; `address` is 16 bytes as on the wire. */
PP_FIB_INLINE __u32 pp_fib_lookup6(const void* image, const struct pp_fib_geometry* g, const __u8* address) {
    __u32 entry = pp_fib_load32(image, g->root6_offset + ((__u64)address[0] << 8 | address[1]) * 4);
    for (int level = 0; level < PP_FIB_LEVELS6; level++) {
        if (!(entry & PP_FIB_ENTRY_BLOCK)) return entry;
        entry = pp_fib_block_entry(image, g->block6_offset, g->block6_count, entry, address[2 + level]);
    }
    return entry & PP_FIB_ENTRY_BLOCK ? 0 : entry;
}

/* The group's member for a flow: an adjacency, never out of range; adjacency 0 where the group is invalid.
 * `hash` is only looked at when the group has several buckets. */
PP_FIB_INLINE __u32 pp_fib_group_bits(const void* image, const struct pp_fib_geometry* g, __u32 group,
                                      __u32* first) {
    __u64 index = group & (g->group_count - 1);
    __u64 both = PP_FIB_LOAD(__u64, (const char*)image + g->group_offset + index * 8);
    *first = (__u32)both;
    return (__u32)(both >> 32);
}

PP_FIB_INLINE __u32 pp_fib_bucket(const void* image, const struct pp_fib_geometry* g, __u32 first, __u32 bits,
                                  __u32 hash) {
    __u64 index = (__u64)first + (hash >> ((32 - bits) & 31));
    index &= g->bucket_count - 1;
    return pp_fib_load32(image, g->bucket_offset + index * 4);
}

PP_FIB_INLINE const struct pp_fib_adjacency* pp_fib_adjacency_at(const void* image,
                                                                 const struct pp_fib_geometry* g,
                                                                 __u32 adjacency) {
    __u64 index = adjacency & (g->adjacency_count - 1);
    return (const struct pp_fib_adjacency*)((const char*)image + g->adjacency_offset +
                                            index * sizeof(struct pp_fib_adjacency));
}

PP_FIB_INLINE const struct pp_fib_port* pp_fib_port_at(const void* image, const struct pp_fib_geometry* g,
                                                       __u32 port) {
    __u64 index = port & (g->port_count - 1);
    return (const struct pp_fib_port*)((const char*)image + g->port_offset +
                                       index * sizeof(struct pp_fib_port));
}

/* Where probing for (port, outer, inner) starts. Any spreading function does; writer and readers share it. */
PP_FIB_INLINE __u32 pp_fib_vlan_hash(__u32 port, __u32 outer, __u32 inner) {
    return (port * 0x9e3779b1u ^ outer * 0x85ebca6bu ^ inner * 0xc2b2ae35u) >> 7;
}

/* L3 interface of frames with these tags on this port, 0 if there is none. */
PP_FIB_INLINE __u32 pp_fib_vlan_interface(const void* image, const struct pp_fib_geometry* g, __u32 port,
                                          __u32 outer, __u32 inner) {
    __u32 start = pp_fib_vlan_hash(port, outer, inner);
    for (__u32 probe = 0; probe < PP_VLAN_PROBES; probe++) {
        __u64 index = (start + probe) & (g->vlan_count - 1);
        __u64 slot = PP_FIB_LOAD(__u64, (const char*)image + g->vlan_offset + index * 8);
        __u32 interface = (__u32)(slot >> 48);
        if (!interface) return 0;
        if ((__u16)slot == port && (__u16)(slot >> 16) == outer && (__u16)(slot >> 32) == inner &&
            interface != PP_VLAN_TOMBSTONE)
            return interface;
    }
    return 0;
}

#endif
