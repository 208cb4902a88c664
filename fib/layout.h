/* The FIB image: one position-independent block of memory that holds everything a forwarding decision needs.
 *
 * Read by C++ (router/forward), by eBPF (bpf/) and by devices, in the same bytes; written by one writer
 * (fib/image.h) while they read. Indices, no pointers. Plain C: compiled for BPF and into C++.
 *
 * How readers stay right without locks: every change becomes visible by one aligned store of 2, 4 or 8 bytes,
 * and what the new value refers to was written before it. Memory is reused only after a grace period.
 *
 * All fields are in host byte order except MAC addresses and TPIDs/TCIs, which are as on the wire.
 * Index 0 of groups and adjacencies is invalid, so that zeroed memory forwards nothing.
 */
#ifndef PKTPIT_FIB_LAYOUT_H
#define PKTPIT_FIB_LAYOUT_H

#include <linux/types.h>

#define PP_FIB_MAGIC 0x46504b50u /* "PKPF" */
#define PP_FIB_LAYOUT_VERSION 1

/* Where the parts lie; stands at offset 0 of the image. Counts are powers of two, so that an index read from
 * the image can be masked instead of checked. Offsets are in bytes from the image's start, 64-byte aligned.
 */
struct pp_fib_geometry {
    __u32 magic;
    __u32 layout_version;
    __u64 image_bytes;
    __u32 port_offset; /* struct pp_fib_port[port_count], by port id */
    __u32 port_count;
    __u32 vlan_offset; /* struct pp_fib_vlan[vlan_count], open addressing */
    __u32 vlan_count;
    __u32 group_offset; /* struct pp_fib_group[group_count], by group id */
    __u32 group_count;
    __u32 bucket_offset; /* __u32 adjacency index [bucket_count] */
    __u32 bucket_count;
    __u32 adjacency_offset; /* struct pp_fib_adjacency[adjacency_count] */
    __u32 adjacency_count;
    __u32 root4_offset;  /* __u32 entry[65536], by the top 16 address bits */
    __u32 block4_offset; /* __u32 entry[256] per block */
    __u32 block4_count;
    __u32 root6_offset;  /* __u32 entry[65536], by the top 16 address bits */
    __u32 block6_offset; /* __u32 entry[256] per block */
    __u32 block6_count;
};

/* A table entry: a group id (0: no route), or with this bit set the index of a block of 256 entries that
 * decides by the next 8 address bits. */
#define PP_FIB_ENTRY_BLOCK 0x80000000u
#define PP_FIB_ROOT_ENTRIES 65536u
#define PP_FIB_BLOCK_ENTRIES 256u
#define PP_FIB_LEVELS4 2  /* blocks below the root: 16 + 8 + 8 */
#define PP_FIB_LEVELS6 14 /* 16 + 14 * 8 */

/* A next-hop group: bucket_bits == 0: `first` is the adjacency itself; else buckets[first + top bits of
 * hash]. Changed by one 8-byte store. Group 0 is "no route". */
struct pp_fib_group {
    __u32 first;
    __u32 bucket_bits;
};

enum pp_adjacency_kind {
    PP_ADJ_INVALID = 0,
    PP_ADJ_FORWARD,    /* complete: dst_mac is known */
    PP_ADJ_INCOMPLETE, /* next hop's MAC address not known yet */
    PP_ADJ_GLEAN,      /* the destination itself is on the link, no neighbour entry yet */
    PP_ADJ_HOST,       /* the router's own address */
    PP_ADJ_BROADCAST,  /* broadcast address of the net on `interface` */
    PP_ADJ_BLACKHOLE,
    PP_ADJ_UNREACHABLE,
    PP_ADJ_PROHIBIT,
};

/* What a packet needs to leave. Each 8-byte word changes by one store; a reader takes `next` once, so MAC
 * address and kind belong together. 32 bytes. */
struct pp_fib_adjacency {
    union {
        __u64 next;
        struct {
            __u8 dst_mac[6];
            __u8 kind; /* enum pp_adjacency_kind */
            __u8 reserved0;
        };
    };
    union {
        __u64 own;
        struct {
            __u8 src_mac[6];
            __u16 port; /* egress port */
        };
    };
    __u16 tpid[2]; /* VLAN tags to push, outermost first, network byte order; 0 = none */
    __u16 tci[2];
    __u32 mtu; /* largest IP packet, bytes */
    __u16 interface;
    __u16 reserved1;
};

/* An Ethernet port. Flags: */
#define PP_PORT_UP 1u
struct pp_fib_port {
    __u8 mac[6];
    __u16 flags;
    __u32 ifindex;
    __u16 interface; /* L3 interface of untagged (and priority-tagged) frames, 0 = none */
    __u16 reserved;
};

/* VLAN interface: which L3 interface takes frames of these tags. interface == 0: free slot; probing goes on
 * past a slot whose interface is PP_VLAN_TOMBSTONE. VIDs in host byte order; inner 0 = single-tagged. */
#define PP_VLAN_TOMBSTONE 0xffffu
#define PP_VLAN_PROBES 16
struct pp_fib_vlan {
    __u16 port;
    __u16 outer;
    __u16 inner;
    __u16 interface;
};

#endif
