// SPDX-License-Identifier: BSD-3-Clause
/// Builds ICMP error messages: RFC 792, 1191, 1812 4.3.2, 4443. Bytes in, bytes out; whether one may be sent
/// is icmp_silence.h's and rate_limiter.h's matter.
#pragma once

#include <vector>

#include "router/forward/packet.h"
#include "router/slow_path/counters.h"

namespace pktpit::router {

/// One kind of error, as in its first two words.
struct IcmpError {
    Family family = Family::ipv4;
    uint8_t type = 0;
    uint8_t code = 0;
    uint32_t parameter = 0;  ///< second word: MTU, or pointer
    Counter counter = Counter::count_;
};

namespace icmp4 {
IcmpError net_unreachable();
IcmpError host_unreachable();
IcmpError prohibited();                        ///< RFC 1812 5.2.7.1, code 13
IcmpError fragmentation_needed(uint32_t mtu);  ///< RFC 1191 section 4
IcmpError time_exceeded();
IcmpError parameter_problem(uint8_t pointer);
IcmpError redirect(const IpAddress& gateway);  ///< code 1: for the host, RFC 1812 5.2.7.2

/// RFC 1812 4.3.2.3: no longer than this, the original as whole as it fits.
inline constexpr size_t size_max = 576;

/// The whole IP packet. `source`: address that it is sent from; `identification`: of its IP header.
std::vector<uint8_t> build(const IcmpError& error, const Packet& original, const IpAddress& source,
                           uint16_t identification);
}  // namespace icmp4

namespace icmp6 {
IcmpError no_route();
IcmpError prohibited();
IcmpError beyond_scope();
IcmpError address_unreachable();
IcmpError packet_too_big(uint32_t mtu);
IcmpError time_exceeded();
IcmpError parameter_problem_option(uint32_t pointer);  ///< code 2: unrecognised option

/// RFC 4443 2.4 (c): the minimum IPv6 MTU.
inline constexpr size_t size_max = 1280;

std::vector<uint8_t> build(const IcmpError& error, const Packet& original, const IpAddress& source);

/// ND redirect, RFC 4861 4.5. `source`: a link-local address; `target`: the better next hop, or the
/// original's destination if that is on the link; `mac`: the target's.
std::vector<uint8_t> build_redirect(const Packet& original, const IpAddress& source, const IpAddress& target,
                                    const MacAddress& mac);
}  // namespace icmp6

}  // namespace pktpit::router
