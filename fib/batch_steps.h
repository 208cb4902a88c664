// SPDX-License-Identifier: BSD-3-Clause
/* The steps of batch lookups that all variants share; the compiler makes the most of each variant's
 * instructions. Included by fib/batch_*.c alone. */
#ifndef PKTPIT_FIB_BATCH_STEPS_H
#define PKTPIT_FIB_BATCH_STEPS_H

#include "fib/batch.h"

/* For the functions that the others are inlined into. They read more bytes than they use, and some by plain
 * or vector loads: a thread sanitizer takes the bytes that are thrown away for a race with the writer. */
#define PP_READS_WIDE __attribute__((no_sanitize("thread")))

PP_FIB_INLINE int pp_begins_with_root(__u32 entry) {
    return entry & PP_FIB_NODE && PP_FIB_KIND(entry) == PP_FIB_ROOT;
}

/* 4 bytes at any alignment: an id of 1 or 2 bytes with what follows it. Elements change by aligned stores,
 * and of the bytes read only the element's own are kept, so that no torn value is ever seen. */
PP_FIB_INLINE __u32 pp_load_wide(const unsigned char* nodes, __u32 offset) {
    typedef __u32 __attribute__((aligned(1), may_alias)) wide;
    return *(const volatile wide*)(nodes + offset);
}

/* Of what pp_load_wide() reads, the bits that are an element of this kind. */
PP_FIB_INLINE __u32 pp_element_mask(__u32 kind) {
    return 0xffffffffu >> ((32 - (8u << (kind & 3))) & 31);
}

/* The offset of the element that decides the next 8 bits, from the nodes' beginning. */
PP_FIB_INLINE __u32 pp_element_offset(__u32 entry, __u32 bits8) {
    return (entry & PP_FIB_PLACE_MASK) * PP_FIB_PLACE_UNIT +
           ((bits8 >> PP_FIB_SHIFT(entry)) << PP_FIB_KIND(entry));
}

/* The few that are left over, one after another. */
PP_FIB_INLINE void pp_rest4(const struct pp_batch* b, const __u32* addresses, __u32* groups, size_t count) {
    for (size_t i = 0; i < count; i++)
        groups[i] = pp_fib_walk4(b->image, b->geometry, b->entry, addresses[i]);
}

/* What the first two steps left undecided: `entries` after a root and one node. */
PP_FIB_INLINE void pp_third_step4(const struct pp_batch* b, const __u32* addresses, __u32* groups,
                                  size_t count) {
    for (size_t i = 0; i < count; i++) {
        __u32 entry = groups[i];
        if (!(entry & PP_FIB_NODE)) continue;
        __u32 value = pp_load_wide(b->nodes, pp_element_offset(entry, addresses[i] & 0xff));
        groups[i] = value & pp_element_mask(PP_FIB_KIND(entry));
    }
}

/* The same of the few addresses that are set in `lanes`. */
PP_FIB_INLINE void pp_third_step4_lanes(const struct pp_batch* b, const __u32* addresses, __u32* groups,
                                        __u64 lanes) {
    for (; lanes; lanes &= lanes - 1) {
        __u32 i = (__u32)__builtin_ctzll(lanes);
        __u32 entry = groups[i];
        __u32 value = pp_load_wide(b->nodes, pp_element_offset(entry, addresses[i] & 0xff));
        groups[i] = value & pp_element_mask(PP_FIB_KIND(entry));
    }
}

#ifdef __clang__
#define PP_UNROLL_16 _Pragma("clang loop unroll_count(16)")
#else
#define PP_UNROLL_16 _Pragma("GCC unroll 16")
#endif

/* The second step where all elements are of one byte. Three instructions a lookup: unrolled, since a loop's
 * own would double that. */
PP_FIB_INLINE void pp_bytes_at(const unsigned char* nodes, const __u32* offsets, __u32* groups) {
    PP_UNROLL_16
    for (size_t i = 0; i < PP_BATCH; i++)
        groups[i] = pp_fib_load8(nodes, offsets[i]);
}

/* A table that begins with a root: root, node, and for prefixes longer than 24 bits another node. The first
 * two for all addresses without a branch: what the root decides loads element 0 of the identity bytes. */
