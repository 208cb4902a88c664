/* SPDX-License-Identifier: BSD-3-Clause */
/* Which frames of a run are plain by their headers (router/forward/plain.h says what plain is), for 1, 8 or
 * 16 frames at a time. Three variants of one arithmetic (plain_steps.h), each a file of its own, compiled for
 * its own instructions; all give the same answers, which tests/unit/forward and tests/fuzz/forward hold them
 * to. Nothing is written but the answers. Internal to router/forward, and plain C for the reason that
 * fib/batch.h has. */
#ifndef PKTPIT_FORWARD_PLAIN_CHECK_H
#define PKTPIT_FORWARD_PLAIN_CHECK_H

#include <linux/types.h>

#define PP_PLAIN_FRAMES 64 /* of a run, at most */
#define PP_PLAIN_LANES 16  /* of the widest variant: arrays are read and written in whole vectors */
#define PP_PLAIN_BYTES4 34 /* of a frame, Ethernet header and IPv4's; no more is read */
#define PP_PLAIN_BYTES6 54

/* Frames that came in by one port. Up to PP_PLAIN_LANES - 1 frames behind `count` are read, too, and what is
 * found out of them is written and means nothing. */
struct pp_plain_run {
    unsigned char* const* frames; /* PP_PLAIN_BYTES4 (or 6) readable bytes each, at any alignment */
    const __u32* lengths;         /* of the frames, whole, at least as many */
    __u64 verified;               /* bit i: the port has verified the IPv4 header checksum of frame i */
    __u64 own;                    /* the port's MAC address, in the low 48 bits, as it lies in memory */
    const __u32* sources;         /* pp_fib_globals.sources */
    __u32 count;                  /* 1 … PP_PLAIN_FRAMES */
    __u32* destinations;          /* out, for IPv4: in host byte order; 0 of what is not plain */
    __u32* changed; /* out: of plain frames, the 4 bytes from PP_PLAIN_CHANGED4 (or 6) on as they leave */
};

/* TTL, protocol, checksum; payload length, next header, hop limit. */
#define PP_PLAIN_CHANGED4 22
#define PP_PLAIN_CHANGED6 18

/* Bit i: frame i is plain. */
typedef __u64 pp_plain_check(const struct pp_plain_run* run);

#ifdef __cplusplus
extern "C" {
#endif
pp_plain_check pp_plain4_scalar, pp_plain4_avx2, pp_plain4_avx512;
pp_plain_check pp_plain6_scalar, pp_plain6_avx2, pp_plain6_avx512;
#ifdef __cplusplus
}
#endif

#endif
