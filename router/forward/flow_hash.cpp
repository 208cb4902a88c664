// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "router/forward/frame.h"

namespace pktpit::router {
namespace {

/// The function of bpf/flow_hash.h, whose comment says what goes into it: 64-bit words are added one after
/// the other, and the top 32 bits of the finished state choose.
class FlowHash {
  public:
    explicit FlowHash(uint64_t seed) : state_(seed) {}
    void add(uint64_t word) {
        state_ = (state_ ^ word) * 0x9e3779b97f4a7c15U;
        state_ ^= state_ >> 32;
    }
    [[nodiscard]] uint32_t value() const {
        uint64_t mixed = state_ * 0x6a09e667f3bcc909U;
        mixed ^= mixed >> 29;
        return static_cast<uint32_t>(mixed * 0xbb67ae8584caa73bU >> 32);
    }

  private:
    uint64_t state_;
};

/// TCP, UDP, DCCP, SCTP, UDP-Lite: ports in the first four bytes.
bool has_ports(uint8_t protocol) {
    return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}

/// Both ports as one number, 0 where the packet, as far as it is seen, ends before them.
uint32_t ports_at(Bytes packet, size_t at) {
    return at + 4 <= packet.size() ? load_be32(&packet[at]) : 0;
}

/// Only what belongs to the packet: behind it there may be padding.
Bytes without_padding(Bytes packet, size_t packet_length) {
    return packet.first(std::min(packet.size(), packet_length));
}

}  // namespace

uint32_t flow_hash_ipv4(Bytes packet, uint64_t seed) {
    const uint8_t protocol = packet[9];
    const bool fragment = (load_be16(&packet[6]) & 0x3fff) != 0;
    uint32_t ports = 0;
    if (!fragment && has_ports(protocol))
        ports = ports_at(without_padding(packet, load_be16(&packet[2])), (packet[0] & 15u) * 4);
    FlowHash hash(seed);
    hash.add(load_be64(&packet[12]));  // source and destination
    hash.add(uint64_t{protocol} << 32 | ports);
    return hash.value();
}

uint32_t flow_hash_ipv6(Bytes packet, uint64_t seed) {
    FlowHash hash(seed);
    for (size_t at = 8; at < 40; at += 8)
        hash.add(load_be64(&packet[at]));
    const uint32_t label = load_be32(packet.data()) & 0xfffff;
    if (label != 0) {
        hash.add(uint64_t{1} << 63 | label);
        return hash.value();
    }

    constexpr int max_extensions = 8;
    const Bytes seen = without_padding(packet, size_t{40} + load_be16(&packet[4]));
    uint8_t next = packet[6];
    uint32_t ports = 0;
    size_t at = 40;
    for (int i = 0; i < max_extensions; i++) {
        const bool in_eights = next == 0 || next == 43 || next == 60;  // hop-by-hop, routing, destination
        const bool fragment = next == 44;
        const bool authentication = next == 51;
        if (!in_eights && !fragment && !authentication) {
            if (has_ports(next)) ports = ports_at(seen, at);
            break;
        }
        if (at + 2 > seen.size()) break;
        next = seen[at];
        if (fragment) break;
        at += in_eights ? (seen[at + 1] + size_t{1}) * 8 : (seen[at + 1] + size_t{2}) * 4;
    }
    hash.add(uint64_t{next} << 32 | ports);
    return hash.value();
}

}  // namespace pktpit::router
