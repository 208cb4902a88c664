// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* What the benchmark's generator, forwarders and sink agree on: the frame, and the counters.
 * Plain C: compiled for BPF and into C++.
 *
 * A frame is at least 64 bytes without FCS: Ethernet, IPv4 or IPv6, UDP. Its flow is its destination and its
 * UDP ports, which carry the flow's number; bytes 60 to 63 carry its sequence number within the flow (in IPv6
 * the first two of them are the UDP checksum, which no router looks at). Where latencies are counted, bytes
 * 48 to 55 tell when it left, in IPv6, which has no room there, the low half of the source address does. What
 * is behind byte 64 is a pattern.
 */
#ifndef PKTPIT_BENCH_TRAFFIC_H
#define PKTPIT_BENCH_TRAFFIC_H

#include <linux/types.h>

#define PB_FRAME_BYTES 64        /* the smallest frame, and what the generator writes anew of each */
#define PB_MOST_FRAME_BYTES 1514 /* what an MTU of 1500 lets through */
/* BPF_PROG_RUN lays its frames 48 bytes into a cache line. NICs start them at a line's begin, where a 64-byte
 * frame is one line and not two to fetch: the generator moves its frames up to there. */
#define PB_ALIGNMENT 16
#define PB_SEQUENCE_OFFSET 60
#define PB_TIMESTAMP_OFFSET(family) ((family) == 4 ? 48 : 30)
#define PB_TTL 64
#define PB_PORT_BASE \
    1024 /* UDP ports: source = low 15 bits of the flow, destination = the next 15, plus this */
#define PB_FLOW_BITS 15

/* As an Ethernet header begins. */
struct pb_macs {
    __u8 destination[6];
    __u8 source[6];
} __attribute__((aligned(4)));

/* What the generator writes. Addresses and MACs as on the wire. */
struct pb_plan {
    __u8 source[16]; /* IPv4 in the first 4 bytes */
    struct pb_macs macs;
    __u32 family;           /* 4 or 6 */
    __u32 destination_mask; /* number of destinations - 1 */
    __u32 frame_bytes;
    __u32 mix;        /* IMIX: frame_bytes is then the largest's */
    __u32 timestamps; /* frames tell when they left */
    __u32 flow_shift; /* log2 of that number: what is above it in the frame's number is the sequence */
};

/* Frames on their way at most, when the generator is not paced: fewer than a veth ring holds (256), so that
 * none is refused, and more than a router takes at a time (64), so that it never runs dry. Where the
 * generator's own core empties the router's ring after each of its batches, frames wait in the router's
 * sockets (1,024) instead: then more, or a router that takes large batches would wait for the generator. */
#define PB_WIDE_WINDOW 512
#define PB_WINDOW 192
#define PB_PUBLISH_EVERY 32
#define PB_CATCH_UP 64 /* frames in a row that a paced generator may be late with */

/* How far the sink has got, told to the generator. A cache line for each side. */
struct pb_progress {
    __u64 arrived; /* the sink's own */
    __u64 unused[15];
    __u64 published; /* `arrived`, at every PB_PUBLISH_EVERYth frame */
    __u64 unused2[15];
};

/* The generator's. Zeroed at every start; user space sets `paced` and what belongs to it.
 *
 * Paced: a slot of BPF_PROG_RUN that is not due yet is dropped at once, which spaces frames to the
 * microsecond without a system call a frame. Otherwise it sends as fast as frames arrive at the sink. */
struct pb_generator_state {
    __u64 sent;
    __u64 paced;
    __u64 next_due;     /* bpf_ktime_get_ns() << 10 */
    __u64 interval;     /* ns << 10 between frames */
    __u64 acknowledged; /* arrived or given up for lost */
    __u64 given_up;
    __u64 window;
    __u64 most;  /* frames; 0: no end. Paced alone */
    __u64 waits; /* slots in a row in which nothing arrived */
};

/* Bytes behind the headers, to be found unchanged by the sink. */
#define PB_PATTERN(offset) ((__u8)((offset)*167 + 13))

/* Latencies: 16 steps an octave of ns, so that a step is 6 % at most. Below 32 ns a bucket is a ns; above,
 * bucket = shift * 16 + (ns >> shift), the latter between 16 and 31. */
#define PB_LATENCY_STEPS 16
#define PB_LATENCY_BUCKETS (33 * PB_LATENCY_STEPS)

/* IMIX: of twelve frames seven are small, four middle, one large (64, 594 and 1518 bytes with FCS, but the
 * small one is of 64 without). */
#define PB_MIX_OF 12
#define PB_MIX_SMALL 7
#define PB_MIX_MIDDLE 11
#define PB_MIX_MIDDLE_BYTES 590

struct pb_destination {
    __u8 address[16];
};

/* What the sink expects of a frame. */
struct pb_expectation {
    struct pb_macs macs; /* from the router's egress port to the sink's */
    __u32 family;
    __u32 frame_bytes; /* 0: whatever its IP header says */
    __u32 ttl;         /* one less than sent, but behind a forwarder that is no router */
    __u32 timestamps;  /* latencies are counted */
    __u32 sample_mask; /* every (mask + 1)th frame is looked at in full */
};

struct pb_sink_counters {
    __u64 frames;  /* of the benchmark */
    __u64 other;   /* anything else that arrived */
    __u64 sampled; /* looked at in full */
    __u64 bad_length;
    __u64 bad_mac;
    __u64 bad_ttl;
    __u64 bad_checksum;
    __u64 bad_payload;
    /* sequence program only */
    __u64 late;    /* sequence number below one seen before in its flow: reordered or duplicated */
    __u64 skipped; /* sequence numbers jumped over when their flow went on: lost or still to come late */
};

#endif
