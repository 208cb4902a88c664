/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The filter image: the filters of a configuration and which interfaces have them, in one
 * position-independent block that the port stage and router/forward read in the same bytes. Written by
 * router/filter. Plain C: compiled for BPF and into C++.
 *
 * Bit vectors (Lakshman and Stiliadis 1998), aggregated (Baboescu and Varghese 2001). Each of five fields of
 * a packet is looked up by itself, and leads to a class: all values that the same rules take. A class has a
 * row of one bit a rule. The first bit that is set in all five rows is the first rule that matches. Words of
 * 64 bits that are 0 are skipped by a second bit vector in front of the row, of one bit a word. So the work
 * is five lookups and a few ANDs, whatever the number of rules; 10,000 rules have 3 words of the second
 * vector.
 *
 * A block has two halves: readers are in the one that `current` names, and a new image is written into the
 * other and published by one store, all filters at once. Each half has nodes (fib/layout.h's, of which the
 * classes of addresses are the group ids) and data. */
#ifndef PKTPIT_BPF_FILTER_LAYOUT_H
#define PKTPIT_BPF_FILTER_LAYOUT_H

#include <linux/types.h>

#include "fib/layout.h"

/* Rules of one filter. 4 words of the second bit vector. */
#define PP_FILTER_RULES 16384u
#define PP_FILTER_AGGREGATES (PP_FILTER_RULES / 4096)

/* Where a half begins, and what lies where in it; powers of two, so that what is read from the image can be
 * masked instead of checked. half_bytes 0: there are no filters. */
#define PP_FILTER_FIRST 4096u
struct pp_filter_shape {
    struct pp_fib_geometry nodes; /* node_offset and node_bytes alone, from the half's begin */
    __u32 data_offset;            /* from the half's begin */
    __u32 data_bytes;
    __u32 half_bytes;
    __u32 counters; /* of rules; 0 is none */
};

/* The block's first bytes. */
struct pp_filter_block {
    __u64 current; /* 0 or 1 */
};

/* What follows lies in the data. All offsets are in bytes from its begin. */

/* At 0. */
struct pp_filter_head {
    __u32 interfaces; /* struct pp_filter_interface[interface_count], by L3 interface */
    __u32 interface_count;
    __u32 reserved[14];
};

/* What an L3 interface's packets pass. */
struct pp_filter_interface {
    __u32 in;  /* struct pp_filter, 0: none */
    __u32 out; /* the same, of what leaves */
    __u32 flags;
    __u32 reserved;
};

/* One family's rules of a filter. Rows of a class begin at rows[field] + class * row_bytes: `aggregates`
 * words, in front of `words` words of the rules' bits; a filter of at most 64 rules has no aggregates. */
enum pp_filter_field {
    PP_FILTER_SOURCE,
    PP_FILTER_DESTINATION,
    PP_FILTER_TRANSPORT,
    PP_FILTER_SOURCE_PORT,
    PP_FILTER_DESTINATION_PORT,
    PP_FILTER_FIELDS,
};
struct pp_filter_rules {
    __u32 words; /* 0: there are no rules, and nothing else is set but `unmatched` */
    __u32 aggregates;
    __u32 row_bytes;
    __u32 rules;       /* __u32 by rule: pp_filter_rule */
    __u32 source;      /* entry of fib/layout.h; class 0 is that of addresses in no rule's prefix */
    __u32 destination; /* the same */
    __u32 transport;   /* __u16 class [PP_FILTER_TRANSPORTS] */
    /* __u16 page [256] by the port's high byte, __u16 class [256] in each page; pages count from here. 0: all
     * ports are of class 1. Class 0 is that of packets that show no ports. */
    __u32 ports[2];
    __u32 rows[PP_FILTER_FIELDS];
    __u32 unmatched; /* pp_filter_rule of what no rule matches */
    __u32 reserved;
};

/* A filter: the rules for IPv4, then those for IPv6. */
struct pp_filter {
    struct pp_filter_rules family[2];
};

/* An action, and the counter above it. */
enum pp_filter_action {
    PP_FILTER_ACCEPT,
    PP_FILTER_DROP,
    PP_FILTER_TO_KERNEL,
};
#define PP_FILTER_ACTION(rule) ((rule)&0xff)
#define PP_FILTER_COUNTER(rule) ((rule) >> 8)

/* What a packet shows of its transport, as an index: the kind, and a byte of it. */
enum pp_filter_kind {
    PP_FILTER_OTHER,    /* the protocol's number; also of those below where the header is cut short */
    PP_FILTER_TCP,      /* the flags */
    PP_FILTER_ICMP,     /* the type; ICMP in IPv4 and ICMPv6 in IPv6 */
    PP_FILTER_FRAGMENT, /* the protocol's number, of a fragment other than the first: no ports, no type */
    PP_FILTER_KINDS,
};
#define PP_FILTER_TRANSPORTS (PP_FILTER_KINDS * 256u)

/* A packet as filters see it, beside its addresses. */
struct pp_filter_key {
    __u32 transport; /* kind * 256 + byte */
    __u32 has_ports;
    __u32 source_port;
    __u32 destination_port;
};

/* Of one rule. */
struct pp_filter_counters {
    __u64 packets;
    __u64 bytes; /* whole frames as they came in, without FCS */
};

#endif
