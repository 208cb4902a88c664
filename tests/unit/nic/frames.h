// SPDX-License-Identifier: BSD-3-Clause
/// Frames for the NIC tests, and where a NIC that parses them finds the end of their headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace pktpit::offload::test {

using Frame = std::vector<std::byte>;

enum class FrameKind : uint8_t {
    arp,
    ipv4_udp,
    ipv4_tcp,
    ipv4_fragment,
    ipv6_udp,
    ipv6_tcp,
    ipv4_icmp,
    unknown
};
constexpr FrameKind all_kinds[] = {FrameKind::arp,           FrameKind::ipv4_udp, FrameKind::ipv4_tcp,
                                   FrameKind::ipv4_fragment, FrameKind::ipv6_udp, FrameKind::ipv6_tcp,
                                   FrameKind::ipv4_icmp,     FrameKind::unknown};

/// `length` bytes, without FCS, to 02:00:00:00:00:01, filled with bytes that depend on `seed`.
Frame make_frame(FrameKind kind, bool tagged, size_t length, uint32_t seed);
/// Bytes of Ethernet, VLAN, IP, and of TCP or UDP where there is no fragment; 0 if the NIC cannot parse it.
/// Options and all, after the 82574 datasheet, 7.1.10.
size_t header_length(const Frame& frame);

}  // namespace pktpit::offload::test
