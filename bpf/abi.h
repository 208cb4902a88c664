/* What the eBPF port stage and the daemon share beside the FIB image: map names, counters, punt records.
 * Plain C: compiled for BPF and into C++. */
#ifndef PKTPIT_BPF_ABI_H
#define PKTPIT_BPF_ABI_H

#include <linux/types.h>

#include "bpf/verdict.h"

/* Version of everything below. The daemon adopts pinned maps of the same version only. */
#define PP_ABI_VERSION 1

/* Ports a daemon can drive. Port 0 is invalid, so that a zeroed entry never names a port. */
#define PP_MAX_PORTS 256

/* A header slice: what is looked at of a frame, never more. Everything the router reads or rewrites
 * lies in it; beyond it the flow hash does without ports. */
#define PP_SLICE_BYTES 128

/* Counters of routes, by the number that their next-hop group names; 0 is none. 256 KiB a CPU. */
#define PP_ROUTE_COUNTERS 16384

/* Names of maps, as in the object file and in the bpffs pin directory. */
#define PP_MAP_FIB_IMAGE "fib_image"           /* ARRAY, mmapable, one value: the FIB image (fib/layout.h) */
#define PP_MAP_COUNTERS "counters"             /* PERCPU_ARRAY: port -> struct pp_port_counters */
#define PP_MAP_ROUTE_COUNTERS "route_counters" /* PERCPU_ARRAY: pp_fib_group.counter -> pp_route_counters */
#define PP_MAP_COUNTED_ROUTES "counted_routes" /* HASH: struct pp_counted_route -> counter; not for eBPF */
#define PP_MAP_TX_PORTS "tx_ports"             /* DEVMAP: port -> ifindex */
#define PP_MAP_PUNTS "punts"                   /* PERF_EVENT_ARRAY: struct pp_punt, then the frame */
#define PP_MAP_SPLIT "split_sockets"           /* XSKMAP: port * PP_PORT_QUEUES + queue -> AF_XDP socket */

/* Receive queues of a port that can have a socket. */
#define PP_PORT_QUEUES 16
/* Largest frame that an AF_XDP socket takes: a 4 KiB chunk without the headroom in front. Longer ones are
 * punted. */
#define PP_SPLIT_BYTES 3584

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
};

/* Precedes a punted frame in the perf ring. Host byte order. */
struct pp_punt {
    __u16 port;   /* ingress port */
    __u8 verdict; /* enum pp_verdict */
    __u8 reserved;
    __u32 frame_length; /* whole frame, frags included */
};

#endif
