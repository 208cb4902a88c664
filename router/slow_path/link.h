// SPDX-License-Identifier: BSD-3-Clause
/// From the FIB image to an Ethernet header, for packets that do not leave by forward(): the router's own,
/// and fragments.
#pragma once

#include <array>

#include "router/forward/forward.h"
#include "router/forward/packet.h"

namespace pktpit::router {

/// Destination, source, up to two VLAN tags, EtherType.
struct LinkHeader {
    std::array<uint8_t, 22> bytes{};
    size_t length = 0;
    [[nodiscard]] Bytes view() const { return Bytes(bytes).first(length); }
};
LinkHeader link_header(const pp_fib_adjacency& adjacency, Family family);

/// The adjacency that a packet of the router itself to this address leaves by, by the routes of the VRF that
/// `interface` belongs to (0: none); 0 where there is no route. In a group the address alone decides: the
/// source address is chosen after the interface.
uint32_t adjacency_towards(const ImageView& image, const IpAddress& destination, uint16_t interface);
pp_fib_adjacency load_adjacency(const ImageView& image, uint32_t adjacency);
bool is_port_up(const ImageView& image, uint16_t port);
/// Is this an address of the router, in the VRF of `interface`?
bool is_own_address(const ImageView& image, const IpAddress& address, uint16_t interface);

}  // namespace pktpit::router
