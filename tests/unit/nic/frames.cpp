// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/nic/frames.h"

namespace pktpit::offload::test {
namespace {

constexpr uint8_t tcp = 6;
constexpr uint8_t udp = 17;

uint8_t at(const Frame& frame, size_t offset) {
    return static_cast<uint8_t>(frame[offset]);
}
uint16_t at16(const Frame& frame, size_t offset) {
    return static_cast<uint16_t>(at(frame, offset) << 8 | at(frame, offset + 1));
}

size_t transport_length(const Frame& frame, size_t offset, uint8_t protocol) {
    if (protocol == udp) return 8;
    if (protocol == tcp && offset + 13 < frame.size()) return size_t{4} * (at(frame, offset + 12) >> 4);
    return 0;
}

size_t parse(const Frame& frame) {
    if (frame.size() < 60) return 0;
    size_t offset = 12;
    if (at16(frame, offset) == 0x8100) offset += 4;
    const uint16_t type = at16(frame, offset);
    offset += 2;
    if (type == 0x0800) {
        const bool fragment = (at16(frame, offset + 6) & 0x3fff) != 0;
        const uint8_t protocol = at(frame, offset + 9);
        const size_t end = offset + size_t{4} * (at(frame, offset) & 15);
        return fragment ? end : end + transport_length(frame, end, protocol);
    }
    if (type == 0x86dd) return offset + 40 + transport_length(frame, offset + 40, at(frame, offset + 6));
    return 0;
}

}  // namespace

Frame make_frame(FrameKind kind, bool tagged, size_t length, uint32_t seed) {
    Frame frame;
    const auto put = [&frame](std::initializer_list<int> bytes) {
        for (const int byte : bytes)
            frame.push_back(static_cast<std::byte>(byte));
    };
    put({2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2});
    if (tagged) put({0x81, 0x00, 0x00, 0x07});
    const int length_high = static_cast<int>(length >> 8);
    const int length_low = static_cast<int>(length & 0xff);
    const auto ipv4 = [&](int protocol, int fragment) {
        put({0x08,     0x00, 0x45, 0,  length_high, length_low, 0, 1,  fragment, 0, 64,
             protocol, 0,    0,    10, 0,           0,          1, 10, 0,        0, 2});
    };
    const auto ipv6 = [&](int next) {
        put({0x86, 0xdd, 0x60, 0, 0, 0, length_high, length_low, next, 64});
        for (int i = 0; i < 32; i++)
            put({0x20 + i});
    };
    const auto tcp_header = [&] {
        put({0, 80, 1, 1, 0, 0, 0, 1,  0, 0, 0, 2, 0x80, 0x10, 1, 1,
             0, 0,  0, 0, 1, 1, 8, 10, 0, 0, 0, 0, 0,    0,    0, 0});
    };
    const auto udp_header = [&] { put({0, 53, 1, 1, length_high, length_low, 0, 0}); };
    switch (kind) {
        case FrameKind::arp:
            put({0x08, 0x06, 0, 1, 8, 0, 6, 4, 0, 1});
            break;
        case FrameKind::ipv4_udp:
            ipv4(udp, 0);
            udp_header();
            break;
        case FrameKind::ipv4_tcp:
            ipv4(tcp, 0);
            tcp_header();
            break;
        case FrameKind::ipv4_fragment:
            ipv4(udp, 0x20);
            break;
        case FrameKind::ipv6_udp:
            ipv6(udp);
            udp_header();
            break;
        case FrameKind::ipv6_tcp:
            ipv6(tcp);
            tcp_header();
            break;
        case FrameKind::ipv4_icmp:
            ipv4(1, 0);
            break;
        case FrameKind::unknown:
            put({0x88, 0xb5});
            break;
    }
    for (uint32_t value = seed * 2654435761U + 1; frame.size() < length;
         value = value * 1664525U + 1013904223U)
        frame.push_back(static_cast<std::byte>(value >> 24));
    frame.resize(length);
    return frame;
}

size_t header_length(const Frame& frame) {
    const size_t length = parse(frame);
    return length <= frame.size() ? length : 0;
}

}  // namespace pktpit::offload::test
