// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The rewrite that every forwarder must do, at its cheapest: MAC addresses, TTL, checksum. For the peers
 * only: they validate nothing, which makes them faster than a router may be. BPF only.
 */
#ifndef PKTPIT_BENCH_REWRITE_H
#define PKTPIT_BENCH_REWRITE_H

#include "bench/bpf/program.h"

/* RFC 1624 eqn. 3 for a TTL that falls by one. */
static __always_inline void decrease_ttl(struct iphdr* ip) {
    __u32 check = ip->check + (__u32)bpf_htons(0x0100);
    ip->check = (__u16)(check + (check >= 0xffff));
    ip->ttl--;
}

#endif
