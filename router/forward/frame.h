// SPDX-License-Identifier: BSD-3-Clause
/// One frame on its way through forward(): what each step found out, for the next. Internal to
/// router/forward; each step is a function of its own file, returns PP_NONE to go on, and fills in the
/// Decision as it learns.
#pragma once

#include "fib/reader.h"
#include "router/forward/bytes.h"
#include "router/forward/forward.h"

namespace pktpit::router {

inline constexpr uint32_t ethernet_header = 14;
inline constexpr uint32_t vlan_tag = 4;
inline constexpr uint32_t least_payload = 46;  ///< of an Ethernet frame, without tags: IEEE 802.3 3.2.8

inline constexpr uint16_t ethertype_ipv4 = 0x0800;
inline constexpr uint16_t ethertype_arp = 0x0806;
inline constexpr uint16_t ethertype_ipv6 = 0x86dd;
inline constexpr uint16_t ethertype_vlan = 0x8100;
inline constexpr uint16_t ethertype_qinq = 0x88a8;

/// One word of an entry of the image, by one load: the writer may be changing the entry, word by word.
inline uint64_t image_word(const void* entry, size_t index) {
    using Word [[gnu::may_alias]] = uint64_t;
    return __atomic_load_n(static_cast<const Word*>(entry) + index, __ATOMIC_ACQUIRE);
}
/// Of a port: its MAC address in the low 48 bits, its flags above.
inline bool is_port_up(uint64_t first_word) {
    return (first_word >> 48 & PP_PORT_UP) != 0;
}

struct Frame {
    ImageView image;
    uint16_t port = 0;
    Bytes slice;          ///< at most 128 bytes, never more than the frame has
    uint32_t length = 0;  ///< whole frame
    uint16_t ethertype = 0;
    uint16_t table = PP_FIB_DEFAULT_TABLE;  ///< of the interface that it came in by
    bool checksum_good = false;             ///< the IPv4 header's, verified by the NIC
    bool link_layer_group = false;          ///< sent to a link-layer broadcast or multicast address
};

/// The adjacency's words, each read once: the writer changes them one at a time.
struct Egress {
    uint32_t index = 0;
    uint8_t kind = PP_ADJ_INVALID;
    uint64_t next = 0;  ///< MAC address of the next hop in the low 48 bits
    uint64_t own = 0;   ///< MAC address of the egress port in the low 48 bits
    uint64_t tags = 0;
};

/// Ethernet and VLAN tags: whom the frame is for, its L3 interface, where its IP header starts.
pp_verdict parse_link_layer(Frame& frame, Decision& decision);

/// What the IP header says before any route is known: PP_NONE if it is to be routed. `destination` is set
/// then: in host byte order for IPv4, as on the wire for IPv6.
pp_verdict check_ipv4(const Frame& frame, const Decision& decision, uint32_t& destination);
pp_verdict check_ipv6(const Frame& frame, const Decision& decision, fib::Ip6Bytes& destination);

/// From the group that the destination's longest match leads to, to PP_FORWARDED or to the reason why not.
/// The frame has passed the check above.
pp_verdict decide_ipv4(const Frame& frame, Decision& decision, Egress& egress, uint32_t group);
pp_verdict decide_ipv6(const Frame& frame, Decision& decision, Egress& egress, uint32_t group);

/// Flow hashes of a packet whose fixed header was validated; `packet` starts at it and ends with the slice.
/// `seed`: the image's.
uint32_t flow_hash_ipv4(Bytes packet, uint64_t seed);
uint32_t flow_hash_ipv6(Bytes packet, uint64_t seed);
uint64_t hash_seed(const Frame& frame);

/// The adjacency of a group, for a group of several members by hash(); notes it in the decision. `egress` is
/// filled in where it is, for the reason that begin() has.
template <class Hash>
void choose_adjacency(const Frame& frame, Decision& decision, Egress& egress, uint32_t group, Hash hash);
void read_adjacency(const ImageView& image, Decision& decision, Egress& egress, uint32_t adjacency);

/// Is the packet the kernel's, by its destination?
pp_verdict host_verdict(const Decision& decision, uint8_t kind);
/// Is the source an address of the router, or a broadcast address? PP_NONE: neither.
pp_verdict source_verdict_ipv4(const Frame& frame, uint32_t source);
pp_verdict source_verdict_ipv6(const Frame& frame, const uint8_t* source);
/// Is the source one that cannot have come by this interface (rpf.cpp)? `to_host`: the packet is for this
/// host.
bool fails_rpf_ipv4(const Frame& frame, const Decision& decision, uint32_t source, bool to_host);
bool fails_rpf_ipv6(const Frame& frame, const Decision& decision, const uint8_t* source, bool to_host);
/// Does the routing decision itself end the packet? (No route, blackhole, …)
pp_verdict route_verdict(const Egress& egress);
/// Can it leave? Neighbour known, egress port up.
pp_verdict egress_verdict(const Frame& frame, const Decision& decision, const Egress& egress);

/// Bytes behind the packet, which is `packet` bytes long from `decision.l3_offset` on, that are more than a
/// short frame's padding: the frame might be longer than its packet, whose length alone was held against the
/// MTU.
uint32_t trailer_of(const Frame& frame, const Decision& decision, uint32_t packet);

/// The egress frame's header, from the ingress frame's first decision.consumed bytes.
void rewrite_ipv4(const Frame& frame, Decision& decision, const Egress& egress);
void rewrite_ipv6(const Frame& frame, Decision& decision, const Egress& egress);

/// HC' = ~(~HC + ~m + m') (RFC 1624 eqn. 3): the header checksum once the 16-bit word m has become m'.
uint16_t updated_checksum(uint16_t checksum, uint16_t old_word, uint16_t new_word);

}  // namespace pktpit::router

#include "fib/lookup.h"

template <class Hash>
void pktpit::router::choose_adjacency(const Frame& frame, Decision& decision, Egress& egress, uint32_t group,
                                      Hash hash) {
    const auto* base = frame.image.base;
    const auto* geometry = frame.image.geometry;
    const uint64_t members = pp_fib_group_word(base, geometry, group);
    const uint32_t first = PP_FIB_GROUP_FIRST(members);
    const uint32_t bits = PP_FIB_GROUP_BITS(members);
    decision.route_counter = static_cast<uint16_t>(PP_FIB_GROUP_COUNTER(members));
    const uint32_t adjacency = bits == 0 ? first : pp_fib_bucket(base, geometry, first, bits, hash());
    read_adjacency(frame.image, decision, egress, adjacency);
}
