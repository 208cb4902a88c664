// SPDX-License-Identifier: BSD-3-Clause
/// Connected routes: what the addresses of interfaces and the neighbours on their nets put into the RIB.
///
/// Several things can want the same prefix (two addresses in one net, a host route that is also a broadcast
/// address). All wishes are kept, and the strongest is the route. One thread.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/address.h"
#include "fib/layout.h"
#include "router/routing/interfaces.h"
#include "router/routing/next_hop_spec.h"

namespace pktpit::router {

/// What an address of an interface has beside its net, as the kernel has it.
struct AddressDetails {
    std::optional<IpAddress> broadcast{};  ///< nullopt: the last address of the net
    std::optional<IpAddress> peer{};       ///< the other end of a point-to-point link
    uint32_t metric = 0;                   ///< of its prefix route (IFA_RT_PRIORITY); 0: the family's own
    bool prefix_route = true;              ///< false: others say how its net is reached (noprefixroute)
    bool operator==(const AddressDetails&) const = default;
};

/// Which of several nets of one prefix is used: the link that is up, then the better metric, then the one
/// that came first.
struct NetRank {
    bool down = false;
    uint32_t metric = 0;
    uint64_t order = 0;
    auto operator<=>(const NetRank&) const = default;
};

/// One wish for a prefix. Order is strength: the router's own address, then a broadcast address, then a
/// neighbour, then the net itself.
struct ConnectedWish {
    enum class Strength : uint8_t { host, broadcast, neighbour, net } strength = Strength::net;
    NextHopSetSpec spec;
    NetRank rank{};  ///< of a net
    std::strong_ordering operator<=>(const ConnectedWish& other) const {
        if (const auto by = strength <=> other.strength; by != 0) return by;
        if (const auto by = rank <=> other.rank; by != 0) return by;
        return spec <=> other.spec;
    }
    bool operator==(const ConnectedWish&) const = default;
};

/// What one address of an interface wishes for beside its nets: to be the host's, and what the hosts of its
/// net listen to. Where the host does not listen by the interface, since that has been set down, Linux has an
/// IPv4 address still, and no IPv6 one. RFC 1812 4.2.2.11 on broadcast addresses: both the all-ones and the
/// obsolete all-zeros host part; none for /31 (RFC 3021) and /32. Of IPv6 the subnet-router anycast address
/// is the router's own (RFC 4291 2.6.1), as Linux has it; none for /127 and /128.
std::vector<std::pair<Prefix, ConnectedWish>> wishes_of(InterfaceId interface,
                                                        const InterfaceAddress& address,
                                                        const AddressDetails& details, bool listens = true);
/// The nets that the kernel makes prefix routes to. Of an IPv4 address with a peer that is the peer's net; of
/// an IPv6 one its own, and the peer alone. Link-local ones never meet the FIB.
std::vector<Prefix> nets_of(const InterfaceAddress& address, const AddressDetails& details);
/// A net on the link of an interface.
ConnectedWish wish_of_net(InterfaceId interface, const NetRank& rank);
/// Packets to the prefix are the host's.
ConnectedWish wish_of_host();
/// The host route of a neighbour on a connected net.
std::pair<Prefix, ConnectedWish> wish_of_neighbour(InterfaceId interface, const IpAddress& neighbour);

class ConnectedWishes {
  public:
    /// Both return true if the prefix's strongest wish is another one now.
    bool add(const Prefix& prefix, const ConnectedWish& wish);
    bool remove(const Prefix& prefix, const ConnectedWish& wish);
    [[nodiscard]] const ConnectedWish* strongest(const Prefix& prefix) const;
    /// The net that is used of those of exactly this prefix, whatever is stronger there.
    [[nodiscard]] const ConnectedWish* net(const Prefix& prefix) const;

  private:
    std::map<Prefix, std::multiset<ConnectedWish>> wishes_;
};

}  // namespace pktpit::router
