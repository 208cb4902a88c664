/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The port stage's maps and the constants that it is loaded with. Included by BPF code only. */
#ifndef PKTPIT_BPF_MAPS_H
#define PKTPIT_BPF_MAPS_H

#include "bpf/bpf_common.h"
#include "bpf/filter_layout.h"
#include "bpf/guard_layout.h"

/* Set by user space before loading. */
const volatile struct pp_fib_geometry geometry;
const volatile __u32 port_id;
/* Where the table that is asked begins (struct pp_fib_table). With PP_BY_INTERFACE (abi.h), here and in
 * split_table_offset: there are VRFs, and for interfaces that are in one it is theirs. The verifier knows the
 * bit: a program without it has no instruction of VRFs. */
const volatile __u32 table_offset;
/* Of a split port: the table that is asked while the queue has a socket, where all else that has a route
 * goes. Without a socket, since its daemon has died, or with a worker that stands still, the port decides as
 * an inline one does. 0: an inline port. */
const volatile __u32 split_table_offset;
/* Of an auto port: the table of a split one, where split_table_offset is that with the busiest routes. 0: no
 * auto port. */
const volatile __u32 cold_table_offset;
/* Packets are the kernel's while the daemon stands still: pp_order.hold. */
const volatile __u32 watch_daemon;

/* Of the filter image. half_bytes 0: packets of this port meet no filter. */
const volatile struct pp_filter_shape filter_shape;

/* What packets of this port can meet beside filters: PP_GUARD_RPF and so on. */
const volatile __u32 guards;

/* The port's frames may lack TCP or UDP checksums (complete_checksum.h). Of native mode alone: in generic
 * mode the kernel goes on with what it knows of the frame. */
const volatile __u32 completes_checksums;

/* Sizes, not types: user space sets the size of the value to the image's before loading, which the kernel
 * would refuse for a map whose BTF type says another. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, 4096);
} fib_image SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, PP_MAX_PORTS);
    __type(key, __u32);
    __type(value, struct pp_port_counters);
} counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, PP_ROUTE_COUNTERS);
    __type(key, __u32);
    __type(value, struct pp_route_counters);
} route_counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, PP_MAX_PORTS);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, 8); /* struct bpf_devmap_val: where there is aggregation, with its egress program */
} tx_ports SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_DEVMAP);
    __uint(max_entries, PP_MAX_PORTS);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, 8);
} tx_devices SEC(".maps");

/* A ring buffer by CPU, which the daemon puts there while it reads: its size is the daemon's choice. User
 * space sets the number of entries to that of CPUs. */
struct pp_ring {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
};
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
    __uint(max_entries, 1);
    __type(key, __u32);
    __array(values, struct pp_ring);
} punts SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_XSKMAP);
    __uint(max_entries, PP_MAX_PORTS* PP_PORT_QUEUES);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(__u32));
} split_sockets SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1); /* the number of CPUs, once there is an auto port */
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct pp_samples));
} samples SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct pp_order));
} order SEC(".maps");

/* Sizes as the image's and the number of its rules are. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, 4096);
} filter_image SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct pp_filter_counters);
} filter_counters SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct pp_guard));
} guard SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, PP_BUCKETS);
    __type(key, __u32);
    __type(value, __u64);
} police_shares SEC(".maps");

PP_INLINE struct pp_order* pp_order_of_sockets(void) {
    __u32 zero = 0;
    return bpf_map_lookup_elem(&order, &zero);
}

/* Offset of the table with all routes for what comes in by the L3 interface. */
PP_INLINE __u32 pp_full_table(const void* image, const struct pp_fib_geometry* shape, __u32 interface) {
    __u32 table = table_offset;
    if (!(table & PP_BY_INTERFACE)) return table;
    __u32 own = PP_FIB_INTERFACE_TABLE(pp_fib_interface_word(image, shape, interface));
    return own ? (__u32)pp_fib_table_offset(shape, own) : table & ~PP_BY_INTERFACE;
}

/* The one to ask, where `table` has been chosen: table_offset or split_table_offset. */
PP_INLINE __u32 pp_table_of(const void* image, const struct pp_fib_geometry* shape, __u32 table,
                            __u32 interface) {
    __u32 word = pp_fib_interface_word(image, shape, interface);
    if (!word) return table & ~PP_BY_INTERFACE;
    __u32 own =
        table == split_table_offset ? PP_FIB_INTERFACE_HOST_TABLE(word) : PP_FIB_INTERFACE_TABLE(word);
    return (__u32)pp_fib_table_offset(shape, own);
}

PP_INLINE const void* pp_image(void) {
    __u32 zero = 0;
    return bpf_map_lookup_elem(&fib_image, &zero);
}

/* The constants are not known when this is compiled: the compiler must read them, not fold them. */
PP_INLINE const struct pp_fib_geometry* pp_geometry(void) {
    const struct pp_fib_geometry* constants = (const struct pp_fib_geometry*)&geometry;
    PP_BARRIER(constants);
    return constants;
}

#endif
