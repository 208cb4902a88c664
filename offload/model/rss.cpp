// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/rss.h"

#include <array>
#include <cstring>

namespace pktpit::model {
namespace {

constexpr size_t addresses_and_ports = 12;
constexpr std::array<uint8_t, 40> key = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                         0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                         0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                         0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

using Table = std::array<std::array<uint32_t, 256>, addresses_and_ports>;

/// 32 bits of the key from a bit on.
constexpr uint32_t window(size_t bit) {
    uint32_t bits = 0;
    for (size_t i = 0; i < 32; i++)
        bits = bits << 1 | (key[(bit + i) / 8] >> (7 - (bit + i) % 8) & 1U);
    return bits;
}

/// What each value of each byte adds, so that a frame costs twelve look-ups.
constexpr Table contributions() {
    Table table{};
    for (size_t byte = 0; byte < addresses_and_ports; byte++)
        for (size_t value = 0; value < 256; value++)
            for (size_t bit = 0; bit < 8; bit++)
                if (value >> (7 - bit) & 1U) table[byte][value] ^= window(byte * 8 + bit);
    return table;
}
// Too many steps for a constant expression of clang's.
const Table table_of_key = contributions();

}  // namespace

uint32_t toeplitz(std::span<const std::byte> tuple) {
    uint32_t hash = 0;
    for (size_t i = 0; i < tuple.size() && i < addresses_and_ports; i++)
        hash ^= table_of_key[i][static_cast<uint8_t>(tuple[i])];
    return hash;
}

uint32_t rss_queue(std::span<const std::byte> frame, uint32_t queues) {
    constexpr size_t ethernet = 14, shortest_ip = 20, addresses = 12;
    constexpr std::byte udp{17}, tcp{6};
    if (queues < 2 || frame.size() < ethernet + shortest_ip) return 0;
    if (frame[12] != std::byte{0x08} || frame[13] != std::byte{0} || frame[ethernet] >> 4 != std::byte{4})
        return 0;
    const size_t header = std::to_integer<size_t>(frame[ethernet] & std::byte{15}) * 4;
    const bool fragment =
        (frame[ethernet + 6] & std::byte{0x3f}) != std::byte{0} || frame[ethernet + 7] != std::byte{0};
    const std::byte protocol = frame[ethernet + 9];
    std::array<std::byte, addresses_and_ports> tuple{};
    std::memcpy(tuple.data(), &frame[ethernet + addresses], 8);
    size_t length = 8;
    if (!fragment && (protocol == udp || protocol == tcp) && header >= shortest_ip &&
        frame.size() >= ethernet + header + 4) {
        std::memcpy(&tuple[8], &frame[ethernet + header], 4);
        length = addresses_and_ports;
    }
    const uint32_t entry = toeplitz(std::span(tuple).first(length)) % rss_table_entries;
    return entry % queues;
}

}  // namespace pktpit::model
