/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Taking from a token bucket (bpf/guard_layout.h). The same code in eBPF and in C++, for both take from the
 * same buckets. */
#ifndef PKTPIT_BPF_POLICE_H
#define PKTPIT_BPF_POLICE_H

#include "bpf/guard_layout.h"
#include "fib/lookup.h"

/* A CPU that loses so often to others drops the packet: no loop of a port stage is without an end. */
#define PP_POLICE_TRIES 8

/* Takes `units` for a packet whose CPU has `*own`, which is too few. `now` in nanoseconds. 1: it may pass. */
PP_FIB_INLINE int pp_police_take(struct pp_bucket* bucket, __u64* own, __u32 units, __u64 now) {
    const __u64 cost = PP_FIB_LOAD(__u64, &bucket->cost);
    const __u64 depth = PP_FIB_LOAD(__u64, &bucket->depth);
    const __u32 share = PP_FIB_LOAD(__u32, &bucket->share);
    const __u32 missing = units - (__u32)*own;
    const __u32 taken = missing > share ? missing : share;
    if (!cost) return 1;
    now *= PP_POLICE_TICKS;
    for (int tries = 0; tries < PP_POLICE_TRIES; tries++) {
        const __u64 full_at = PP_FIB_LOAD(__u64, &bucket->full_at);
        const __u64 begin = full_at > now ? full_at : now;
        const __u64 end = begin + (taken * cost >> PP_POLICE_COST_SHIFT);
        if (end - now > depth) return 0;
        if (__sync_val_compare_and_swap(&bucket->full_at, full_at, end) == full_at) {
            *own = *own + taken - units; /* in 64 bits: of what it had, too, so that `taken` may be less */
            return 1;
        }
    }
    return 0;
}

#endif
