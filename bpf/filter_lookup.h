/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Reading the filter image: the first rule that matches a packet. Plain C, inlined into eBPF (bpf/) and C++
 * alike; the way is told in bpf/filter_layout.h. `half` is where the current half begins; `shape` is constant
 * data that the verifier knows, so that every masked offset is provably in range. Nothing is written. */
#ifndef PKTPIT_BPF_FILTER_LOOKUP_H
#define PKTPIT_BPF_FILTER_LOOKUP_H

#include "bpf/filter_layout.h"
#include "fib/lookup.h"

/* Which half is in force. Read once a packet: what was found in one half means nothing in the other. */
PP_FIB_INLINE __u32 pp_filter_current(const void* block) {
#ifdef __bpf__
    return (__u32)PP_FIB_LOAD(__u64, block) & 1;
#else
    return (__u32)__atomic_load_n((const __u64*)block, __ATOMIC_ACQUIRE) & 1;
#endif
}
PP_FIB_INLINE const void* pp_filter_half(const void* block, const struct pp_filter_shape* shape,
                                         __u32 current) {
    const __u64 mask = 0 - (__u64)(current & 1); /* no product: Linux 6.1 sees no bounds of a large one */
    return (const char*)block + PP_FILTER_FIRST + (mask & shape->half_bytes);
}

PP_FIB_INLINE __u32 pp_filter_load16(const void* half, const struct pp_filter_shape* shape, __u64 offset) {
    return PP_FIB_LOAD(__u16, (const char*)half + shape->data_offset + (offset & (shape->data_bytes - 2)));
}
PP_FIB_INLINE __u32 pp_filter_load32(const void* half, const struct pp_filter_shape* shape, __u64 offset) {
    return PP_FIB_LOAD(__u32, (const char*)half + shape->data_offset + (offset & (shape->data_bytes - 4)));
}
PP_FIB_INLINE __u64 pp_filter_load64(const void* half, const struct pp_filter_shape* shape, __u64 offset) {
    return PP_FIB_LOAD(__u64, (const char*)half + shape->data_offset + (offset & (shape->data_bytes - 8)));
}

#define PP_FILTER_RULES_FIELD(half, shape, rules, field) \
    pp_filter_load32(half, shape, (__u64)(rules) + __builtin_offsetof(struct pp_filter_rules, field))

/* Which filter the interface has, as the offset of its rules for the family: 0, it has none. */
PP_FIB_INLINE __u32 pp_filter_of(const void* half, const struct pp_filter_shape* shape, __u32 interface,
                                 int out, int ipv6) {
    if (interface >=
        pp_filter_load32(half, shape, __builtin_offsetof(struct pp_filter_head, interface_count)))
        return 0;
    __u64 at = (__u64)pp_filter_load32(half, shape, __builtin_offsetof(struct pp_filter_head, interfaces)) +
               (__u64)interface * sizeof(struct pp_filter_interface);
    __u32 filter =
        pp_filter_load32(half, shape, at + (out ? __builtin_offsetof(struct pp_filter_interface, out) : 0));
    return filter && ipv6 ? filter + (__u32)sizeof(struct pp_filter_rules) : filter;
}

/* The place of the lowest bit that is set; `bits` is not 0. eBPF has no instruction for it: a de Bruijn
 * sequence's top bits tell. */
PP_FIB_INLINE __u32 pp_filter_lowest(__u64 bits) {
#ifdef __bpf__
    static const __u8 places[64] = {0,  1,  48, 2,  57, 49, 28, 3,  61, 58, 50, 42, 38, 29, 17, 4,
                                    62, 55, 59, 36, 53, 51, 43, 22, 45, 39, 33, 30, 24, 18, 12, 5,
                                    63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21, 44, 32, 23, 11,
                                    46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,  13, 8,  7,  6};
    return places[((bits & -bits) * 0x03f79d71b4cb0a89ull) >> 58];
#else
    return (__u32)__builtin_ctzll(bits);
#endif
}

/* The class of a port. */
PP_FIB_INLINE __u32 pp_filter_port_class(const void* half, const struct pp_filter_shape* shape, __u32 pages,
                                         __u32 port) {
    if (!pages) return 1;
    __u32 page = pp_filter_load16(half, shape, (__u64)pages + (port >> 8) * 2);
    return pp_filter_load16(half, shape, (__u64)pages + 512 + (__u64)page * 512 + (port & 255) * 2);
}

/* Rows of the five classes of a packet, by offset. */
struct pp_filter_rows {
    __u64 at[PP_FILTER_FIELDS];
};

