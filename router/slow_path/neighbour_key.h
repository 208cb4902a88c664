// SPDX-License-Identifier: BSD-3-Clause
/// A neighbour: the interface that it is on, and its address there. A value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/address.h"

namespace pktpit::router {

struct NeighbourKey {
    uint16_t interface = 0;
    IpAddress next_hop;
    bool operator==(const NeighbourKey&) const = default;
};

struct NeighbourKeyHash {
    size_t operator()(const NeighbourKey& key) const noexcept {
        return std::hash<IpAddress>{}(key.next_hop) ^ key.interface * size_t{0x9e3779b97f4a7c15};
    }
};

/// Who may use up what others need: the packets of one family that came in by one interface and leave by
/// another.
struct NeighbourGroup {
    Family family = Family::ipv4;
    uint16_t egress = 0;
    uint16_t ingress = 0;  ///< 0: the router's own packets
    auto operator<=>(const NeighbourGroup&) const = default;
};

inline NeighbourGroup group_of(const NeighbourKey& key, uint16_t ingress) {
    return {key.next_hop.family, key.interface, ingress};
}

}  // namespace pktpit::router
