/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* The way out for frames to devices that no XDP redirect reaches: the port stage has rewritten such a frame,
 * says in XDP metadata where it is to leave (struct pp_leave_tag) and hands it to the kernel's stack, where
 * this program is the first on the port's device that sees it (tcx, Linux 6.6) and sends it as the stack
 * sends everything: every device takes that. It knows no table and no daemon, and goes on without one. */
/* clang-format off */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
/* clang-format on */

#include "bpf/abi.h"

/* Whoever comes next on this device decides. */
#define PP_NEXT (-1)

SEC("tc")
int stack_redirect(struct __sk_buff* skb) {
    struct pp_leave_tag* tag = (void*)(long)skb->data_meta;
    if ((void*)(tag + 1) > (void*)(long)skb->data || tag->magic != PP_LEAVE_MAGIC) return PP_NEXT;
    __u32 ifindex = tag->ifindex;
    __u32 tag_apart = tag->tag_apart;
    /* The far end may be a router, too, and take the word for its own. */
    tag->magic = 0;
    /* The one that it came with; if it is to leave with one, that one is in the frame. */
    if (tag_apart) bpf_skb_vlan_pop(skb);
    return (int)bpf_redirect(ifindex, 0);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