/* All but those of the addresses, which are only as far as their classes. */
PP_FIB_INLINE struct pp_filter_rows pp_filter_rows_of(const void* half, const struct pp_filter_shape* shape,
                                                      __u32 rules, __u32 source_class,
                                                      __u32 destination_class,
                                                      const struct pp_filter_key* key) {
    const __u64 row = PP_FILTER_RULES_FIELD(half, shape, rules, row_bytes);
    const __u32 table = PP_FILTER_RULES_FIELD(half, shape, rules, transport);
    const __u32 transport = pp_filter_load16(half, shape, (__u64)table + key->transport * 2);
    __u32 source_port = 0, destination_port = 0;
    if (key->has_ports) {
        source_port = pp_filter_port_class(half, shape, PP_FILTER_RULES_FIELD(half, shape, rules, ports[0]),
                                           key->source_port);
        destination_port = pp_filter_port_class(
            half, shape, PP_FILTER_RULES_FIELD(half, shape, rules, ports[1]), key->destination_port);
    }
    struct pp_filter_rows rows = {{
        PP_FILTER_RULES_FIELD(half, shape, rules, rows[PP_FILTER_SOURCE]) + source_class * row,
        PP_FILTER_RULES_FIELD(half, shape, rules, rows[PP_FILTER_DESTINATION]) + destination_class * row,
        PP_FILTER_RULES_FIELD(half, shape, rules, rows[PP_FILTER_TRANSPORT]) + transport * row,
        PP_FILTER_RULES_FIELD(half, shape, rules, rows[PP_FILTER_SOURCE_PORT]) + source_port * row,
        PP_FILTER_RULES_FIELD(half, shape, rules, rows[PP_FILTER_DESTINATION_PORT]) + destination_port * row,
    }};
    return rows;
}

/* The rules that all rows have among 64, `offset` bytes from the rows' begin. */
PP_FIB_INLINE __u64 pp_filter_and(const void* half, const struct pp_filter_shape* shape,
                                  const struct pp_filter_rows* rows, __u64 offset) {
    return pp_filter_load64(half, shape, rows->at[0] + offset) &
           pp_filter_load64(half, shape, rows->at[1] + offset) &
           pp_filter_load64(half, shape, rows->at[2] + offset) &
           pp_filter_load64(half, shape, rows->at[3] + offset) &
           pp_filter_load64(half, shape, rows->at[4] + offset);
}

/* The number of the first rule that all rows have. */
#define PP_FILTER_NO_RULE 0xffffffffu
PP_FIB_INLINE __u32 pp_filter_first(const void* half, const struct pp_filter_shape* shape,
                                    const struct pp_filter_rows* rows, __u32 aggregates) {
    if (!aggregates) {
        const __u64 match = pp_filter_and(half, shape, rows, 0);
        return match ? pp_filter_lowest(match) : PP_FILTER_NO_RULE;
    }
    for (__u32 at = 0; at < PP_FILTER_AGGREGATES; at++) {
        if (at >= aggregates) break;
        __u64 words = pp_filter_and(half, shape, rows, at * 8);
        for (int step = 0; step < 64; step++) {
            if (!words) break;
            const __u32 word = at * 64 + pp_filter_lowest(words);
            const __u64 match = pp_filter_and(half, shape, rows, (aggregates + word) * 8);
            if (match) return word * 64 + pp_filter_lowest(match);
            words &= words - 1;
        }
    }
    return PP_FILTER_NO_RULE;
}

/* What the rules (not 0) say of a packet whose addresses are of these classes: pp_filter_rule. */
PP_FIB_INLINE __u32 pp_filter_match(const void* half, const struct pp_filter_shape* shape, __u32 rules,
                                    __u32 source_class, __u32 destination_class,
                                    const struct pp_filter_key* key) {
    const struct pp_filter_rows rows =
        pp_filter_rows_of(half, shape, rules, source_class, destination_class, key);
    const __u32 first =
        pp_filter_first(half, shape, &rows, PP_FILTER_RULES_FIELD(half, shape, rules, aggregates));
    if (first == PP_FILTER_NO_RULE) return PP_FILTER_RULES_FIELD(half, shape, rules, unmatched);
    return pp_filter_load32(half, shape, PP_FILTER_RULES_FIELD(half, shape, rules, rules) + (__u64)first * 4);
}

/* The class of an address: IPv4 in host byte order, IPv6 as on the wire. */
PP_FIB_INLINE __u32 pp_filter_class4(const void* half, const struct pp_filter_shape* shape, __u32 entry,
                                     __u32 address) {
    return pp_fib_walk4(half, &shape->nodes, entry, address);
}
PP_FIB_INLINE __u32 pp_filter_class6(const void* half, const struct pp_filter_shape* shape, __u32 entry,
                                     const __u8* address) {
    return pp_fib_walk6(half, &shape->nodes, entry, address);
}

#endif
