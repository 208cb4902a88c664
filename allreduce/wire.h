/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What workers and the router say to each other: a header of 24 bytes in each UDP datagram, in little-endian
 * byte order, and behind it elements or a body (docs/aggregation.md). Included by the port stage, by the
 * daemon and by the workers' library; nothing here allocates or calls. Plain C: compiled for BPF and into
 * C++.
 */
#ifndef PKTPIT_ALLREDUCE_WIRE_H
#define PKTPIT_ALLREDUCE_WIRE_H

#include <linux/types.h>

/* The version of the protocol is part of it. */
#define PA_MAGIC 0x7031

enum pa_kind {
    PA_ADD = 1, /* a worker's elements of one chunk */
    PA_RESULT,  /* the router's: their sum */
    PA_JOIN,    /* struct pa_join: a worker is there, and has forgotten all that was before */
    PA_ALIVE,   /* a worker still is there; no body */
    PA_LEAVE,   /* a worker goes; no body */
    PA_STATE,   /* struct pa_state: the router's answer to these three, and its word when a worker is lost */
};

/* Elements. Two's complement, sums wrap. */
enum pa_type {
    PA_INT32 = 1,
    PA_BFP16 = 2, /* 16-bit mantissas with an exponent that the chunk's workers have agreed on before */
};

/* In pa_header.type: which of its slot's two versions the chunk is in. */
#define PA_VERSION_BIT 0x80

/* A frame of 1,514 bytes holds no more behind Ethernet, IPv4, UDP and this header. */
#define PA_MAX_BYTES 1448
#define PA_MAX_WORKERS 64

struct pa_header {
    __u16 magic;
    __u8 kind;
    __u8 type;   /* enum pa_type, PA_VERSION_BIT */
    __u32 chunk; /* number of the chunk since the epoch began */
    __u64 key;   /* the job's */
    __u16 epoch;
    __u16 slot;
    __u16 count; /* elements behind the header: a multiple of 8 bytes */
    __u8 worker;
    __s8 exponent; /* a worker's wish for the chunk that the slot's other version holds next; in a result the
                      largest of all */
};

struct pa_join {
    __u64 incarnation; /* drawn by the worker when it starts */
};

enum pa_phase {
    PA_FORMING = 1, /* workers are missing */
    PA_RUNNING = 2, /* the epoch of the header is open */
};

struct pa_state {
    __u64 incarnation; /* of the worker that is spoken to, as the router knows it; 0: it has not joined */
    __u64 joined;      /* bitmap of workers */
    __u64 lost;        /* bitmap of those that ended the last epoch */
    __u32 timeout_ms;  /* a worker that says nothing for so long is lost */
    __u16 workers;
    __u16 slots;
    __u16 elements; /* of a chunk at most */
    __u8 phase;     /* enum pa_phase */
    __u8 type;      /* enum pa_type */
    __u32 reserved;
};

#endif
