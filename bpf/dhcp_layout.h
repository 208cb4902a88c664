/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* Where things stand in a DHCP message (RFC 2131 2), from its UDP header on. Plain C. */
#ifndef PKTPIT_BPF_DHCP_LAYOUT_H
#define PKTPIT_BPF_DHCP_LAYOUT_H

#define PP_IPPROTO_UDP 17
#define PP_IPV4_FRAGMENT 0x3fff /* of the IPv4 header's fragment word: more fragments, and the offset */
#define PP_DHCP_CLIENT_PORT 68
#define PP_DHCP_OP 8
#define PP_DHCP_REPLY 2
#define PP_DHCP_HTYPE 9
#define PP_DHCP_ETHERNET 1
#define PP_DHCP_HLEN 10
#define PP_DHCP_CHADDR 36
#define PP_DHCP_BYTES 42 /* up to the end of a MAC address in chaddr */

#endif
