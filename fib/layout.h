/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The FIB image: one position-independent block of memory that holds everything a forwarding decision needs.
 *
 * Read by C++ (router/forward), by eBPF (bpf/) and by devices, in the same bytes; written by one writer
 * (fib/image.h) while they read. Indices, no pointers. Plain C: compiled for BPF and into C++.
 *
 * How readers stay right without locks: every change becomes visible by one aligned store of 1, 2, 4 or 8
 * bytes, and what the new value refers to was written before it. Memory is reused only after a grace period.
 *
 * All fields are in host byte order except MAC addresses and TPIDs/TCIs, which are as on the wire.
 * Index 0 of groups and adjacencies is invalid, so that zeroed memory forwards nothing.
 */
#ifndef PKTPIT_FIB_LAYOUT_H
#define PKTPIT_FIB_LAYOUT_H

#include <linux/types.h>

#define PP_FIB_MAGIC 0x46504b50u /* "PKPF" */
#define PP_FIB_LAYOUT_VERSION 5

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
    __u32 table_offset; /* struct pp_fib_table[table_count], by table id */
    __u32 table_count;
    __u32 node_offset; /* the nodes of all tables, root_count roots first */
    __u32 node_bytes;
    __u32 root_count;
    __u32 globals_offset;   /* struct pp_fib_globals */
    __u32 interface_offset; /* struct pp_fib_interface[PP_FIB_INTERFACES], by L3 interface */
    __u32 reserved;         /* 0: no byte is without a value, so that two can be compared as bytes */
};

/* What belongs to no table. */
#define PP_FIB_SOURCE_BITS 32768u
struct pp_fib_globals {
    /* Where the flow hash begins: an instance's own number, so that routers in a row do not choose alike. */
    __u64 hash_seed;
    /* Not 0: some prefix has an adjacency of kind PP_ADJ_KERNEL, so that port stages that hold a part of the
     * table look whether a packet's has. */
    __u64 kernel_routes;
    __u64 reserved[6];
    /* Addresses that may be the source of nothing that is forwarded: the router's own, and broadcast
     * addresses of its nets. One bit for each value of their hash (fib/lookup.h): where it is 0 a source is
     * none of them, where it is 1 the packet's own table says whether it is. Two instructions' worth of
     * memory in place of a second longest-prefix match for every packet. */
    __u32 sources[PP_FIB_SOURCE_BITS / 32];
};

/* A routing table (VRF): where the longest-prefix match of either family begins. An empty table takes no more
 * than this. Both entries change by one store. */
struct pp_fib_table {
    __u32 entry4;
    __u32 entry6;
};
#define PP_FIB_DEFAULT_TABLE 0

/* Which tables are asked for what comes in by an L3 interface: those of its VRF. All zeroes: the default one.
 * Both change by one store. */
#define PP_FIB_INTERFACES 65536u
struct pp_fib_interface {
    __u16 table;      /* with all routes */
    __u16 host_table; /* with the host's own addresses alone, for ports that decide about nothing else */
};

/* An entry: a group id (0: no route), or, with bit 31 set, a node that decides by the next address bits:
 * its kind, for the first three kinds the number of those 8 bits that do not matter (shift), and its place in
 * units of 16 bytes from node_offset. So a node whose longest prefix ends after 3 bits has 8 elements. */
#define PP_FIB_NODE 0x80000000u
#define PP_FIB_KIND(entry) ((entry) >> 28 & 7)
#define PP_FIB_SHIFT(entry) ((entry) >> 24 & 15)
#define PP_FIB_PLACE_MASK 0xffffffu
#define PP_FIB_PLACE_UNIT 16

enum pp_fib_kind {
    PP_FIB_IDS1 = 0,    /* group ids of 1 byte, by the next 8 bits >> shift */
    PP_FIB_IDS2 = 1,    /* group ids of 2 bytes */
    PP_FIB_ENTRIES = 2, /* entries of 4 bytes: larger ids, and nodes below (then shift is 0) */
    PP_FIB_SORTED = 3,  /* struct pp_fib_sorted, by the next 16 bits */
    PP_FIB_ROOT = 4,    /* 65,536 entries, by the top 16 bits; only as a table's entry */
};

/* A sparse node, one cache line: the next 16 bits fall into the last interval whose first value is not above
 * them. first[0] is 0; what is unused repeats 0xffff and the last interval's id. */
#define PP_FIB_SORTED_INTERVALS 16
struct pp_fib_sorted {
    __u16 first[PP_FIB_SORTED_INTERVALS];
    __u16 id[PP_FIB_SORTED_INTERVALS];
};

#define PP_FIB_ROOT_ENTRIES 65536u
#define PP_FIB_ROOT_BYTES (PP_FIB_ROOT_ENTRIES * 4)
/* The first bytes of the nodes are 0, 1, ... 255: a vector lookup finds an id that is already decided where
 * it finds all others, by one load of one byte. */
#define PP_FIB_IDENTITY_BYTES 256u

/* A next-hop group: bucket_bits == 0: `first` is the adjacency itself; else buckets[first + top bits of
 * hash]. Changed by one 8-byte store. Group 0 is "no route". */
struct pp_fib_group {
    __u32 first;
    __u8 bucket_bits;
    __u8 reserved;
    __u16 counter; /* index of the counter of the route that uses the group, 0 = not counted */
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
    PP_ADJ_KERNEL, /* only the kernel can forward by the route: it has the packet, as it came */
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
#define PP_PORT_NO_REDIRECT 2u /* no XDP redirect reaches its device: what is for it goes another way */
#define PP_PORT_AWAITS_DHCP 4u /* an interface on it has no IPv4 address: the host may be asking for one */
struct pp_fib_port {
    __u8 mac[6];
    __u16 flags;
    __u32 ifindex;
    __u16 interface; /* L3 interface of untagged (and priority-tagged) frames, 0 = none */
    __u16 table;     /* of that interface, so that it costs plain frames no load */
};

/* VLAN interface: which L3 interface takes frames of these tags. interface == 0: free slot; probing goes on
 * past a slot whose interface is PP_VLAN_TOMBSTONE. Tags in host byte order: the VID, and PP_VLAN_SERVICE
 * where the TPID is 802.1ad's (0x88a8) and not 802.1Q's; inner 0 = single-tagged. */
#define PP_VLAN_VID 0x0fffu
#define PP_VLAN_SERVICE 0x8000u
#define PP_VLAN_TOMBSTONE 0xffffu
#define PP_VLAN_PROBES 16
struct pp_fib_vlan {
    __u16 port;
    __u16 outer;
    __u16 inner;
    __u16 interface;
};

#endif
