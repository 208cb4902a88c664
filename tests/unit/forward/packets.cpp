// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/forward/packets.h"

#include <arpa/inet.h>

#include <stdexcept>
#include <string>

namespace pktpit::router::test {
namespace {

void put16(Buffer& out, uint32_t value) {
    out.push_back(static_cast<uint8_t>(value >> 8));
    out.push_back(static_cast<uint8_t>(value));
}

void put32(Buffer& out, uint32_t value) {
    put16(out, value >> 16);
    put16(out, value & 0xffff);
}

void put_address(Buffer& out, int family, std::string_view text) {
    std::array<uint8_t, 16> bytes{};
    if (inet_pton(family, std::string(text).c_str(), bytes.data()) != 1)
        throw std::invalid_argument("not an address: " + std::string(text));
    out.insert(out.end(), bytes.begin(), bytes.begin() + (family == AF_INET ? 4 : 16));
}

void put(Buffer& out, const Buffer& bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

}  // namespace

Buffer transport(size_t bytes, uint16_t source_port, uint16_t destination_port) {
    Buffer out;
    put16(out, source_port);
    put16(out, destination_port);
    while (out.size() < bytes)
        out.push_back(static_cast<uint8_t>(out.size()));
    out.resize(bytes);
    return out;
}

uint16_t checksum_of(const uint8_t* bytes, size_t count) {
    uint32_t sum = 0;
    for (size_t at = 0; at < count; at++) {
        sum += at % 2 == 0 ? uint32_t{bytes[at]} << 8 : bytes[at];
        if (sum > 0xffff) sum -= 0xffff;
    }
    return static_cast<uint16_t>(~sum);
}

Buffer packet(const Ipv4& fields) {
    const size_t header = 20 + fields.options.size();
    if (fields.options.size() % 4 != 0) throw std::invalid_argument("options not padded");
    Buffer out;
    out.push_back(
        static_cast<uint8_t>(fields.version << 4 | fields.ihl.value_or(static_cast<uint8_t>(header / 4))));
    out.push_back(fields.tos);
    put16(out, fields.total_length.value_or(static_cast<uint16_t>(header + fields.payload.size())));
    put16(out, fields.id);
    put16(out, fields.fragment);
    out.push_back(fields.ttl);
    out.push_back(fields.protocol);
    put16(out, 0);
    put_address(out, AF_INET, fields.source);
    put_address(out, AF_INET, fields.destination);
    put(out, fields.options);
    const uint16_t sum = fields.checksum.value_or(checksum_of(out.data(), out.size()));
    out[10] = static_cast<uint8_t>(sum >> 8);
    out[11] = static_cast<uint8_t>(sum);
    put(out, fields.payload);
    return out;
}

Buffer packet(const Ipv6& fields) {
    Buffer out;
    put32(out, uint32_t{fields.version} << 28 | uint32_t{fields.traffic_class} << 20 | fields.flow_label);
    put16(out, fields.payload_length.value_or(static_cast<uint16_t>(fields.payload.size())));
    out.push_back(fields.next);
    out.push_back(fields.hop_limit);
    put_address(out, AF_INET6, fields.source);
    put_address(out, AF_INET6, fields.destination);
    put(out, fields.payload);
    return out;
}

Buffer frame(const Ethernet& ethernet, const Buffer& packet, uint16_t ethertype) {
    Buffer out(ethernet.to.begin(), ethernet.to.end());
    out.insert(out.end(), ethernet.from.begin(), ethernet.from.end());
    for (const Tag& tag : ethernet.tags) {
        put16(out, tag.tpid);
        put16(out, tag.tci);
    }
    put16(out, ethernet.ethertype.value_or(ethertype));
    put(out, packet);
    return out;
}

Buffer operator+(Buffer left, const Buffer& right) {
    put(left, right);
    return left;
}

Buffer cut(const Buffer& bytes, size_t count) {
    return {bytes.begin(), bytes.begin() + static_cast<long>(count)};
}

}  // namespace pktpit::router::test
