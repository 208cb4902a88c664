/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The Internet checksum (RFC 1071) and its incremental update (RFC 1624). Plain C: used by BPF and by tests.
 * Sums are over 16-bit words in whatever byte order memory has them: one's complement addition does not care.
 */
#ifndef PKTPIT_BPF_CHECKSUM_H
#define PKTPIT_BPF_CHECKSUM_H

#include <linux/types.h>

/* Folds a sum of 16- or 32-bit words to 16 bits, end-around carries included. A sum that is not 0 never folds
 * to 0. */
static inline __attribute__((always_inline)) __u32 pp_checksum_fold(__u64 sum) {
    sum = (sum >> 32) + (sum & 0xffffffff);
    sum = (sum >> 16) + (sum & 0xffff);
    sum = (sum >> 16) + (sum & 0xffff);
    return (__u32)((sum >> 16) + (sum & 0xffff));
}

/* IPv4 header checksum once TTL has gone down by one; both as they lie in the header.
 *
 * RFC 1624 eqn. 3, HC' = ~(~HC + ~m + m'), with m the word of TTL and protocol: m' = m - 0x0100, so that
 * ~m + m' is 0xfeff whatever m is. ~HC + 0xfeff is never 0, so neither does its fold give 0, and HC' is never
 * 0xffff: exactly what computing it anew gives, a result of 0x0000 included. A received 0xffff, which
 * verifies as 0x0000 does, comes out as 0x0000 would. */
static inline __attribute__((always_inline)) __u16 pp_checksum_ttl_minus_one(__u16 checksum) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    __u32 sum = (__u32)(__u16)~checksum + 0xfffe;
#else
    __u32 sum = (__u32)(__u16)~checksum + 0xfeff;
#endif
    sum = (sum >> 16) + (sum & 0xffff);
    return (__u16)~sum;
}

#endif
