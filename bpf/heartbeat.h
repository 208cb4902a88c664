/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Who does not move any more: the worker of a socket, for which the stage then stands in, and the daemon,
 * whose packets the kernel then gets if the configuration wants it so. struct pp_order says how. Included by
 * BPF code, and by its unit test. */
#ifndef PKTPIT_BPF_HEARTBEAT_H
#define PKTPIT_BPF_HEARTBEAT_H

#include "bpf/bpf_common.h"
#include "bpf/maps.h"

/* What others write, read anew each time. */
#define PP_LOAD32(pointer) (*(const volatile __u32*)(pointer))

/* Where the socket of this port and queue is in the map of sockets. */
PP_INLINE __u32 pp_socket_key(const struct xdp_md* ctx) {
    return port_id * PP_PORT_QUEUES + (ctx->rx_queue_index & (PP_PORT_QUEUES - 1));
}

/* The key is masked here, where the verifier sees it. */
PP_INLINE struct pp_socket_order* pp_order_of(struct pp_order* all, __u32 key) {
    PP_BARRIER(key);
    return &all->sockets[key & (PP_SOCKETS - 1)];
}

/* Does the stage stand in for the socket's worker? Until the ring has nothing void in it any more. */
PP_INLINE int pp_stands_in(struct pp_socket_order* socket) {
    if (likely(!PP_LOAD32(&socket->standing))) return 0;
    if (PP_LOAD32(&socket->settled) == socket->void_to) {
        socket->standing = 0;
        return 0;
    }
    socket->packets++;
    return 1;
}

/* Jiffies are counted by one CPU for all, which may be a tick or two late; the exact clock costs more than to
 * be read for each frame, and is for every one of so many: what a busy queue loses is told to within them. */
#define PP_EXACT_EVERY 8

/* Has the worker not moved for long enough, by the exact clock? */
PP_INLINE int pp_stands_exactly(const struct pp_order* all, struct pp_socket_order* socket) {
    if (socket->sent & (PP_EXACT_EVERY - 1)) return 0;
    __u64 now = bpf_ktime_get_ns();
    if (socket->since_ns) return now - socket->since_ns >= *(const volatile __u64*)&all->heartbeat_ns;
    socket->since_ns = now;
    return 0;
}

/* Before a frame is handed over: has the worker moved since others wait? Begins to stand in if it has not. */
PP_INLINE int pp_worker_stands(const struct pp_order* all, struct pp_socket_order* socket, __u64 now) {
    __u32 moves = PP_LOAD32(&socket->moves);
    __u32 patience = PP_LOAD32(&all->heartbeat);
    if (PP_LOAD32(&socket->answered) == socket->sent || moves != socket->seen) {
        socket->seen = moves;
        socket->since = now;
        socket->since_ns = 0;
        return 0;
    }
    if (unlikely(!patience)) return 0;
    if (likely(now - socket->since < patience && !pp_stands_exactly(all, socket))) return 0;
    /* A barrier, too: a worker that has not seen this is seen to move. */
    __sync_lock_test_and_set(&socket->void_to, socket->sent);
    if (PP_LOAD32(&socket->moves) != moves) {
        socket->since = now;
        socket->since_ns = 0;
        return 0;
    }
    socket->times++;
    socket->packets++;
    socket->standing = 1;
    return 1;
}

/* Is it the kernel that is to have the packets? A jiffy more or less is nothing here, so no CPU waits for
 * another. */
PP_INLINE int pp_daemon_lost(void) {
    if (!watch_daemon) return 0;
    struct pp_order* all = pp_order_of_sockets();
    if (!all) return 0;
    __u32 hold = PP_LOAD32(&all->hold);
    __u32 beat = PP_LOAD32(&all->beat);
    __u64 now = bpf_jiffies64();
    if (unlikely(beat != all->beat_seen)) {
        all->beat_since = now;
        all->beat_seen = beat;
        return 0;
    }
    return unlikely(hold && now - *(const volatile __u64*)&all->beat_since >= hold);
}

#endif
