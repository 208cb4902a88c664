/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* TCP and UDP checksums that a sender on the same machine has left to its NIC, which a virtual device does
 * not need: the field has the sum of the pseudo header (Linux: CHECKSUM_PARTIAL). The kernel knows that of
 * its own frame; a redirect in native mode hands on the bytes alone, and who gets them would throw them away.
 * router/forward/partial_checksum.h is the same in C++, for workers. Included by BPF code only. */
#ifndef PKTPIT_BPF_COMPLETE_CHECKSUM_H
#define PKTPIT_BPF_COMPLETE_CHECKSUM_H

#include "bpf/bpf_common.h"
#include "bpf/checksum.h"
#include "bpf/maps.h"

#define PP_PROTOCOL_TCP 6
#define PP_PROTOCOL_UDP 17

/* The segment is summed where it lies, by large pieces; its end, and what lies in frags, by small ones that
 * are copied to the stack. 64 KiB at most. */
#define PP_SUM_LARGE 512 /* bpf_csum_diff() takes no more at once before Linux 6.13 */
#define PP_SUM_SMALL 128
#define PP_LINEAR_MASK 0x3fffu /* a linear part is no longer than a page; the verifier wants a number */
#define PP_SUM_PIECES (0x10000 / PP_SUM_SMALL)

struct pp_summing {
    struct xdp_md* ctx;
    __u32 offset; /* in the frame, of what is not summed yet */
    __u32 left;   /* bytes of it */
    __u32 sum;
    __u32 piece[PP_SUM_SMALL / 4 + 1];
};

/* For bpf_loop(): 1 ends it. */
static long pp_sum_piece(__u32 index, struct pp_summing* at) {
    (void)index;
    void* lies = PP_DATA(at->ctx) + (at->offset & PP_LINEAR_MASK);
    __u32 bytes = at->left < PP_SUM_SMALL ? at->left : PP_SUM_SMALL;
    if (!bytes) return 1;
    if (at->left >= PP_SUM_LARGE && at->offset <= PP_LINEAR_MASK && lies + PP_SUM_LARGE <= PP_END(at->ctx)) {
        bytes = PP_SUM_LARGE;
        at->sum = (__u32)bpf_csum_diff(0, 0, lies, PP_SUM_LARGE, at->sum);
    } else {
        /* 1 to PP_SUM_SMALL, as it is: before Linux 6.4 the verifier does not learn that from comparisons. */
        PP_BARRIER(bytes);
        bytes = ((bytes - 1) & (PP_SUM_SMALL - 1)) + 1;
        /* Zeros behind the last bytes, up to a whole word. */
        at->piece[bytes / 4] = 0;
        if (bpf_xdp_load_bytes(at->ctx, at->offset, at->piece, bytes)) return 1;
        at->sum = (__u32)bpf_csum_diff(0, 0, at->piece, (bytes + 3) & ~3u, at->sum);
    }
    at->offset += bytes;
    at->left -= bytes;
    return 0;
}

/* Sum of `length` bytes of the frame from `offset` on, not folded; negative: they are not there. */
PP_RARE long pp_sum_of(struct xdp_md* ctx, __u32 offset, __u32 length) {
    if (!completes_checksums) return 0;
    struct pp_summing at = {.ctx = ctx, .offset = offset, .left = length};
    bpf_loop(PP_SUM_PIECES, pp_sum_piece, &at, 0);
    return at.left ? -1 : at.sum;
}

/* Completes the checksum of a frame that is about to leave by a redirect, if it has not been. One that is
 * right and happens to look so stays as it is. Not of fragments, which the kernel completes before it cuts,
 * nor behind IPv6 extension headers. `place`: offset and type of the IP header. */
PP_RARE int pp_complete_checksum(struct xdp_md* ctx, __u32 place) {
    if (!completes_checksums) return 0;
    void* data = PP_DATA(ctx);
    void* end = PP_END(ctx);
    void* l3 = pp_l3(data, place & 0xffff);
    const struct pp_field32* words = l3;
    const struct pp_field16* fields = l3;
    const __u8* bytes = l3;
    if (l3 + 20 > end) return 0;
    __u64 sum;
    __u32 header, length, protocol;
    if (place >> 16 == PP_ETHERTYPE_IPV4) {
        if (fields[3].value & bpf_htons(0x3fff)) return 0;
        header = (bytes[0] & 0xf) * 4;
        length = bpf_ntohs(fields[1].value) - header;
        protocol = bytes[9];
        sum = (__u64)words[3].value + words[4].value;
    } else {
        if (l3 + 40 > end) return 0;
        header = 40;
        length = bpf_ntohs(fields[2].value);
        protocol = bytes[6];
        sum = 0;
        for (int i = 2; i < 10; i++)
            sum += words[i].value;
    }
    __u32 at;
    if (protocol == PP_PROTOCOL_TCP)
        at = 16;
    else if (protocol == PP_PROTOCOL_UDP)
        at = 6;
    else
        return 0;
    if (length < at + 2 || length > 0xffff) return 0;
    sum += bpf_htons((__u16)length) + bpf_htons((__u16)protocol);
    PP_BARRIER(header);
    struct pp_field16* field = l3 + (header & 0x3c) + at;
    if ((void*)(field + 1) > end) return 0;
    if (likely(field->value != (__u16)pp_checksum_fold(sum))) return 0;
    /* With the pseudo header's sum in its field the segment alone has the sum of both. */
    const long all = pp_sum_of(ctx, (place & 0x1f) + header, length);
    if (all < 0) return 0;
    __u16 checksum = (__u16)~pp_checksum_fold((__u64)all);
    /* RFC 768: 0 would say that there is none. */
    if (!checksum && protocol == PP_PROTOCOL_UDP) checksum = 0xffff;
    field->value = checksum;
    return 1;
}

#endif
