/* SPDX-License-Identifier: GPL-2.0-only OR BSD-3-Clause */
/* What the port stage decides about a frame, and the name of every reason.
 *
 * One list, used by the eBPF program, by router/forward (C++), by the counters and by the documentation,
 * so that a reason has the same number and the same name everywhere. Plain C: compiled for BPF and into C++.
 * Numbers are part of the pinned counters' layout: append, never reorder.
 */
#ifndef PKTPIT_BPF_VERDICT_H
#define PKTPIT_BPF_VERDICT_H

enum pp_action {
    PP_ACTION_FORWARD, /* rewritten, leaves by the egress port */
    PP_ACTION_HOST,    /* to the kernel's own stack, unchanged */
    PP_ACTION_PUNT,    /* whole frame to the daemon, unchanged: a redirect cannot finish it */
    PP_ACTION_DROP,
    PP_ACTION_TAKEN, /* the router's own to work on, and its end here */
};

/* X(NAME, action, name shown to people and in metrics, what it means) */
#define PP_VERDICTS(X)                                                                                       \
    X(NONE, DROP, "none", "never counted: id 0 is no verdict")                                               \
    X(FORWARDED, FORWARD, "forwarded", "rewritten and redirected to the egress port")                        \
    X(HOST_LOCAL, HOST, "host_local", "destination is an address of this router")                            \
    X(HOST_ARP, HOST, "host_arp", "ARP")                                                                     \
    X(HOST_MULTICAST, HOST, "host_multicast", "multicast: ND, MLD, IGMP, routing protocols")                 \
    X(HOST_BROADCAST, HOST, "host_broadcast", "limited or own-subnet broadcast")                             \
    X(HOST_LINK_LOCAL, HOST, "host_link_local",                                                              \
      "IPv6 link-local destination: never forwarded, kernel decides")                                        \
    X(HOST_NOT_IP, HOST, "host_not_ip", "an EtherType other than IPv4, IPv6, ARP and VLAN")                  \
    X(HOST_OTHER_MAC, HOST, "host_other_mac", "unicast frame for another station's MAC address")             \
    X(HOST_UNKNOWN_VLAN, HOST, "host_unknown_vlan", "VLAN tags of no configured interface")                  \
    X(PUNT_TTL_EXPIRED, PUNT, "ttl_expired", "TTL or hop limit would reach 0 here")                          \
    X(PUNT_TOO_BIG, PUNT, "too_big", "larger than the egress MTU: ICMP error, or fragments if IPv4 allows")  \
    X(PUNT_NO_NEIGHBOUR, PUNT, "no_neighbour", "next hop's MAC address is not known yet")                    \
    X(PUNT_NO_ROUTE, PUNT, "no_route", "no prefix matches")                                                  \
    X(PUNT_UNREACHABLE, PUNT, "unreachable", "an `unreachable` route matches")                               \
    X(PUNT_PROHIBITED, PUNT, "prohibited", "a `prohibit` route matches")                                     \
    X(PUNT_IPV4_OPTIONS, PUNT, "ipv4_options", "IPv4 options that a router must act on or that are broken")  \
    X(PUNT_IPV6_OPTION, PUNT, "ipv6_option", "unknown hop-by-hop option that asks for an ICMP error")        \
    X(PUNT_BEYOND_SCOPE, PUNT, "beyond_scope", "IPv6 link-local source, destination beyond the link")        \
    X(DROP_TRUNCATED, DROP, "drop_truncated", "frame ends inside a header that must be there")               \
    X(DROP_VLAN_DEPTH, DROP, "drop_vlan_depth", "more than two VLAN tags")                                   \
    X(DROP_L2_BROADCAST, DROP, "drop_l2_broadcast",                                                          \
      "unicast IP to forward inside a link-layer broadcast or multicast")                                    \
    X(DROP_IPV4_VERSION, DROP, "drop_ipv4_version", "version field is not 4")                                \
    X(DROP_IPV4_HEADER_LENGTH, DROP, "drop_ipv4_header_length", "IHL below 5 or beyond the packet")          \
    X(DROP_IPV4_LENGTH, DROP, "drop_ipv4_length", "total length below the header's or beyond the frame")     \
    X(DROP_IPV4_CHECKSUM, DROP, "drop_ipv4_checksum", "header checksum wrong")                               \
    X(DROP_IPV4_SOURCE_ROUTE, DROP, "drop_ipv4_source_route", "loose or strict source route option")         \
    X(DROP_MARTIAN_SOURCE, DROP, "drop_martian_source", "source that no host may use on the wire")           \
    X(DROP_MARTIAN_DESTINATION, DROP, "drop_martian_destination", "destination that no router may forward")  \
    X(DROP_LINK_LOCAL, DROP, "drop_link_local", "IPv4 link-local source or destination: never forwarded")    \
    X(DROP_DIRECTED_BROADCAST, DROP, "drop_directed_broadcast", "broadcast address of a net not arrived on") \
    X(DROP_IPV6_VERSION, DROP, "drop_ipv6_version", "version field is not 6")                                \
    X(DROP_IPV6_LENGTH, DROP, "drop_ipv6_length", "payload length beyond the frame, or a jumbogram")         \
    X(DROP_IPV6_EXTENSION, DROP, "drop_ipv6_extension", "hop-by-hop header malformed or beyond the slice")   \
    X(DROP_IPV6_OPTION, DROP, "drop_ipv6_option", "unknown hop-by-hop option that asks to be discarded")     \
    X(DROP_BLACKHOLE, DROP, "drop_blackhole", "a `blackhole` route matches")                                 \
    X(DROP_NO_EGRESS, DROP, "drop_no_egress", "egress port is gone or down")                                 \
    X(DROP_PUNT_FULL, DROP, "drop_punt_full", "queue to the daemon full, or no daemon")                      \
    X(DROP_BROKEN_FIB, DROP, "drop_broken_fib", "FIB image holds a value that its writer never writes")      \
    X(DROP_NO_HEADROOM, DROP, "drop_no_headroom", "no room in front of the frame for its VLAN tags")         \
    X(DROP_RX_ERROR, DROP, "drop_rx_error", "the NIC reported an error, or a frame longer than a slot")      \
    X(DROP_NO_SLOT, DROP, "drop_no_slot", "no free slot in the memory that the payload would have to go to") \
    X(DROP_EGRESS_FULL, DROP, "drop_egress_full", "the egress port's transmit ring is full")                 \
    X(DROP_MEMORY_REVOKED, DROP, "drop_memory_revoked", "the payload memory has been taken away")            \
    X(DROP_SPLIT_FULL, DROP, "drop_split_full", "the split port's worker is behind, or stands still")        \
    X(DROP_STALE, DROP, "drop_stale", "it waited for a worker that stood while the stage went on")           \
    X(HOST_DAEMON_LOST, HOST, "host_daemon_lost", "the daemon stands still: the kernel forwards")            \
    X(DROP_SOURCE_MAC, DROP, "drop_source_mac",                                                              \
      "source MAC address that is a group's, or the destination's")                                          \
    X(DROP_OWN_SOURCE, DROP, "drop_own_source", "source is an address of this router")                       \
    X(DROP_BROADCAST_SOURCE, DROP, "drop_broadcast_source",                                                  \
      "source is the broadcast or the network address of a net of this router")                              \
    X(HOST_KERNEL_ROUTE, HOST, "host_kernel_route", "a route matches that only the kernel can forward by")   \
    X(AGGREGATED, TAKEN, "aggregated", "a worker's elements, added to a sum of the aggregation service")     \
    X(DROP_AGGREGATION, DROP, "drop_aggregation",                                                            \
      "for a group of the aggregation service, which refuses it: show aggregation")                          \
    X(DROP_FILTER, DROP, "drop_filter", "a filter's rule drops it")                                          \
    X(HOST_FILTER, HOST, "host_filter", "a filter's rule gives it to the kernel")                            \
    X(DROP_RPF, DROP, "drop_rpf",                                                                            \
      "no route back to its source, or none by the interface that it came in by")                            \
    X(DROP_POLICE, DROP, "drop_police", "above the rate of the interface that it came in by")                \
    X(DROP_HOST_ARP, DROP, "drop_host_arp", "to the host, above the rate of ARP and neighbour discovery")    \
    X(DROP_HOST_ICMP, DROP, "drop_host_icmp", "to the host, above the rate of ICMP")                         \
    X(DROP_HOST_BGP, DROP, "drop_host_bgp", "to the host, above the rate of BGP")                            \
    X(DROP_HOST_OTHER, DROP, "drop_host_other", "to the host, above the rate of all else")                   \
    X(HOST_DHCP, HOST, "host_dhcp", "a DHCP server's answer to the port itself, which has no address yet")

enum pp_verdict {
#define PP_VERDICT_ENUM(name, action, text, meaning) PP_##name,
    PP_VERDICTS(PP_VERDICT_ENUM)
#undef PP_VERDICT_ENUM
        PP_VERDICT_COUNT,
};

/* Room in the counters for reasons of later versions. */
#define PP_VERDICT_CAPACITY 64

#endif
