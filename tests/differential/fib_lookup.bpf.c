/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The longest-prefix match of fib/lookup.h as eBPF executes it, for fib_lookup_test.cpp alone: the packet
 * holds addresses, and each one's group id is written over it. The port stage inlines the same functions.
 *
 * The packet, in host byte order but for IPv6 addresses: family (4 or 6), table id, 2 words of padding, then
 * FIB_LOOKUPS4 times an IPv4 address of 4 bytes or FIB_LOOKUPS6 times an IPv6 address of 16. */
/* The helpers' header needs the types before it. */
/* clang-format off */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "tests/differential/fib_lookup.h"

#include "fib/lookup.h"

/* Set by user space before loading. */
const volatile struct pp_fib_geometry geometry;

/* The value's size becomes the image's: bpf/maps.h says why it has no type. */
struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, 4096);
} fib_image SEC(".maps");

static __always_inline const void* image(void) {
    __u32 zero = 0;
    return bpf_map_lookup_elem(&fib_image, &zero);
}

/* The constants are not known when this is compiled: the compiler must read them, not fold them. */
static __always_inline const struct pp_fib_geometry* constants(void) {
    const struct pp_fib_geometry* g = (const struct pp_fib_geometry*)&geometry;
    PP_BARRIER(g);
    return g;
}

/* Global functions: the verifier walks each once and not once for each address. */
__attribute__((noinline)) int lookup4(__u32 table, __u32 address) {
    const void* fib = image();
    return fib ? (int)pp_fib_lookup4_in(fib, constants(), table, address) : 0;
}

__attribute__((noinline)) int lookup6(struct xdp_md* ctx, __u32 index) {
    struct pp_fib_lookups* lookups = (void*)(long)ctx->data;
    const void* fib = image();
    __u8* address = lookups->addresses6[index & (FIB_LOOKUPS6 - 1)];
    /* Bounds are known of this very pointer only: no other way to it must be left to the compiler. */
    PP_BARRIER(address);
    if (!fib || (void*)(lookups + 1) > (void*)(long)ctx->data_end ||
        (void*)(address + 16) > (void*)(long)ctx->data_end)
        return -1;
    __u32 group = pp_fib_lookup6_in(fib, constants(), lookups->table, address);
    *(__u32*)address = group;
    return 0;
}

SEC("xdp")
int fib_lookup(struct xdp_md* ctx) {
    struct pp_fib_lookups* lookups = (void*)(long)ctx->data;
    if ((void*)(lookups + 1) > (void*)(long)ctx->data_end || !image()) return XDP_ABORTED;
    if (lookups->family == 4) {
        for (__u32 i = 0; i < FIB_LOOKUPS4; i++)
            lookups->addresses4[i] = lookup4(lookups->table, lookups->addresses4[i]);
        return XDP_PASS;
    }
    for (__u32 i = 0; i < FIB_LOOKUPS6; i++)
        if (lookup6(ctx, i)) return XDP_ABORTED;
    return XDP_PASS;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
