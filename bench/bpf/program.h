// SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause
/* The headers that every eBPF program of the benchmark starts from. BPF only. */
#ifndef PKTPIT_BENCH_PROGRAM_H
#define PKTPIT_BENCH_PROGRAM_H

/* libbpf's headers need the kernel's types before them. */
/* clang-format off */
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
/* clang-format on */

/* Copies constants that user space sets before loading. Through volatile, or clang takes their zeros in the
 * object file for their values. `size` is a multiple of 4. */
static __always_inline void copy_constant(void* to, const volatile void* from, int size) {
    for (int i = 0; i < size / 8; i++)
        ((__u64*)to)[i] = ((const volatile __u64*)from)[i];
    if (size % 8) ((__u32*)to)[size / 4 - 1] = ((const volatile __u32*)from)[size / 4 - 1];
}

#endif