PP_FIB_INLINE void pp_any_root_batch4(const struct pp_batch* b, const __u32* addresses, __u32* groups) {
    const unsigned char* root = b->nodes + pp_fib_place(b->entry);
    __u32 offsets[PP_BATCH], masks[PP_BATCH], decided[PP_BATCH];
    for (size_t i = 0; i < PP_BATCH; i++) {
        __u32 entry = pp_fib_load32(root, (addresses[i] >> 16) * 4);
        __u32 node = (__u32)((__s32)entry >> 31);
        offsets[i] = pp_element_offset(entry, addresses[i] >> 8 & 0xff) & node;
        masks[i] = pp_element_mask(PP_FIB_KIND(entry)) & node;
        decided[i] = entry & ~node;
    }
    __u32 any = 0;
    for (size_t i = 0; i < PP_BATCH; i++) {
        __u32 value = (pp_load_wide(b->nodes, offsets[i]) & masks[i]) | decided[i];
        any |= value;
        groups[i] = value;
    }
    if (any & PP_FIB_NODE) pp_third_step4(b, addresses, groups, PP_BATCH);
}

/* The same where all ids met are of one byte and no prefix is longer than 24 bits; any other begins anew. */
PP_FIB_INLINE void pp_root_batch4(const struct pp_batch* b, const __u32* addresses, __u32* groups) {
    const unsigned char* root = b->nodes + pp_fib_place(b->entry);
    __u32 offsets[PP_BATCH];
    __u32 surplus = 0;
    for (size_t i = 0; i < PP_BATCH; i++) {
        __u32 entry = pp_fib_load32(root, (addresses[i] >> 16) * 4);
        __u32 node = (__u32)((__s32)entry >> 31);
        __u32 element = (entry & PP_FIB_PLACE_MASK) * PP_FIB_PLACE_UNIT +
                        ((addresses[i] >> 8 & 0xff) >> PP_FIB_SHIFT(entry));
        offsets[i] = (element & node) | (entry & ~node);
        /* Bits 28 to 30 of a node are its kind; an id of one byte has no bit beyond the low 8. */
        surplus |= entry & (0x7fffff00 ^ (node & 0x0fffff00));
    }
    if (__builtin_expect(surplus, 0)) return pp_any_root_batch4(b, addresses, groups);
    pp_bytes_at(b->nodes, offsets, groups);
}

/* The id of a sparse node for the next 16 bits. A variant may bring its own. */
#ifndef PP_SORTED_ID
PP_FIB_INLINE __u32 pp_sorted_id(const struct pp_fib_sorted* sorted, __u32 bits16) {
    __u32 at = 0;
    for (__u32 step = PP_FIB_SORTED_INTERVALS / 2; step; step /= 2)
        at += sorted->first[at + step] <= bits16 ? step : 0;
    return PP_FIB_LOAD(__u16, &sorted->id[at]);
}
#define PP_SORTED_ID pp_sorted_id
#endif

PP_FIB_INLINE const struct pp_fib_sorted* pp_sorted_at(const struct pp_batch* b, __u32 entry) {
    return (const struct pp_fib_sorted*)(b->nodes + pp_fib_place(entry));
}

PP_FIB_INLINE __u32 pp_bits16(const __u8* bytes) {
    return (__u32)bytes[0] << 8 | bytes[1];
}

/* How many leading bytes are the same in all of a batch's addresses: 0 to 8. */
PP_FIB_INLINE __u32 pp_common_bytes6(const __u8* addresses) {
    typedef __u64 __attribute__((aligned(1), may_alias)) half;
    __u64 first = *(const half*)addresses;
    /* Three tell nearly always that they have nothing in common. */
    if (pp_bits16(addresses) != pp_bits16(addresses + 16 * (PP_BATCH - 1)) ||
        pp_bits16(addresses) != pp_bits16(addresses + 16 * (PP_BATCH / 2)))
        return 0;
    __u64 different = 0;
    PP_UNROLL_16
    for (size_t i = 1; i < PP_BATCH; i++)
        different |= first ^ *(const half*)(addresses + 16 * i);
    if (!different) return 8;
    const int little_endian = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    return (__u32)(little_endian ? __builtin_ctzll(different) : __builtin_clzll(different)) / 8;
}

/* Packets of one flow, or to one site, come in bursts: what the leading bytes that all 64 have in common
 * decide is looked up once. False: it decides nothing. Of a table that begins with a root. */
