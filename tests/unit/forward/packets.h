// SPDX-License-Identifier: BSD-3-Clause
/// Frames for tests of the forwarding function, built field by field and without the code under test:
/// checksums are computed anew, every length can be made wrong.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace pktpit::router::test {

using Buffer = std::vector<uint8_t>;
using Mac = std::array<uint8_t, 6>;

struct Tag {
    uint16_t tpid = 0x8100;
    uint16_t tci = 0;
};

struct Ethernet {
    Mac to{};
    Mac from{};
    std::vector<Tag> tags = {};
    std::optional<uint16_t> ethertype = std::nullopt;  ///< instead of the packet's own
};

/// Bytes of an upper layer: source and destination port 4660 and 22136, then a count.
Buffer transport(size_t bytes = 26, uint16_t source_port = 0x1234, uint16_t destination_port = 0x5678);

struct Ipv4 {
    std::string_view source = "10.99.0.7";
    std::string_view destination = "10.1.0.9";
    uint8_t ttl = 64;
    uint8_t protocol = 17;
    Buffer options = {};  ///< a multiple of 4
    Buffer payload = transport();
    uint8_t tos = 0;
    uint16_t id = 0x4321;
    uint16_t fragment = 0;  ///< flags and offset, as in the header
    uint8_t version = 4;
    std::optional<uint8_t> ihl = std::nullopt;
    std::optional<uint16_t> total_length = std::nullopt;
    std::optional<uint16_t> checksum = std::nullopt;
};

struct Ipv6 {
    std::string_view source = "2001:db8:99::7";
    std::string_view destination = "2001:db8:1::9";
    uint8_t hop_limit = 64;
    uint8_t next = 17;
    Buffer payload = transport();
    uint8_t traffic_class = 0;
    uint32_t flow_label = 0;
    uint8_t version = 6;
    std::optional<uint16_t> payload_length = std::nullopt;
};

Buffer packet(const Ipv4& fields);
Buffer packet(const Ipv6& fields);
Buffer frame(const Ethernet& ethernet, const Buffer& packet, uint16_t ethertype);
inline Buffer frame(const Ethernet& ethernet, const Ipv4& fields) {
    return frame(ethernet, packet(fields), 0x0800);
}
inline Buffer frame(const Ethernet& ethernet, const Ipv6& fields) {
    return frame(ethernet, packet(fields), 0x86dd);
}

/// One's complement of the one's complement sum (RFC 1071), the slow way.
uint16_t checksum_of(const uint8_t* bytes, size_t count);
Buffer operator+(Buffer left, const Buffer& right);
Buffer cut(const Buffer& bytes, size_t count);

}  // namespace pktpit::router::test
