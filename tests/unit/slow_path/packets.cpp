// SPDX-License-Identifier: BSD-3-Clause
#include "packets.h"

#include <algorithm>
#include <stdexcept>

namespace pktpit::router::test {

IpAddress ip(std::string_view text) {
    return IpAddress::parse(text).value();
}
MacAddress mac(std::string_view text) {
    return MacAddress::parse(text).value();
}

uint16_t get16(const Buffer& bytes, size_t at) {
    return static_cast<uint16_t>(bytes.at(at) * 256 + bytes.at(at + 1));
}

void set16(Buffer& bytes, size_t at, uint16_t value) {
    bytes.at(at) = static_cast<uint8_t>(value >> 8);
    bytes.at(at + 1) = static_cast<uint8_t>(value);
}

uint16_t naive_checksum(const Buffer& bytes) {
    uint64_t sum = 0;
    for (size_t at = 0; at < bytes.size(); at++)
        sum += static_cast<uint64_t>(bytes[at]) << (at % 2 ? 0 : 8);
    while (sum > 0xffff)
        sum = sum % 65536 + sum / 65536;
    return static_cast<uint16_t>(0xffff - sum);
}

uint16_t naive_checksum6(const IpAddress& source, const IpAddress& destination, uint8_t next,
                         const Buffer& payload) {
    Buffer all(source.bytes.begin(), source.bytes.end());
    all.insert(all.end(), destination.bytes.begin(), destination.bytes.end());
    const auto size = static_cast<uint32_t>(payload.size());
    for (int shift : {24, 16, 8, 0})
        all.push_back(static_cast<uint8_t>(size >> shift));
    all.insert(all.end(), {0, 0, 0, next});
    all.insert(all.end(), payload.begin(), payload.end());
    return naive_checksum(all);
}

Buffer join(std::initializer_list<Buffer> parts) {
    Buffer all;
    for (const Buffer& part : parts)
        all.insert(all.end(), part.begin(), part.end());
    return all;
}

Buffer cut(const Buffer& bytes, size_t from, size_t count) {
    if (from > bytes.size()) throw std::out_of_range("cut behind the end");
    const size_t end = from + std::min(count, bytes.size() - from);
    return {bytes.begin() + static_cast<ptrdiff_t>(from), bytes.begin() + static_cast<ptrdiff_t>(end)};
}

Buffer pattern(size_t size, uint8_t seed) {
    Buffer bytes(size);
    uint32_t value = seed * 2654435761U;
    for (uint8_t& byte : bytes) {
        value = value * 1664525U + 1013904223U;
        byte = static_cast<uint8_t>(value >> 24);
    }
    return bytes;
}

Buffer make(const Ipv4Packet& packet) {
    const size_t header = 20 + packet.options.size();
    if (packet.options.size() % 4 || header > 60) throw std::invalid_argument("options");
    const size_t total = header + packet.payload.size();
    Buffer bytes{static_cast<uint8_t>(0x40 + header / 4), packet.tos};
    for (size_t value : {total, size_t{packet.id}, size_t{packet.fragment}}) {
        bytes.push_back(static_cast<uint8_t>(value >> 8));
        bytes.push_back(static_cast<uint8_t>(value));
    }
    bytes.insert(bytes.end(), {packet.ttl, packet.protocol, 0, 0});
    for (std::string_view address : {packet.source, packet.destination}) {
        const IpAddress parsed = ip(address);
        bytes.insert(bytes.end(), parsed.bytes.begin(), parsed.bytes.begin() + 4);
    }
    bytes.insert(bytes.end(), packet.options.begin(), packet.options.end());
    set16(bytes, 10, naive_checksum(bytes));
    bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
    return bytes;
}

Buffer make(const Ipv6Packet& packet) {
    const size_t size = packet.payload.size();
    Buffer bytes{0x6a,
                 0xbc,
                 0xde,
                 0xf1,
                 static_cast<uint8_t>(size >> 8),
                 static_cast<uint8_t>(size),
                 packet.next,
                 packet.hop_limit};
    for (std::string_view address : {packet.source, packet.destination}) {
        const IpAddress parsed = ip(address);
        bytes.insert(bytes.end(), parsed.bytes.begin(), parsed.bytes.end());
    }
    bytes.insert(bytes.end(), packet.payload.begin(), packet.payload.end());
    return bytes;
}

Buffer icmp_error(uint8_t type, uint8_t code, uint32_t parameter, const Buffer& quote) {
    Buffer message = {type, code, 0, 0};
    for (int shift : {24, 16, 8, 0})
        message.push_back(static_cast<uint8_t>(parameter >> shift));
    return join({message, quote});
}

Buffer frame(const Buffer& packet, std::string_view destination, const Buffer& tags,
             std::string_view source) {
    const MacAddress to = mac(destination), from = mac(source);
    const Buffer type = packet.at(0) >> 4 == 4 ? Buffer{0x08, 0x00} : Buffer{0x86, 0xdd};
    return join({Buffer(to.bytes.begin(), to.bytes.end()), Buffer(from.bytes.begin(), from.bytes.end()), tags,
                 type, packet});
}

}  // namespace pktpit::router::test
