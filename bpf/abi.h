/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the eBPF port stage and the daemon share beside the FIB image: map names, counters, punt records.
 * Plain C: compiled for BPF and into C++. */
#ifndef PKTPIT_BPF_ABI_H
#define PKTPIT_BPF_ABI_H

#include <linux/types.h>

#include "bpf/verdict.h"

/* Version of everything below. The daemon adopts pinned maps of the same version only. It changes with what
 * the pinned ones hold: the layout of counters and of their keys, the numbers of verdicts and of routes'
 * sources. */
#define PP_ABI_VERSION 3

/* Ports a daemon can drive. Port 0 is invalid, so that a zeroed entry never names a port. */
#define PP_MAX_PORTS 256

/* A header slice: what is looked at of a frame, never more. Everything the router reads or rewrites
 * lies in it; beyond it the flow hash does without ports. */
#define PP_SLICE_BYTES 128

/* Counters of routes, by the number that their next-hop group names; 0 is none. 256 KiB a CPU. */
#define PP_ROUTE_COUNTERS 16384

/* Names of maps, as in the object file and, behind the version, in the bpffs pin directory. */
#define PP_MAP_FIB_IMAGE "fib_image"           /* ARRAY, mmapable, one value: the FIB image (fib/layout.h) */
#define PP_MAP_COUNTERS "counters"             /* PERCPU_ARRAY: port -> struct pp_port_counters */
#define PP_MAP_ROUTE_COUNTERS "route_counters" /* PERCPU_ARRAY: pp_fib_group.counter -> pp_route_counters */
#define PP_MAP_COUNTED_ROUTES "counted_routes" /* HASH: struct pp_counted_route -> counter; not for eBPF */
#define PP_MAP_TX_PORTS "tx_ports"             /* DEVMAP: port -> ifindex */
#define PP_MAP_TX_DEVICES "tx_devices"         /* DEVMAP: the same, of all ports, for generic mode */
#define PP_MAP_PUNTS "punts"         /* ARRAY_OF_MAPS: CPU -> ring of struct pp_punt, then the frame */
#define PP_MAP_SPLIT "split_sockets" /* XSKMAP: port * PP_PORT_QUEUES + queue -> AF_XDP socket */
#define PP_MAP_OBSERVING "observing" /* ARRAY, one value: struct pp_observing */
#define PP_MAP_OBSERVED "observed"   /* PERCPU_ARRAY: port -> struct pp_observed */
#define PP_MAP_OBSERVATIONS \
    "observations"               /* ARRAY_OF_MAPS: CPU -> ring of struct pp_observation, then the frame */
#define PP_MAP_SAMPLES "samples" /* ARRAY, mmapable: CPU -> struct pp_samples, of auto ports */
#define PP_MAP_FILTER_IMAGE "filter_image"       /* ARRAY, mmapable, one value: bpf/filter_layout.h */
#define PP_MAP_FILTER_COUNTERS "filter_counters" /* PERCPU_ARRAY: counter -> struct pp_filter_counters */
#define PP_MAP_GUARD "guard"                     /* ARRAY, mmapable, one value: struct pp_guard */
#define PP_MAP_POLICE_SHARES "police_shares"     /* PERCPU_ARRAY: bucket -> __u64, taken and not spent */
#define PP_MAP_ORDER "order"                     /* ARRAY, mmapable, one value: struct pp_order */

/* In the offset of a table that a program is loaded with: what interfaces of VRFs bring is looked up in
 * theirs.
 */
#define PP_BY_INTERFACE 1u

/* Receive queues of a port that can have a socket. */
#define PP_PORT_QUEUES 16
/* Largest frame that goes to an AF_XDP socket: a 4 KiB chunk without the headroom in front. Longer ones are
 * the stage's to decide about. */
#define PP_SPLIT_BYTES 3584

#define PP_SOCKETS (PP_MAX_PORTS * PP_PORT_QUEUES)

/* Where a packet goes, as a number; IPv4 as IPv4-mapped IPv6 (RFC 4291 2.5.5.2). */
struct pp_destination {
    __u64 high, low;
};
#define PP_DESTINATION_IPV4 0xffff00000000ull

