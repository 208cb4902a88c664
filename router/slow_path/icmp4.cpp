// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "router/slow_path/icmp.h"

namespace pktpit::router::icmp4 {

namespace {

constexpr size_t icmp_header = 8;
constexpr uint8_t protocol_icmp = 1;
constexpr uint8_t default_ttl = 64;         // as Linux: net.ipv4.ip_default_ttl
constexpr uint8_t internet_control = 0xc0;  // RFC 1812 4.3.2.5: precedence 6 ...
constexpr uint8_t type_of_service = 0x1c;   // ... and the original's TOS bits; no ECN, which is for data

}  // namespace

IcmpError net_unreachable() {
    return {Family::ipv4, 3, 0, 0, Counter::icmp4_net_unreachable};
}
IcmpError host_unreachable() {
    return {Family::ipv4, 3, 1, 0, Counter::icmp4_host_unreachable};
}
IcmpError prohibited() {
    return {Family::ipv4, 3, 13, 0, Counter::icmp4_prohibited};
}
IcmpError fragmentation_needed(uint32_t mtu) {
    return {Family::ipv4, 3, 4, std::min(mtu, 0xffffU), Counter::icmp4_fragmentation_needed};
}
IcmpError time_exceeded() {
    return {Family::ipv4, 11, 0, 0, Counter::icmp4_time_exceeded};
}
IcmpError parameter_problem(uint8_t pointer) {
    return {Family::ipv4, 12, 0, static_cast<uint32_t>(pointer) << 24, Counter::icmp4_parameter_problem};
}
IcmpError redirect(const IpAddress& gateway) {
    return {Family::ipv4, 5, 1, gateway.v4_host_order(), Counter::icmp4_redirect};
}

std::vector<uint8_t> build(const IcmpError& error, const Packet& original, const IpAddress& source,
                           uint16_t identification) {
    const size_t quoted = std::min(original.bytes.size(), size_max - ipv4_header_min - icmp_header);
    std::vector<uint8_t> packet(ipv4_header_min + icmp_header + quoted);
    uint8_t* ip = packet.data();
    ip[0] = 0x45;
    ip[1] = static_cast<uint8_t>((original.bytes[1] & type_of_service) | internet_control);
    store_be16(ip + 2, static_cast<uint16_t>(packet.size()));
    store_be16(ip + 4, identification);
    ip[8] = default_ttl;
    ip[9] = protocol_icmp;
    std::copy_n(source.bytes.begin(), 4, ip + 12);
    std::copy_n(original.bytes.begin() + 12, 4, ip + 16);
    checksum_ipv4(std::span(packet).first(ipv4_header_min));

    uint8_t* icmp = ip + ipv4_header_min;
    icmp[0] = error.type;
    icmp[1] = error.code;
    store_be32(icmp + 4, error.parameter);
    std::copy_n(original.bytes.begin(), quoted, icmp + icmp_header);
    store_be16(icmp + 2, checksum_finish(checksum_add(Bytes(packet).subspan(ipv4_header_min))));
    return packet;
}

}  // namespace pktpit::router::icmp4
