// SPDX-License-Identifier: BSD-3-Clause
/// The router that the vectors are about: four ports and one route for each thing that can happen to a
/// packet.
///
///   port 1  interface 1, VLAN 10 -> interface 11, VLANs 300.20 -> interface 12
///   port 2  interface 2
///   port 3  tagged only: VLAN 100 -> interface 31, VLANs 200.7 -> interface 32, the outer of 802.1ad
///   port 4  interface 4, down
///
/// IPv4 10.X.0.0/16 and IPv6 2001:db8:X::/48 (X as written here):
///   1 port 2 untagged     5 no such port (.1: port 0)   9 unreachable      13 MTU 600 (IPv6: d, 1280)
///   2 port 3, VLAN 100    6 neighbour not known         10 (a) prohibit    14 (e) four next hops on port 2
///   3 port 3, 200.7       7 glean                       11 (b) no such kind
///   4 port 4 (down)       8 blackhole                   12 (c) freed adjacency   15 (f) group without
///   members
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "fib/image.h"
#include "tests/unit/forward/packets.h"

namespace pktpit::router::test {

inline constexpr Mac port1{2, 0, 0, 0, 0, 1};
inline constexpr Mac port2{2, 0, 0, 0, 0, 2};
inline constexpr Mac port3{2, 0, 0, 0, 0, 3};
inline constexpr Mac port4{2, 0, 0, 0, 0, 4};
inline constexpr Mac peer{2, 0, 0, 0, 0xaa, 1};         ///< sends to port 1
inline constexpr Mac next_hop2{2, 0, 0, 0, 0xbb, 2};    ///< behind port 2
inline constexpr Mac next_hop3{2, 0, 0, 0, 0xbb, 3};    ///< behind port 3, VLAN 100
inline constexpr Mac next_hop32{2, 0, 0, 0, 0xbb, 32};  ///< behind port 3, VLANs 200.7
inline constexpr uint16_t tci100 = 0x6064;              ///< PCP 3, VID 100

/// Small, so that a test may make many; two ports more than any test uses.
fib::Capacity small_capacity();

/// Fills an empty image of small_capacity() or more. `base` is the image's memory: the values that no writer
/// writes are put there directly.
void fill_test_router(fib::FibImage& image, std::byte* base);

/// An adjacency as the daemon would write it. Tags outermost first.
pp_fib_adjacency adjacency_of(pp_adjacency_kind kind, uint16_t port, const Mac& from, const Mac& to,
                              uint16_t interface, uint32_t mtu = 1500, std::span<const Tag> tags = {});
pp_fib_port awaiting_dhcp(pp_fib_port port);
pp_fib_port port_of(const Mac& mac, uint16_t interface, bool up);

}  // namespace pktpit::router::test
