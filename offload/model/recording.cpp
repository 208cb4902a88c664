// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/recording.h"

#include <algorithm>

#include "offload/model/nic.h"

namespace pktpit::model {
namespace {

constexpr uint32_t fcs = 4;
constexpr uint32_t smallest_frame = 64;
constexpr size_t mac_header = 14, vlan_tag = 4;

uint32_t read16(std::span<const std::byte> bytes, size_t at) {
    return std::to_integer<uint32_t>(bytes[at]) << 8 | std::to_integer<uint32_t>(bytes[at + 1]);
}

/// FNV-1a.
uint32_t hash(std::span<const std::byte> bytes, uint32_t start = 2166136261U) {
    for (const std::byte byte : bytes)
        start = (start ^ std::to_integer<uint32_t>(byte)) * 16777619U;
    return start;
}

/// `ip`: from the IP header on.
void look_at_ip(std::span<const std::byte> ip, uint32_t ether_type, RecordedFrame& frame) {
    size_t header = 0, addresses = 0, address_bytes = 0, protocol_at = 0;
    if (ether_type == 0x0800 && ip.size() >= 20) {
        header = std::max<size_t>((std::to_integer<size_t>(ip[0]) & 0xf) * 4, 20);
        addresses = 12;
        address_bytes = 8;
        protocol_at = 9;
        frame.destination = read16(ip, 16) << 16 | read16(ip, 18);
    } else if (ether_type == 0x86dd && ip.size() >= 40) {
        header = 40;
        addresses = 8;
        address_bytes = 32;
        protocol_at = 6;
    } else {
        return;
    }
    frame.flow = hash(ip.subspan(addresses, address_bytes), hash(ip.subspan(protocol_at, 1)));
    const auto protocol = std::to_integer<unsigned>(ip[protocol_at]);
    const bool has_ports = protocol == 6 || protocol == 17;
    const bool first_fragment = ether_type != 0x0800 || (read16(ip, 6) & 0x1fff) == 0;
    if (has_ports && first_fragment && ip.size() >= header + 4)
        frame.flow = hash(ip.subspan(header, 4), frame.flow);
}

}  // namespace

void Recording::add(Time time, std::span<const std::byte> bytes, uint32_t length) {
    if (frames_.empty()) first_ = time;
    const Time last = frames_.empty() ? 0 : frames_.back().at;
    RecordedFrame frame;
    frame.at = time < first_ ? last : std::max(time - first_, last);
    const uint64_t with_fcs = uint64_t{length} + fcs;
    frame.size = static_cast<uint32_t>(std::clamp<uint64_t>(with_fcs, smallest_frame, largest_frame));
    resized_ += frame.size != with_fcs;
    if (bytes.size() >= mac_header) {
        frame.flow = hash(bytes.first(12));
        size_t type_at = 12;
        while (bytes.size() >= type_at + 2 + vlan_tag &&
               (read16(bytes, type_at) == 0x8100 || read16(bytes, type_at) == 0x88a8))
            type_at += vlan_tag;
        look_at_ip(bytes.subspan(type_at + 2), read16(bytes, type_at), frame);
    }
    frames_.push_back(frame);
}

Time Recording::span() const {
    if (frames_.size() < 2) return second;
    const Time all = frames_.back().at;
    return std::max<Time>(all + all / (frames_.size() - 1), 1);
}

}  // namespace pktpit::model
