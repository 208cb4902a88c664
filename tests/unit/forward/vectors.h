// SPDX-License-Identifier: BSD-3-Clause
/// Packet in, packet out, verdict: what the forwarding function must do, as a table. The C++ forward() and
/// the eBPF program (tests/differential) are both held to it, over the router of test_router.h.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "bpf/verdict.h"
#include "tests/unit/forward/packets.h"
#include "tests/unit/forward/test_router.h"

namespace pktpit::router::test {

struct Vector {
    std::string name;
    uint16_t port = 1;
    Buffer in;
    pp_verdict verdict = PP_NONE;
    Buffer out = {};  ///< PP_FORWARDED only
    uint16_t egress_port = 0;
    uint16_t pointer = 0;  ///< parameter pointer of option verdicts
};

std::vector<Vector> link_layer_vectors();
std::vector<Vector> ipv4_vectors();
std::vector<Vector> ipv6_vectors();
std::vector<Vector> all_vectors();

/// A frame from the peer to port 1, untagged; and the link layers that frames leave by.
inline const Ethernet arriving{.to = port1, .from = peer};
inline const Ethernet leaving2{.to = next_hop2, .from = port2};
inline const Ethernet leaving3{.to = next_hop3, .from = port3, .tags = {{0x8100, tci100}}};
inline const Ethernet leaving32{.to = next_hop32, .from = port3, .tags = {{0x88a8, 200}, {0x8100, 7}}};

inline Ethernet tagged(Ethernet ethernet, std::vector<Tag> tags) {
    ethernet.tags = std::move(tags);
    return ethernet;
}

inline Ipv4 one_hop_on(Ipv4 fields) {
    fields.ttl--;
    return fields;
}
inline Ipv6 one_hop_on(Ipv6 fields) {
    fields.hop_limit--;
    return fields;
}

/// Of one family: packets that the peer sends to port 1, untagged, and what becomes of them.
template <class Fields>
class FamilyTable {
  public:
    explicit FamilyTable(std::string family) : family_(std::move(family)) {}

    void stays(const std::string& name, const Fields& fields, pp_verdict verdict, uint16_t pointer = 0) {
        rows.push_back({family_ + name, 1, frame(arriving, fields), verdict, {}, 0, pointer});
    }
    void stays_bytes(const std::string& name, const Buffer& in, pp_verdict verdict) {
        rows.push_back({family_ + name, 1, in, verdict});
    }
    /// Leaves as it came, but for TTL and checksum, by `out`; `padding` behind the packet stays.
    void leaves(const std::string& name, const Fields& fields, const Ethernet& out = leaving2,
                uint16_t port = 2, const Buffer& padding = {}) {
        rows.push_back({family_ + name, 1, frame(arriving, fields) + padding, PP_FORWARDED,
                        frame(out, one_hop_on(fields)) + padding, port});
    }
    /// As the above, but what is behind the packet stays behind.
    void loses(const std::string& name, const Fields& fields, const Buffer& trailer) {
        rows.push_back({family_ + name, 1, frame(arriving, fields) + trailer, PP_FORWARDED,
                        frame(leaving2, one_hop_on(fields)), 2});
    }
    std::vector<Vector> rows;

  private:
    std::string family_;
};

}  // namespace pktpit::router::test
