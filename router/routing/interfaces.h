// SPDX-License-Identifier: BSD-3-Clause
/// The router's own L3 interfaces: ports and VLANs on them, as the control plane sees them. Plain values and
/// a table with stable ids. One thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"

namespace pktpit::router {

/// Ids of L3 interfaces and of ports; 0 is none, so that zeroed memory names nothing.
using InterfaceId = uint16_t;
using PortId = uint16_t;
/// A VRF of the routing core; 0 is the default one, which is always there.
using VrfId = uint16_t;
inline constexpr VrfId default_vrf = 0;

struct L3Interface {
    InterfaceId id = 0;
    std::string name;
    PortId port = 0;
    std::vector<uint16_t> vlan;  ///< VIDs, outermost first; empty: untagged
    uint16_t vlan_protocol = 0x8100;
    VrfId vrf = default_vrf;  ///< in whose routes its packets are looked up
    uint32_t ifindex = 0;     ///< kernel device that has the addresses and neighbours; 0: none (now)
    bool up = false;
    bool set_down = false;     ///< by hand, and not only without a carrier
    bool no_redirect = false;  ///< of a port: XDP redirects from other ports do not reach its device
    MacAddress mac;
    uint32_t mtu = 0;
    std::vector<InterfaceAddress> addresses;

    [[nodiscard]] bool is_port() const { return vlan.empty(); }
};

class InterfaceTable {
  public:
    /// The new interface's id, 0 when all 65,534 are taken. It is interface.id if that is given and free: an
    /// interface that is made anew keeps its routes. Otherwise an id is used again as late as can be, since
    /// routes may still name it.
    InterfaceId add(L3Interface interface) {
        if (by_id_.size() >= max_id) return 0;
        if (interface.id == 0 || by_id_.contains(interface.id)) {
            do
                last_id_ = last_id_ == max_id ? InterfaceId{1} : static_cast<InterfaceId>(last_id_ + 1);
            while (by_id_.contains(last_id_));
            interface.id = last_id_;
        }
        const InterfaceId id = interface.id;
        by_id_.emplace(id, std::move(interface));
        return id;
    }
    void remove(InterfaceId id) { by_id_.erase(id); }

    [[nodiscard]] L3Interface* find(InterfaceId id) {
        const auto found = by_id_.find(id);
        return found == by_id_.end() ? nullptr : &found->second;
    }
    [[nodiscard]] const L3Interface* find(InterfaceId id) const {
        return const_cast<InterfaceTable*>(this)->find(id);
    }
    [[nodiscard]] const L3Interface* by_name(std::string_view name) const {
        return find_if([&](const L3Interface& i) { return i.name == name; });
    }
    [[nodiscard]] const L3Interface* by_ifindex(uint32_t ifindex) const {
        return ifindex == 0 ? nullptr : find_if([&](const L3Interface& i) { return i.ifindex == ifindex; });
    }
    [[nodiscard]] const std::map<InterfaceId, L3Interface>& all() const { return by_id_; }

  private:
    static constexpr InterfaceId max_id = 0xfffe;  // 0xffff marks a deleted VLAN slot in the image

    template <class Predicate>
    [[nodiscard]] const L3Interface* find_if(Predicate predicate) const {
        const auto found =
            std::ranges::find_if(by_id_, [&](const auto& entry) { return predicate(entry.second); });
        return found == by_id_.end() ? nullptr : &found->second;
    }
    std::map<InterfaceId, L3Interface> by_id_;
    InterfaceId last_id_ = 0;
};

}  // namespace pktpit::router
