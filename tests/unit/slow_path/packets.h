// SPDX-License-Identifier: BSD-3-Clause
/// Packets for tests, written and checked without the code under test.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/address.h"

namespace pktpit::router::test {

using Buffer = std::vector<uint8_t>;

IpAddress ip(std::string_view text);
MacAddress mac(std::string_view text);

/// RFC 1071, the slow way: 0 for bytes that hold a right checksum.
uint16_t naive_checksum(const Buffer& bytes);
uint16_t naive_checksum6(const IpAddress& source, const IpAddress& destination, uint8_t next,
                         const Buffer& payload);

Buffer join(std::initializer_list<Buffer> parts);
Buffer cut(const Buffer& bytes, size_t from, size_t count = SIZE_MAX);
/// `size` bytes that differ from each other and from packet to packet.
Buffer pattern(size_t size, uint8_t seed = 1);

struct Ipv4Packet {
    std::string_view source = "192.168.1.7";
    std::string_view destination = "192.168.2.9";
    uint8_t tos = 0;
    uint16_t id = 0x1234;
    uint16_t fragment = 0;  ///< flags and offset, as in the header
    uint8_t ttl = 17;
    uint8_t protocol = 253;
    Buffer options = {};  ///< a multiple of 4
    Buffer payload = pattern(40);
};
Buffer make(const Ipv4Packet& packet);

struct Ipv6Packet {
    std::string_view source = "2001:db8:11::7";
    std::string_view destination = "2001:db8:12::9";
    uint8_t next = 253;
    uint8_t hop_limit = 17;
    Buffer payload = pattern(40);
};
Buffer make(const Ipv6Packet& packet);

/// Ethernet frame around an IP packet; `tags`: bytes between addresses and EtherType.
Buffer frame(const Buffer& packet, std::string_view destination = "02:00:00:00:00:01",
             const Buffer& tags = {}, std::string_view source = "02:00:00:00:aa:01");

/// An ICMP error of either family, without its checksum.
Buffer icmp_error(uint8_t type, uint8_t code, uint32_t parameter, const Buffer& quote);

uint16_t get16(const Buffer& bytes, size_t at);
void set16(Buffer& bytes, size_t at, uint16_t value);

}  // namespace pktpit::router::test
