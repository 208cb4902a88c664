// SPDX-License-Identifier: BSD-3-Clause
/// The nets on the links of interfaces, as Linux has prefix routes to them: what the addresses of an
/// interface bring, in the order in which they came, and what the kernel says of its own routes. Pure; one
/// thread. Used by Routing, which carries the changes out.
///
/// An address brings its nets at once. As soon as the kernel has told of the route its word counts: a net
/// goes with its route though the address stays (`ip route del`), and one that no address brings is a net
/// nevertheless (`noprefixroute`, after which a network manager sets the route itself).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/address.h"
#include "router/routing/connected.h"
#include "router/routing/interfaces.h"

namespace pktpit::router {

class LinkNets {
  public:
    struct Change {
        InterfaceId interface = 0;
        Prefix prefix;
        ConnectedWish wish;
        bool add = false;
    };
    /// What is added comes before what goes.
    using Changes = std::vector<Change>;

    /// New, or with other details than before.
    Changes add_address(InterfaceId interface, const InterfaceAddress& address,
                        const AddressDetails& details);
    Changes remove_address(InterfaceId interface, const InterfaceAddress& address,
                           const AddressDetails& details);
    /// The kernel has a prefix route by the interface. `order`: that of all such routes, which grows.
    Changes set_route(InterfaceId interface, const Prefix& net, uint32_t metric, uint64_t order);
    /// It has it no more. If an address brings the net, another route may be on its way, since the kernel
    /// exchanges them when an address goes or changes: settle() says that none is.
    Changes remove_route(InterfaceId interface, const Prefix& net, uint32_t metric);
    Changes settle();
    /// The kernel makes its routes anew, as when a device is set up.
    Changes forget_routes(InterfaceId interface);
    Changes set_up(InterfaceId interface, bool up);
    /// All that it has goes.
    Changes remove_interface(InterfaceId interface);
    /// Every net that an interface has now.
    void for_each(InterfaceId interface,
                  const std::function<void(const Prefix&, const ConnectedWish&)>& visit) const;

  private:
    struct Source {
        InterfaceAddress address;
        std::optional<IpAddress> peer;
        uint32_t metric = 0;
        bool prefix_route = true;
    };
    /// A route of the net with one metric.
    struct Route {
        std::optional<uint64_t> told;    ///< the kernel has it; in this order
        std::optional<uint64_t> untold;  ///< its order while it has not
        bool doubtful = false;           ///< it had, and may have it again
        bool withdrawn = false;          ///< it has it no more, though an address is there
        std::optional<ConnectedWish> wish;

        void be(std::optional<uint64_t> order) {
            told = order;
            untold.reset();
            doubtful = withdrawn = false;
        }
    };
    struct Net {
        std::vector<Source> addresses;       ///< in the order in which they came
        std::map<uint32_t, Route> routes{};  ///< by metric
    };
    using Key = std::pair<InterfaceId, Prefix>;
    using Table = std::map<Key, Net>;

    [[nodiscard]] static std::set<uint32_t> brought(const Key& key, const Net& net);
    [[nodiscard]] NetRank rank_of(InterfaceId interface, uint32_t metric, Route& route);
    /// Erases a net that nothing is left of; returns what is behind it.
    Table::iterator update(Table::iterator at, Changes& changes);
    template <class Visit>
    Changes each(InterfaceId interface, Visit visit);

    Table nets_;
    std::set<InterfaceId> up_;
    std::set<Key> doubtful_;
    uint64_t untold_ = 0;  ///< orders of routes that the kernel has not told of yet
};

}  // namespace pktpit::router