PP_FIB_INLINE int pp_one_answer6(const struct pp_batch* b, const __u8* addresses, __u32* groups) {
    __u32 common = pp_common_bytes6(addresses);
    if (common < 2) return 0;
    __u32 entry = pp_fib_load32(b->nodes + pp_fib_place(b->entry), pp_bits16(addresses) * 4);
    for (__u32 level = 2; entry & PP_FIB_NODE; level++) {
        if (PP_FIB_KIND(entry) == PP_FIB_SORTED) {
            if (common < level + 2) return 0;
            entry = PP_SORTED_ID(pp_sorted_at(b, entry), pp_bits16(addresses + level));
            break;
        }
        if (common < level + 1) return 0;
        entry = pp_load_wide(b->nodes, pp_element_offset(entry, addresses[level])) &
                pp_element_mask(PP_FIB_KIND(entry));
    }
    for (size_t i = 0; i < PP_BATCH; i++)
        groups[i] = entry;
    return 1;
}

/* Addresses that are not decided yet, by the kind of node that is next: so no step branches on the kind. */
struct pp_lists {
    __u32 dense_count, sparse_count;
    __u8 dense[PP_BATCH], sparse[PP_BATCH];
};

PP_FIB_INLINE void pp_enlist(struct pp_lists* lists, __u32 entry, __u32 index) {
    __u32 node = entry >> 31;
    __u32 sparse = node & (PP_FIB_KIND(entry) == PP_FIB_SORTED);
    lists->dense[lists->dense_count] = (__u8)index;
    lists->sparse[lists->sparse_count] = (__u8)index;
    lists->dense_count += node & !sparse;
    lists->sparse_count += sparse;
}

/* At most PP_BATCH IPv6 addresses, level by level. What is undecided stands in `groups`. */
PP_FIB_INLINE void pp_levels6(const struct pp_batch* b, const __u8* addresses, __u32* groups, __u32 count) {
    struct pp_lists lists[2];
    struct pp_lists* now = &lists[0];
    struct pp_lists* next = &lists[1];
    now->dense_count = now->sparse_count = 0;
    int rooted = pp_begins_with_root(b->entry);
    const unsigned char* root = b->nodes + pp_fib_place(b->entry);
    for (__u32 i = 0; i < count; i++) {
        groups[i] = rooted ? pp_fib_load32(root, pp_bits16(addresses + 16 * i) * 4) : b->entry;
        pp_enlist(now, groups[i], i);
    }
    for (__u32 level = rooted ? 2 : 0; now->dense_count + now->sparse_count && level < 16; level++) {
        __u32 offsets[PP_BATCH];
        for (__u32 k = 0; k < now->sparse_count; k++)
            __builtin_prefetch(pp_sorted_at(b, groups[now->sparse[k]]));
        for (__u32 k = 0; k < now->dense_count; k++) {
            __u32 i = now->dense[k];
            offsets[k] = pp_element_offset(groups[i], addresses[16 * i + level]);
            __builtin_prefetch(b->nodes + offsets[k]);
        }
        for (__u32 k = 0; k < now->sparse_count; k++) {
            __u32 i = now->sparse[k];
            groups[i] = PP_SORTED_ID(pp_sorted_at(b, groups[i]), pp_bits16(addresses + 16 * i + level));
        }
        next->dense_count = next->sparse_count = 0;
        for (__u32 k = 0; k < now->dense_count; k++) {
            __u32 i = now->dense[k];
            groups[i] = pp_load_wide(b->nodes, offsets[k]) & pp_element_mask(PP_FIB_KIND(groups[i]));
            pp_enlist(next, groups[i], i);
        }
        struct pp_lists* swapped = now;
        now = next;
        next = swapped;
    }
}

PP_FIB_INLINE void pp_lists6(const struct pp_batch* b, const __u8* addresses, __u32* groups, size_t count) {
    for (size_t done = 0; done < count; done += PP_BATCH) {
        if (count - done >= PP_BATCH && pp_begins_with_root(b->entry) &&
            pp_one_answer6(b, addresses + 16 * done, groups + done))
            continue;
        pp_levels6(b, addresses + 16 * done, groups + done,
                   (__u32)(count - done < PP_BATCH ? count - done : PP_BATCH));
    }
}

#endif
