/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A network that loses, for peers that cannot do it themselves, on kernels without netem: at a device, one of
 * so many frames that come in is dropped, each by itself and before GRO makes one of several.
 */
#include "bench/bpf/program.h"

static __always_inline int lose(__u32 of_thousand) {
    return bpf_get_prandom_u32() % 1000 < of_thousand ? XDP_DROP : XDP_PASS;
}

SEC("xdp")
int lose_1_of_1000(struct xdp_md* ctx) {
    (void)ctx;
    return lose(1);
}

SEC("xdp")
int lose_10_of_1000(struct xdp_md* ctx) {
    (void)ctx;
    return lose(10);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
