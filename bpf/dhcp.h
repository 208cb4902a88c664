/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* A DHCP server's answer to a client on the port itself. It goes to the port's MAC address and to an IPv4
 * address that the host does not have yet (RFC 2131 4.1), so that no route says that it is the host's. It is
 * one by the client's hardware address in it: answers that others wait for behind this router have theirs. */
#ifndef PKTPIT_BPF_DHCP_H
#define PKTPIT_BPF_DHCP_H

#include "bpf/bpf_common.h"
#include "bpf/dhcp_layout.h"

/* Of a UDP packet whose fixed header is there. */
PP_RARE __u32 pp_is_dhcp_answer(struct xdp_md* ctx, __u32 l3_offset) {
    void* end = PP_END(ctx);
    __u8* ip = pp_l3(PP_DATA(ctx), l3_offset);
    const void* image = pp_image();
    if (!image || (void*)(ip + 20) > end) return 0;
    if (((struct pp_field16*)ip)[3].value & bpf_htons(PP_IPV4_FRAGMENT)) return 0;
    __u32 header_length = (ip[0] & 15) * 4;
    __u8* udp = ip + header_length;
    PP_BARRIER(udp);
    if ((void*)(udp + PP_DHCP_BYTES) > end) return 0;
    if (((struct pp_field16*)udp)[1].value != bpf_htons(PP_DHCP_CLIENT_PORT)) return 0;
    if (udp[PP_DHCP_OP] != PP_DHCP_REPLY || udp[PP_DHCP_HTYPE] != PP_DHCP_ETHERNET || udp[PP_DHCP_HLEN] != 6)
        return 0;
    const __u64 mac = PP_LOAD64(pp_fib_port_at(image, pp_geometry(), port_id));
    const struct pp_field16* client = (void*)(udp + PP_DHCP_CHADDR);
    return client[0].value == (__u16)mac && client[1].value == (__u16)(mac >> 16) &&
           client[2].value == (__u16)(mac >> 32);
}

/* May the host be asking for an address on this port? */
PP_INLINE int pp_awaits_dhcp(const struct pp_frame* f) {
    const __u64 own = PP_LOAD64(pp_fib_port_at(f->image, f->geometry, port_id));
    return !!(own >> 48 & PP_PORT_AWAITS_DHCP);
}

#endif
