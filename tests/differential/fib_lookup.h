// SPDX-License-Identifier: BSD-3-Clause
/* What the test program fib_lookup.bpf.c takes and leaves in its packet. */
#ifndef PKTPIT_TESTS_FIB_LOOKUP_H
#define PKTPIT_TESTS_FIB_LOOKUP_H

#include <linux/types.h>

#define FIB_LOOKUPS4 64
#define FIB_LOOKUPS6 32 /* a power of two: indices are masked */

struct pp_fib_lookups {
    __u32 family; /* 4 or 6 */
    __u32 table;
    __u32 padding[2];
    union {
        __u32 addresses4[FIB_LOOKUPS4];    /* host byte order; become group ids */
        __u8 addresses6[FIB_LOOKUPS6][16]; /* the first 4 bytes become the group id */
    };
};

#endif
