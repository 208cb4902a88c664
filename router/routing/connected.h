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
#include "router/kernel/kernel.h"
#include "router/routing/interfaces.h"
#include "router/routing/next_hop_spec.h"

namespace pktpit::router {

/// One wish for a prefix. Order is strength: the router's own address, then a broadcast address, then a
/// neighbour, then the net itself.
struct ConnectedWish {
    enum class Strength : uint8_t { host, broadcast, neighbour, net } strength = Strength::net;
    NextHopSetSpec spec;
    auto operator<=>(const ConnectedWish&) const = default;
};

/// What one address of an interface wishes for. RFC 1812 4.2.2.11 on broadcast addresses: both the all-ones
/// and the obsolete all-zeros host part; none for /31 (RFC 3021) and /32. Of IPv6 the subnet-router anycast
/// address is the router's own (RFC 4291 2.6.1), as Linux has it; none for /127 and /128.
std::vector<std::pair<Prefix, ConnectedWish>> wishes_of(InterfaceId interface,
                                                        const InterfaceAddress& address,
                                                        const std::optional<IpAddress>& broadcast);
/// The host route of a neighbour on a connected net.
std::pair<Prefix, ConnectedWish> wish_of_neighbour(InterfaceId interface, const IpAddress& neighbour);

class ConnectedWishes {
  public:
    /// Both return true if the prefix's strongest wish is another one now.
    bool add(const Prefix& prefix, const ConnectedWish& wish);
    bool remove(const Prefix& prefix, const ConnectedWish& wish);
    [[nodiscard]] const ConnectedWish* strongest(const Prefix& prefix) const;

  private:
    std::map<Prefix, std::multiset<ConnectedWish>> wishes_;
};

}  // namespace pktpit::router
