// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "router/slow_path/icmp.h"

namespace pktpit::router::icmp6 {

namespace {

constexpr size_t icmp_header = 8;
constexpr uint8_t protocol_icmp6 = 58;
constexpr uint8_t default_hop_limit = 64;  // as Linux: net.ipv6.conf.*.hop_limit

}  // namespace

IcmpError no_route() {
    return {Family::ipv6, 1, 0, 0, Counter::icmp6_no_route};
}
IcmpError prohibited() {
    return {Family::ipv6, 1, 1, 0, Counter::icmp6_prohibited};
}
IcmpError beyond_scope() {
    return {Family::ipv6, 1, 2, 0, Counter::icmp6_beyond_scope};
}
IcmpError address_unreachable() {
    return {Family::ipv6, 1, 3, 0, Counter::icmp6_address_unreachable};
}
IcmpError packet_too_big(uint32_t mtu) {
    // RFC 8201 section 4: a smaller MTU than the minimum would be discarded by its receiver.
    return {Family::ipv6, 2, 0, std::max<uint32_t>(mtu, size_max), Counter::icmp6_packet_too_big};
}
IcmpError time_exceeded() {
    return {Family::ipv6, 3, 0, 0, Counter::icmp6_time_exceeded};
}
IcmpError parameter_problem_option(uint32_t pointer) {
    return {Family::ipv6, 4, 2, pointer, Counter::icmp6_parameter_problem};
}

std::vector<uint8_t> build(const IcmpError& error, const Packet& original, const IpAddress& source) {
    const size_t quoted = std::min(original.bytes.size(), size_max - ipv6_header_bytes - icmp_header);
    const size_t payload = icmp_header + quoted;
    std::vector<uint8_t> packet(ipv6_header_bytes + payload);
    uint8_t* ip = packet.data();
    ip[0] = 0x60;
    store_be16(ip + 4, static_cast<uint16_t>(payload));
    ip[6] = protocol_icmp6;
    ip[7] = default_hop_limit;
    std::copy_n(source.bytes.begin(), 16, ip + 8);
    std::copy_n(original.bytes.begin() + 8, 16, ip + 24);

    uint8_t* icmp = ip + ipv6_header_bytes;
    icmp[0] = error.type;
    icmp[1] = error.code;
    store_be32(icmp + 4, error.parameter);
    std::copy_n(original.bytes.begin(), quoted, icmp + icmp_header);
    // RFC 8200 8.1: over both addresses, the length and the next header too.
    uint32_t sum = checksum_add(Bytes(packet).subspan(8, 32));
    sum += static_cast<uint32_t>(payload) + protocol_icmp6;
    store_be16(icmp + 2, checksum_finish(checksum_add(Bytes(packet).subspan(ipv6_header_bytes), sum)));
    return packet;
}

}  // namespace pktpit::router::icmp6
