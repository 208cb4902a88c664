/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What guards interfaces and the host: reverse-path checks (uRPF, RFC 3704) by L3 interface, and token
 * buckets of interfaces and of what goes to the host. One block of memory, written by the daemon while port
 * stages and workers read: each entry changes by single stores, and none means anything for another. Plain C:
 * compiled for BPF and into C++. */
#ifndef PKTPIT_BPF_GUARD_LAYOUT_H
#define PKTPIT_BPF_GUARD_LAYOUT_H

#include <linux/types.h>

/* What a port's program is loaded with: which of these its packets can meet. */
#define PP_GUARD_RPF 1u
#define PP_GUARD_POLICE 2u
#define PP_GUARD_HOST 4u
#define PP_GUARD_GIVEN_CLOCK 8u /* of tests: pp_guard.clock says what time it is */

enum pp_rpf {
    PP_RPF_OFF = 0,
    PP_RPF_LOOSE,  /* there is a route to the source */
    PP_RPF_STRICT, /* it leads out of the interface that the packet came in by */
};

/* What goes to the host, by what it is of. Their buckets are the first ones, in packets. */
enum pp_host_class {
    PP_HOST_CLASS_ARP = 0, /* and IPv6 neighbour discovery, which is the same for IPv6 */
    PP_HOST_CLASS_ICMP,
    PP_HOST_CLASS_BGP,
    PP_HOST_CLASS_OTHER,
    PP_HOST_CLASSES,
};

/* A token bucket that all CPUs share, as a time: when it would be full again if nobody took any more. Who
 * takes moves that time on by what the units cost; it may be at most `depth` ahead. Times are in sixteenths
 * of a nanosecond of CLOCK_MONOTONIC: fine enough for bytes at 400 Gbit/s, and 64 bits last for 36 years.
 * Each CPU takes `share` units at once and spends them by itself, so that CPUs meet here seldom. */
#define PP_POLICE_TICKS 16u      /* a nanosecond */
#define PP_POLICE_COST_SHIFT 16u /* of `cost`, whose fraction has so many bits */
struct pp_bucket {
    __u64 full_at;
    __u64 cost;  /* of one unit: a byte of an interface's frames, a packet to the host; 0: no limit */
    __u64 depth; /* what can be taken at once when it is full */
    __u32 share;
    __u32 reserved0;
    __u64 reserved1[4]; /* a cache line each */
};

#define PP_BUCKETS 1024u /* of these the first PP_HOST_CLASSES are the host's */

struct pp_guard_interface {
    __u8 rpf; /* enum pp_rpf */
    __u8 reserved;
    __u16 bucket; /* 0: not policed */
};
#define PP_GUARD_INTERFACES 65536u

struct pp_guard {
    __u64 clock; /* PP_GUARD_GIVEN_CLOCK: nanoseconds */
    __u64 reserved[7];
    struct pp_bucket buckets[PP_BUCKETS];
    struct pp_guard_interface interfaces[PP_GUARD_INTERFACES]; /* by L3 interface */
};

#endif
