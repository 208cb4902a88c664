// SPDX-License-Identifier: BSD-3-Clause
/// pcapng, written block by block into strings (draft-ietf-opsawg-pcapng, as tshark reads it), little-endian.
/// Pure functions; any thread. libpcap writes no pcapng, and could write no comments.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace pktpit::router::pcapng {

/// Section header: who wrote it. Begins a file.
std::string section_header(std::string_view application);
/// Interface description; interfaces are numbered in order, from 0. Ethernet, timestamps in nanoseconds.
std::string interface(std::string_view name, std::string_view description, uint32_t snaplen);

enum class Direction : uint8_t { unknown = 0, inbound = 1, outbound = 2 };
struct Packet {
    uint32_t interface = 0;
    uint64_t time = 0;    ///< ns since 1970
    uint32_t length = 0;  ///< on the wire
    std::span<const uint8_t> bytes;
    Direction direction = Direction::unknown;
    std::string_view comment;  ///< UTF-8; empty: none
};
std::string enhanced_packet(const Packet& packet);

/// `received`: packets that came to this interface's capture; `lost`: those of them that are not in the file.
std::string interface_statistics(uint32_t interface, uint64_t time, uint64_t received, uint64_t lost);

inline constexpr uint32_t enhanced_packet_type = 6;
inline constexpr uint32_t interface_statistics_type = 5;

}  // namespace pktpit::router::pcapng
