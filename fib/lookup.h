/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
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

/* One relaxed load each: entries change under the reader. */
PP_FIB_INLINE __u32 pp_fib_load32(const void* image, __u64 offset) {
    return PP_FIB_LOAD(__u32, (const char*)image + offset);
}
PP_FIB_INLINE __u32 pp_fib_load16(const void* image, __u64 offset) {
    return PP_FIB_LOAD(__u16, (const char*)image + offset);
}
PP_FIB_INLINE __u32 pp_fib_load8(const void* image, __u64 offset) {
    return PP_FIB_LOAD(__u8, (const char*)image + offset);
}

/* Where an entry's node begins, in bytes from node_offset. */
PP_FIB_INLINE __u64 pp_fib_place(__u32 entry) {
    return (__u64)(entry & PP_FIB_PLACE_MASK) * PP_FIB_PLACE_UNIT;
}

PP_FIB_INLINE __u32 pp_fib_root_entry(const void* image, const struct pp_fib_geometry* g, __u32 entry,
                                      __u32 top16) {
    __u64 offset = (pp_fib_place(entry) + (__u64)top16 * 4) & (g->node_bytes - 4);
    return pp_fib_load32(image, g->node_offset + offset);
}

/* One step through a node of ids or entries by the next 8 bits. */
PP_FIB_INLINE __u32 pp_fib_step(const void* image, const struct pp_fib_geometry* g, __u32 entry,
                                __u32 bits8) {
    __u64 place = pp_fib_place(entry);
    __u64 index = bits8 >> PP_FIB_SHIFT(entry);
    __u32 kind = PP_FIB_KIND(entry);
    if (kind == PP_FIB_IDS1)
        return pp_fib_load8(image, g->node_offset + ((place + index) & (g->node_bytes - 1)));
    if (kind == PP_FIB_IDS2)
        return pp_fib_load16(image, g->node_offset + ((place + index * 2) & (g->node_bytes - 2)));
    return pp_fib_load32(image, g->node_offset + ((place + index * 4) & (g->node_bytes - 4)));
}

/* The end of the way through a sparse node: the id for the next 16 bits. */
PP_FIB_INLINE __u32 pp_fib_sorted_id(const void* image, const struct pp_fib_geometry* g, __u32 entry,
                                     __u32 bits16) {
    __u64 place = pp_fib_place(entry);
    __u64 at = 0;
    for (__u32 step = PP_FIB_SORTED_INTERVALS / 2; step; step /= 2) {
        __u32 first =
            pp_fib_load16(image, g->node_offset + ((place + (at + step) * 2) & (g->node_bytes - 2)));
        if (first <= bits16) at += step;
    }
    at += PP_FIB_SORTED_INTERVALS;
    return pp_fib_load16(image, g->node_offset + ((place + at * 2) & (g->node_bytes - 2)));
}

/* Group id of the longest prefix that matches `address` (host byte order) from a table's entry on, 0 if none
 * does. */
PP_FIB_INLINE __u32 pp_fib_walk4(const void* image, const struct pp_fib_geometry* g, __u32 entry,
                                 __u32 address) {
    if (entry & PP_FIB_NODE && PP_FIB_KIND(entry) == PP_FIB_ROOT) {
        entry = pp_fib_root_entry(image, g, entry, address >> 16);
        address <<= 16;
    }
    for (int level = 0; level < 4; level++) {
        if (!(entry & PP_FIB_NODE)) return entry;
        entry = pp_fib_step(image, g, entry, address >> 24);
        address <<= 8;
    }
    return entry & PP_FIB_NODE ? 0 : entry;
}

/* One level of the IPv6 walk; true: `entry` is the answer. */
PP_FIB_INLINE int pp_fib_level6(const void* image, const struct pp_fib_geometry* g, __u32* entry,
                                const __u8* next) {
    if (!(*entry & PP_FIB_NODE)) return 1;
    if (PP_FIB_KIND(*entry) == PP_FIB_SORTED) {
        *entry = pp_fib_sorted_id(image, g, *entry, (__u32)next[0] << 8 | next[1]);
        return 1;
    }
    *entry = pp_fib_step(image, g, *entry, next[0]);
    return 0;
}

/* The same for IPv6; `address` is 16 bytes as on the wire. A sparse node reads 2 of them, so that it is never
 * the last level's. */
PP_FIB_INLINE __u32 pp_fib_walk6(const void* image, const struct pp_fib_geometry* g, __u32 entry,
                                 const __u8* address) {
    if (entry & PP_FIB_NODE && PP_FIB_KIND(entry) == PP_FIB_ROOT) {
        entry = pp_fib_root_entry(image, g, entry, (__u32)address[0] << 8 | address[1]);
    } else {
        if (pp_fib_level6(image, g, &entry, address)) return entry;
        if (pp_fib_level6(image, g, &entry, address + 1)) return entry;
    }
#ifdef __bpf__
#pragma unroll
#endif
    for (int level = 2; level < 15; level++)
        if (pp_fib_level6(image, g, &entry, address + level)) return entry;
    if (entry & PP_FIB_NODE) entry = pp_fib_step(image, g, entry, address[15]);
    return entry & PP_FIB_NODE ? 0 : entry;
}