/* Destinations of packets that auto ports' stages have forwarded, one of some `every`, on one CPU. The eBPF
 * program writes all but `every`; user space reads what `taken` says is new. A torn one is a wrong sample and
 * no more. */
#define PP_SAMPLES 16384
struct pp_samples {
    __u64 packets; /* all, sampled or not */
    __u64 taken;
    __u32 left; /* packets until the next one */
    __u32 every;
    struct pp_destination cells[PP_SAMPLES];
};

/* What the stages of split and auto ports and their workers tell each other of each socket, so that packets
 * of a flow stay in order whoever decides about them, and so that a stage stands in for a worker that stands
 * still. The stage numbers what it hands to a socket, in pp_order_tag in front of the frame (XDP metadata).
 *
 * Standing in: frames wait in the socket, and `moves` has not changed for `heartbeat`. The stage then
 * declares void what it has handed over so far (`void_to`) and decides about the rest itself. A worker that
 * goes on drops what is void, and says with `settled` that its ring is empty of it: from then on the stage
 * hands over again. Both look at the other's word after they have changed their own, with a barrier between:
 * a worker that is just about to send is seen to move, or sees that it is late.
 *
 * Promotion of destinations, auto ports: the stage marks the destination, the worker says up to which number
 * frames have left (`done`). While `guarding` is set, a destination that has frames under way goes on to the
 * socket. */
#define PP_ORDER_MARKS 65536
#define PP_ORDER_LONG 4096
#define PP_ORDER_MAGIC 0x70707430u
struct pp_order_tag {
    __u32 magic;
    __u32 number;
};
struct pp_order_mark {
    __u32 socket; /* as in the map of sockets */
    __u32 number;
};
/* In front of a rewritten frame that the kernel's stack is to send (bpf/stack_redirect.bpf.c), since no XDP
 * redirect reaches the device that it leaves by. The magic is the layout's version, too: the program that
 * reads it is pinned, and goes on beside stages of later versions. */
#define PP_LEAVE_MAGIC 0x70706c31u
struct pp_leave_tag {
    __u32 magic;
    __u32 ifindex;
    __u32 tag_apart; /* the frame came with a VLAN tag beside it, which is not to leave */
};
#define PP_CACHE_LINE 64
#define PP_LINE __attribute__((aligned(PP_CACHE_LINE)))
/* Times are in jiffies. Numbers wrap. */
struct pp_socket_order {
    /* The stage's, with each frame. */
    __u64 since;      /* frames wait since then, and the worker has not moved */
    __u64 long_until; /* there may be destinations until then whose frames are not for the socket */
    __u32 sent;       /* number of the frame that was handed over last */
    __u32 seen;       /* `moves` at `since` */
    __u64 since_ns;   /* the same by the exact clock, from some frames later on; 0: not looked at yet */
    /* The stage's, when it takes over. */
    __u32 void_to PP_LINE; /* frames up to this one are void */
    __u32 standing;        /* the stage stands in */
    __u32 times;           /* that it has begun to */
    __u32 reserved;
    __u64 packets; /* it has met meanwhile */
    /* The worker's. */
    __u32 moves PP_LINE; /* it took frames, or is about to send some */
    __u32 answered;      /* the last frame taken */
    __u32 settled;       /* no frame up to this void_to is in its ring */
    __u32 done;          /* frames have left up to this one */
};
/* How a frame leaves by a port that tx_ports has not. */
enum pp_otherwise {
    PP_OTHERWISE_DAEMON,   /* it is punted */
    PP_OTHERWISE_STACK,    /* the ingress port's device has the program for pp_leave_tag */
    PP_OTHERWISE_REDIRECT, /* by tx_devices, since the ingress port is in generic mode */
};
struct pp_order {
    /* The daemon's. */
    __u32 guarding;
    __u32 heartbeat;    /* a worker that does not move for so long stands still; 0: it is waited for */
    __u32 hold;         /* packets are the kernel's once `beat` has not changed for so long */
    __u64 heartbeat_ns; /* `heartbeat` by the exact clock */
    __u32 beat PP_LINE;
    __u8 otherwise[PP_MAX_PORTS] PP_LINE; /* by ingress port: enum pp_otherwise */
    /* The stages'. */
    __u32 beat_seen PP_LINE;
    __u64 beat_since;
    struct pp_socket_order sockets[PP_SOCKETS];
    struct pp_order_mark marks[PP_ORDER_MARKS]; /* by a hash of the destination; the last one has it */
    __u64 long_until[PP_ORDER_LONG];            /* by another */
    /* By port: the daemon sets 1 now and then, so that it gets a copy of the next packet that leaves by the
     * port that it came in by; the stage that makes the copy sets 0. */
    __u8 copy_returning[PP_MAX_PORTS] PP_LINE;
};

