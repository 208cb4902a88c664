// SPDX-License-Identifier: BSD-3-Clause
/// The routing core: interfaces, neighbours and routes in; FIB image out.
///
/// It puts the pieces of this folder together with the RIB and the image. It talks to nobody: the daemon
/// tells it what the kernel, the configuration and the CLI say, and asks it what to resolve. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fib/image.h"
#include "fib/rib.h"
#include "router/hot/hot_routes.h"
#include "router/routing/adjacencies.h"
#include "router/routing/connected.h"
#include "router/routing/interfaces.h"
#include "router/routing/next_hop_sets.h"

namespace pktpit::router {

/// State of a device as far as forwarding cares.
struct LinkState {
    uint32_t ifindex = 0;
    bool up = false;
    MacAddress mac;
    uint32_t mtu = 0;
    bool no_redirect = false;  ///< frames of other ports' stages cannot be redirected to it
    bool operator==(const LinkState&) const = default;
};

class Routing {
  public:
    /// Asks for a neighbour to be resolved; the answer comes as set_neighbour().
    using Resolve = std::function<void(InterfaceId interface, const IpAddress& address)>;

    /// A connected route could not be written (FIB full): nobody can be refused, so somebody must be told.
    using Refused = std::function<void(const Error& error)>;

    /// `port_table`: a table of the image that gets the host's own addresses only, for ports whose packets
    /// are decided about elsewhere; the default table: there is none.
    Routing(fib::FibImage& image, Resolve resolve, Refused refused,
            fib::TableId port_table = PP_FIB_DEFAULT_TABLE);

    /// A table that holds parts of the default table, for ports whose stage decides about some packets: it is
    /// told before each change. Before the first route; outlives this.
    void set_hot_routes(HotRoutes& hot) { hot_ = &hot; }

    // Interfaces. Ports bring their port id; VLANs are on a port that was added before.
    Result<InterfaceId> add_interface(const std::string& name, PortId port, const std::vector<uint16_t>& vlan,
                                      uint16_t vlan_protocol, InterfaceId keep_id = 0);
    void remove_interface(InterfaceId id);
    /// For a VLAN: the kernel's VLAN device, or the port's state with ifindex 0 where there is none.
    void set_link(InterfaceId id, const LinkState& link);
    void add_address(InterfaceId id, const InterfaceAddress& address,
                     const std::optional<IpAddress>& broadcast);
    void remove_address(InterfaceId id, const InterfaceAddress& address);
    /// Addresses of devices that are none of the router's interfaces: packets to them are the host's.
    void add_host_address(const IpAddress& address);
    void remove_host_address(const IpAddress& address);

    void set_neighbour(InterfaceId interface, const IpAddress& address, const Neighbour& neighbour);
    void remove_neighbour(InterfaceId interface, const IpAddress& address);
    /// Asks again for next hops that are not resolved, and for room that was missing. Call every few seconds.
    void resolve_missing();
    // What becomes of many prefixes at once (their next hops can be used no more, or again) in pieces: groups
    // are right at once, and with them all prefixes that have a backup or a second best route; each of the
    // others when its turn comes.
    /// Such work is left to settle() from now on, and this is called when there is some. Without: done at
    /// once.
    void leave_work(std::function<void()> there_is_work) { there_is_work_ = std::move(there_is_work); }
    /// Up to so many prefixes; true when nothing is left.
    bool settle(size_t prefixes);
    /// Asks for those of one set, which somebody has just begun to use.
    void resolve_missing_of(fib::NextHopSetId id);
    /// Every 100 ms.
    void tick(std::chrono::steady_clock::time_point now) { sets_.tick(now); }

    // Routes of the sources config, cli, fpm and kernel. Sets are acquired first, so that a large table
    // interns each of its few sets once.
    Result<fib::NextHopSetId> acquire_next_hops(const NextHopSetSpec& spec) { return sets_.acquire(spec); }
    void add_next_hops_reference(fib::NextHopSetId id) { sets_.add_reference(id); }
    void release_next_hops(fib::NextHopSetId id) { sets_.release(id); }
    /// Adds or replaces; takes a reference on route.next_hops of its own.
    Result<void> set_route(const fib::Route& route);
    Result<bool> erase_route(const Prefix& prefix, fib::RouteSource source);
    [[nodiscard]] std::optional<fib::Route> route(const Prefix& prefix, fib::RouteSource source) const;
    /// May gateways be resolved over the default route? As FRR's `ip nht resolve-via-default`.
    void set_resolve_via_default(bool allowed) { sets_.set_via_default(allowed); }
    [[nodiscard]] bool resolve_via_default() const { return sets_.via_default(); }

    [[nodiscard]] const InterfaceTable& interfaces() const { return interfaces_; }
    [[nodiscard]] const Adjacencies& adjacencies() const { return adjacencies_; }
    [[nodiscard]] const NextHopSets& next_hop_sets() const { return sets_; }
    [[nodiscard]] const fib::Rib& rib() const { return rib_; }
    [[nodiscard]] const fib::FibImage& image() const { return image_; }
    [[nodiscard]] bool is_broadcast(const IpAddress& address) const;

  private:
    Result<void> write_best(const Prefix& prefix, const std::optional<fib::Route>& best,
                            fib::NextHopSetId second);
    Result<void> write_changed(const Prefix& prefix, pp_adjacency_kind kind,
                               std::optional<fib::GroupId> group);
    bool usable_changed(fib::NextHopSetId id, bool usable);
    Result<void> write_host(const Prefix& prefix, std::optional<fib::GroupId> group);
    void note_source(const IpAddress& address, bool own);
    Result<void> write_group(const Prefix& prefix, std::optional<fib::GroupId> group);
    void wish(const Prefix& prefix, const ConnectedWish& wish, bool add);
    void install_connected(const Prefix& prefix);
    void neighbour_wish(InterfaceId interface, const IpAddress& address);
    void write_port(const L3Interface& interface);
    void interface_changed(InterfaceId id);

    fib::FibImage& image_;
    fib::TableId port_table_;
    HotRoutes* hot_ = nullptr;
    Resolve resolve_;
    Refused refused_;
    InterfaceTable interfaces_;
    Adjacencies adjacencies_;
    NextHopSets sets_;
    fib::Rib rib_;
    std::function<void()> there_is_work_;
    std::set<fib::NextHopSetId> draining_;  ///< their routes are leaving them
    ConnectedWishes connected_;
    std::set<IpAddress> sources_;  ///< noted in the image
    std::map<Adjacencies::NeighbourKey, Prefix> neighbour_routes_;
    std::map<std::pair<InterfaceId, InterfaceAddress>, std::optional<IpAddress>> broadcasts_;
};

}  // namespace pktpit::router