PP_FIB_INLINE __u64 pp_fib_table_offset(const struct pp_fib_geometry* g, __u32 table) {
    return g->table_offset + (__u64)(table & (g->table_count - 1)) * sizeof(struct pp_fib_table);
}

/* The tables of an L3 interface as one word, so that what is taken from it belongs together. */
PP_FIB_INLINE __u32 pp_fib_interface_word(const void* image, const struct pp_fib_geometry* g,
                                          __u32 interface) {
    return pp_fib_load32(image, g->interface_offset + (__u64)(interface & (PP_FIB_INTERFACES - 1)) *
                                                          sizeof(struct pp_fib_interface));
}
#define PP_FIB_INTERFACE_TABLE(word) ((word)&0xffff)
#define PP_FIB_INTERFACE_HOST_TABLE(word) ((word) >> 16)

/* Group id of the longest match in a table: 0 if there is none. */
PP_FIB_INLINE __u32 pp_fib_lookup4_in(const void* image, const struct pp_fib_geometry* g, __u32 table,
                                      __u32 address) {
    return pp_fib_walk4(image, g, pp_fib_load32(image, pp_fib_table_offset(g, table)), address);
}
PP_FIB_INLINE __u32 pp_fib_lookup6_in(const void* image, const struct pp_fib_geometry* g, __u32 table,
                                      const __u8* address) {
    return pp_fib_walk6(image, g, pp_fib_load32(image, pp_fib_table_offset(g, table) + 4), address);
}

/* In the default table. */
PP_FIB_INLINE __u32 pp_fib_lookup4(const void* image, const struct pp_fib_geometry* g, __u32 address) {
    return pp_fib_lookup4_in(image, g, PP_FIB_DEFAULT_TABLE, address);
}
PP_FIB_INLINE __u32 pp_fib_lookup6(const void* image, const struct pp_fib_geometry* g, const __u8* address) {
    return pp_fib_lookup6_in(image, g, PP_FIB_DEFAULT_TABLE, address);
}

/* The group as one word, so that what is taken from it belongs together. */
PP_FIB_INLINE __u64 pp_fib_group_word(const void* image, const struct pp_fib_geometry* g, __u32 group) {
    __u64 index = group & (g->group_count - 1);
    return PP_FIB_LOAD(__u64, (const char*)image + g->group_offset + index * 8);
}
#define PP_FIB_GROUP_FIRST(word) ((__u32)(word))
#define PP_FIB_GROUP_BITS(word) ((__u32)((word) >> 32) & 0xff)
#define PP_FIB_GROUP_COUNTER(word) ((__u32)((word) >> 48))

/* The group's member for a flow: an adjacency, never out of range; adjacency 0 where the group is invalid.
 * `hash` is only looked at when the group has several buckets. */
PP_FIB_INLINE __u32 pp_fib_group_bits(const void* image, const struct pp_fib_geometry* g, __u32 group,
                                      __u32* first) {
    __u64 word = pp_fib_group_word(image, g, group);
    *first = PP_FIB_GROUP_FIRST(word);
    return PP_FIB_GROUP_BITS(word);
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

PP_FIB_INLINE __u64 pp_fib_hash_seed(const void* image, const struct pp_fib_geometry* g) {
    return PP_FIB_LOAD(__u64, (const char*)image + g->globals_offset);
}

/* Has some prefix an adjacency of kind PP_ADJ_KERNEL? */
PP_FIB_INLINE int pp_fib_has_kernel_routes(const void* image, const struct pp_fib_geometry* g) {
    const __u64 place = g->globals_offset + __builtin_offsetof(struct pp_fib_globals, kernel_routes);
    return PP_FIB_LOAD(__u64, (const char*)image + place) != 0;
}

/* Which bit of pp_fib_globals.sources an address has; IPv6 as two halves. All in host byte order. Of 32 bits
 * each, so that vectors of addresses have it, too (router/forward/plain_steps.h). */
PP_FIB_INLINE __u32 pp_fib_source_bit4(__u32 address) {
    return (address * 0x9e3779b1u) >> 17;
}
PP_FIB_INLINE __u32 pp_fib_source_bit6(__u64 high, __u64 low) {
    const __u32 front = (__u32)(high >> 32) ^ (__u32)high * 0x9e3779b1u;
    const __u32 back = (__u32)(low >> 32) ^ (__u32)low * 0x85ebca6bu;
    return ((front ^ back) * 0xc2b2ae35u) >> 17;
}

/* May the address be one that is the source of nothing? */
PP_FIB_INLINE int pp_fib_is_suspect(const void* image, const struct pp_fib_geometry* g, __u32 bit) {
    bit &= PP_FIB_SOURCE_BITS - 1;
    const __u64 sources = g->globals_offset + __builtin_offsetof(struct pp_fib_globals, sources);
    return (int)(pp_fib_load32(image, sources + (__u64)(bit >> 5) * 4) >> (bit & 31) & 1);
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
