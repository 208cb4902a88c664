/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the port stage and the daemon share of aggregation (docs/aggregation.md): groups of workers, the slots
 * that sums are in, and what is counted. The maps are pinned: a stage goes on adding without the daemon.
 * Plain C: compiled for BPF and into C++.
 */
#ifndef PKTPIT_BPF_AGGREGATION_ABI_H
#define PKTPIT_BPF_AGGREGATION_ABI_H

#include <linux/types.h>

#include "allreduce/wire.h"

#define PP_MAP_SUM_GROUPS "sum_groups" /* ARRAY, mmapable: struct pp_sum_group */
#define PP_MAP_SUM_PORTS "sum_ports"   /* HASH: UDP port (network byte order) -> number of the group */
#define PP_MAP_SUM_SLOTS "sum_slots"   /* ARRAY, mmapable: struct pp_sum_slot, of all groups */
#define PP_MAP_SUM_EXITS "sum_exits"   /* ARRAY_OF_MAPS: group -> DEVMAP: worker -> device, egress program */

/* The layout of everything here; in the name of each pin. */
#define PP_SUM_LAYOUT 1

#define PP_SUM_GROUPS 16
/* Of all groups together: 12 MiB. */
#define PP_SUM_SLOTS 4096
#define PP_SUM_WORDS 184 /* of 8 bytes: PA_MAX_BYTES, and up to whole cache lines */

/* Why a packet for a group changes nothing. X(NAME, name shown to people, what it means) */
#define PP_SUM_DROPS(X)                                                                            \
    X(FORM, "form", "no IPv4 without options, a fragment, or no header of this protocol")          \
    X(SOURCE, "source", "no worker of the group has the source address")                           \
    X(KEY, "key", "another key than the group's")                                                  \
    X(LENGTH, "length", "the elements are not as many as said, or not as many as the others sent") \
    X(TYPE, "type", "elements of another type than the group's, or an unknown kind of message")    \
    X(EPOCH, "epoch", "of another epoch than the one that is open, or none is open")               \
    X(SLOT, "slot", "slot or version that the chunk's number does not lead to")                    \
    X(STALE, "stale", "a chunk that the slot has held before")                                     \
    X(AHEAD, "ahead", "a chunk whose slot is not free yet")                                        \
    X(BUSY, "busy", "another CPU held the slot for too long")

enum pp_sum_drop {
#define PP_SUM_DROP_ENUM(name, text, meaning) PP_SUM_##name,
    PP_SUM_DROPS(PP_SUM_DROP_ENUM)
#undef PP_SUM_DROP_ENUM
        PP_SUM_DROP_COUNT,
};

/* Addresses and UDP ports in network byte order. Written by the stage when the worker joins, but for
 * `address` and `device`. */
struct pp_sum_worker {
    __u32 address;     /* the daemon's: of the configuration */
    __u32 device;      /* the daemon's: ifindex that its results leave by; 0: it has not joined */
    __u64 incarnation; /* the daemon's: of its last join */
    __u32 router;      /* the address that it sends to */
    __u16 udp_port;
    __u16 port; /* Pktpit's id of the port that it is behind */
    __u8 mac[6];
    __u8 router_mac[6];
    __u32 ifindex; /* that it was heard on last */
    __u64 heard;   /* CLOCK_MONOTONIC, coarse, ns: its last message that was right */
    __u64 packets; /* of elements that were right, again or not */
    __u64 again;   /* of those that were there already: retransmissions, duplicates */
    __u64 last;    /* chunks that it was the last of */
};

struct pp_sum_group {
    /* The daemon's. */
    __u64 key;
    __u64 lanes; /* all bits but the highest of each element */
    __u64 all;   /* bitmap of its workers; 0: there is no such group */
    __u32 first_slot;
    __u16 slots; /* a power of two */
    __u16 elements;
    __u16 workers;
    __u16 udp_port; /* network byte order */
    __u16 epoch;
    __u8 running; /* the epoch is open */
    __u8 type;    /* enum pa_type */
    __u8 element_bytes;
    __u8 reserved[3];
    __u32 timeout_ms;
    char name[32];
    /* The stage's. */
    __u64 chunks;   /* that all have sent, since the group is there */
    __u64 answered; /* results sent again */
    __u64 drops[PP_SUM_DROP_COUNT];
    struct pp_sum_worker worker[PA_MAX_WORKERS];
};

/* One chunk on its way. */
struct pp_sum_version {
    __u64 seen;   /* bitmap of workers whose elements are in it; 0: empty */
    __u64 served; /* of those that its result has been sent to by the egress program */
    __u32 chunk;
    __u16 count;
    __s8 exponent;
    __u8 reserved[41];
    __u64 words[PP_SUM_WORDS];
};

struct pp_sum_slot {
    __u32 lock; /* by compare and swap: 0 is free */
    __u32 reserved[15];
    struct pp_sum_version version[2];
};

#endif
