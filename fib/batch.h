// SPDX-License-Identifier: BSD-3-Clause
/* Lookups of 64 addresses at once, in three variants; FibReader calls them. Each is a file of its own,
 * compiled for its own instructions, and therefore includes nothing that other files share inline code with.
 *
 * What makes them fast is not arithmetic but memory: an address takes two or more loads, each dependent on
 * the one before, from megabytes that no first-level cache holds. So each step is taken for all 64 addresses
 * before the next one, which keeps dozens of cache misses under way at the same time; and what is decided
 * early goes on loading something harmless, since a mispredicted branch costs more than many loads.
 * docs/fib.md has what else was tried. */
#ifndef PKTPIT_FIB_BATCH_H
#define PKTPIT_FIB_BATCH_H

#include <stddef.h>

#include "fib/lookup.h"

#define PP_BATCH 64

struct pp_batch {
    const void* image;
    const struct pp_fib_geometry* geometry;
    const unsigned char* nodes;
    __u32 entry; /* the table's, of the family */
};

/* Groups of any number of addresses. IPv4: host byte order; IPv6: 16 bytes each, as on the wire. */
typedef void pp_batch4(const struct pp_batch* batch, const __u32* addresses, __u32* groups, size_t count);
typedef void pp_batch6(const struct pp_batch* batch, const __u8* addresses, __u32* groups, size_t count);

#ifdef __cplusplus
extern "C" {
#endif
pp_batch4 pp_batch4_scalar, pp_batch4_avx2, pp_batch4_avx512;
pp_batch6 pp_batch6_scalar, pp_batch6_avx2, pp_batch6_avx512;
#ifdef __cplusplus
}
#endif

#endif