/* Counters of one port on one CPU. Verdicts and rx count at the ingress port, tx at the egress port. */
struct pp_port_counters {
    __u64 rx_packets;
    __u64 rx_bytes; /* whole frames, without FCS */
    __u64 tx_packets;
    __u64 tx_bytes;
    __u64 verdict[PP_VERDICT_CAPACITY];
};

/* What a counted route has forwarded, on one CPU. */
struct pp_route_counters {
    __u64 packets;
    __u64 bytes; /* whole frames as they leave, without FCS */
};

/* Whose a counter is, so that a daemon that takes over goes on with it. */
struct pp_counted_route {
    __u8 family; /* 4 or 6 */
    __u8 length; /* of the prefix */
    __u8 source; /* number of the route's source */
    __u8 reserved;
    __u8 address[16];
    __u32 table; /* of its VRF, the kernel's number; 0: of the default VRF */
};

/* Precedes a punted frame in the ring. Host byte order. */
struct pp_punt {
    __u16 port; /* ingress port; with PP_FORWARDED the egress port: the frame is rewritten and only has to be
                   sent */
    __u8 verdict; /* enum pp_verdict */
    __u8 copy;    /* 1: of a packet that is forwarded, by the ingress port; it may have been rewritten */
    __u32 frame_length; /* whole frame, frags included */
};

/* What is observed, by how a packet ends. */
enum pp_point {
    PP_POINT_EGRESS = 1, /* leaves by a port */
    PP_POINT_DROP = 2,
    PP_POINT_OTHER = 4, /* to the host's stack, or to the daemon */
};

/* What a port's program, or a worker, is to write down of packets. May change while they run. */
struct pp_observing {
    __u32 threshold;           /* a packet is taken if a random number is not above it */
    __u32 snaplen;             /* bytes of a frame, at most PP_OBSERVED_BYTES */
    __u8 points[PP_MAX_PORTS]; /* by ingress port: enum pp_point, 0 for none */
};

/* Bytes of a frame in a record of a ring, at most (bpf/ring.h). */
#define PP_RECORD_BYTES 65000
#define PP_OBSERVED_BYTES PP_RECORD_BYTES

enum pp_observer { PP_OBSERVED_BY_STAGE = 1, PP_OBSERVED_BY_WORKER = 2 };

/* Precedes a frame as it was at its end: as it left, or as far as it was rewritten before it was dropped. The
 * frame as it came in is the slice followed by that frame's bytes behind it, which lie
 * end_length + trailer - frame_length bytes further on. Host byte order. */
struct pp_observation {
    __u64 start;        /* CLOCK_MONOTONIC, ns: taken from the port */
    __u64 decided;      /* a worker's: decision made; 0 else */
    __u64 end;          /* the port stage's end, or the doorbell */
    __u32 frame_length; /* as it came in */
    __u32 end_length;
    __u32 frame_bytes; /* of the frame at its end, behind this */
    __u16 port;        /* it came in by */
    __u16 egress_port; /* 0: none was found */
    __u16 slice_bytes;
    __u8 verdict;               /* enum pp_verdict */
    __u8 by;                    /* enum pp_observer */
    __u8 slice[PP_SLICE_BYTES]; /* its first bytes, as they came in */
    __u32 trailer;              /* bytes behind the packet that did not leave */
};

/* The packet of a port that a CPU is at: no program interrupts another on the same CPU. */
struct pp_observed {
    __u64 lost;   /* records that the ring had no room for */
    __u32 wanted; /* enum pp_point, 0: not this packet */
    __u32 written;
    struct pp_observation record;
};

#endif
