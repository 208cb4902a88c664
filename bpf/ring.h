/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Records for the daemon: a head and the frame behind it, in a BPF ring buffer of the CPU's own, so that CPUs
 * do not wait for each other and a flood on one leaves room on the others. Included by BPF code only.
 *
 * The kernel reserves what is a constant, so that a record has the next larger of a few sizes; its head says
 * how much of it counts, and what is behind is whatever lay there. */
#ifndef PKTPIT_BPF_RING_H
#define PKTPIT_BPF_RING_H

#include "bpf/bpf_common.h"

/* Null: nobody reads. */
#define PP_RING_OF_CPU(rings)                         \
    ({                                                \
        __u32 pp_cpu = bpf_get_smp_processor_id();    \
        (void*)bpf_map_lookup_elem((rings), &pp_cpu); \
    })

/* `bytes` of the frame, at least 1 and at most `room`, behind the head. 0: written. */
PP_INLINE int pp_write_sized(struct xdp_md* ctx, void* ring, const void* head, const __u32 head_bytes,
                             __u32 bytes, const __u32 room, __u64 flags) {
    __u8* record = bpf_ringbuf_reserve(ring, head_bytes + room, 0);
    if (!record) return -1;
    __builtin_memcpy(record, head, head_bytes);
    /* The verifier takes a size that it sees the bounds of. */
    __u32 last = bytes - 1;
    PP_BARRIER(last);
    if (last >= room || bpf_xdp_load_bytes(ctx, 0, record + head_bytes, last + 1)) {
        bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);
        return -1;
    }
    bpf_ringbuf_submit(record, flags);
    return 0;
}

PP_INLINE int pp_write_record(struct xdp_md* ctx, void* ring, const void* head, const __u32 head_bytes,
                              __u32 bytes, __u64 flags) {
    if (bytes <= 128) return pp_write_sized(ctx, ring, head, head_bytes, bytes, 128, flags);
    if (bytes <= 1536) return pp_write_sized(ctx, ring, head, head_bytes, bytes, 1536, flags);
    if (bytes <= 9216) return pp_write_sized(ctx, ring, head, head_bytes, bytes, 9216, flags);
    return pp_write_sized(ctx, ring, head, head_bytes, bytes, PP_RECORD_BYTES, flags);
}

#endif
