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
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "fib/image.h"
#include "fib/rib.h"
#include "router/hot/hot_routes.h"
#include "router/routing/adjacencies.h"
#include "router/routing/connected.h"
#include "router/routing/interfaces.h"
#include "router/routing/link_nets.h"
#include "router/routing/next_hop_sets.h"

namespace pktpit::router {

/// State of a device as far as forwarding cares.
struct LinkState {
    uint32_t ifindex = 0;
    bool up = false;
    MacAddress mac;
    uint32_t mtu = 0;
    bool no_redirect = false;  ///< frames of other ports' stages cannot be redirected to it
    bool set_down = false;     ///< by hand, and not only without a carrier: the host hears nothing by it
    bool operator==(const LinkState&) const = default;
};

/// What people, and the kernel, call a VRF.
struct VrfName {
    std::string name;           ///< empty: the default one
    uint32_t kernel_table = 0;  ///< 0: of the default one, whatever is configured
    bool operator==(const VrfName&) const = default;
};

class Routing {
  public:
    /// Asks for a neighbour to be resolved; the answer comes as set_neighbour().
    using Resolve = std::function<void(InterfaceId interface, const IpAddress& address)>;

    /// A connected route could not be written (FIB full): nobody can be refused, so somebody must be told.
    using Refused = std::function<void(const Error& error)>;

    /// `port_table`: a table of the image that gets the host's own addresses only, for ports whose packets
    /// are decided about elsewhere; other VRFs then have one, too. The default table: there is none.
    Routing(fib::FibImage& image, Resolve resolve, Refused refused,
            fib::TableId port_table = PP_FIB_DEFAULT_TABLE);

    /// A table that holds parts of the default table, for ports whose stage decides about some packets: it is
    /// told before each change. Before the first route; outlives this.
    void set_hot_routes(HotRoutes& hot) { hot_ = &hot; }

    // VRFs: tables of their own for the packets of some interfaces. Next hops may lead into any.
    /// A new one, empty. Error: the image has no room for its tables.
    Result<VrfId> add_vrf(const VrfName& name);
    /// Its routes go with it; none of the interfaces is in it any more. Not the default one.
    void remove_vrf(VrfId id);
    [[nodiscard]] const VrfName& vrf_name(VrfId id) const { return vrf(id).name; }
    void rename_vrf(VrfId id, const VrfName& name) { vrf(id).name = name; }
    [[nodiscard]] std::optional<VrfId> vrf_by_name(std::string_view name) const;
    /// By the kernel's number of its table; 0 is the default one's.
    [[nodiscard]] std::optional<VrfId> vrf_by_table(uint32_t kernel_table) const;
    /// All there are, the default one first.
    [[nodiscard]] std::vector<VrfId> vrfs() const;
    /// Of an interface; of one that is not there the default one.
    [[nodiscard]] VrfId vrf_of(InterfaceId interface) const {
        const L3Interface* found = interfaces_.find(interface);
        return found ? found->vrf : default_vrf;
    }
    /// The table of the image with all of its routes.
    [[nodiscard]] fib::TableId table_of(VrfId id) const { return vrf(id).table; }

    // Interfaces. Ports bring their port id; VLANs are on a port that was added before.
    Result<InterfaceId> add_interface(const std::string& name, PortId port, const std::vector<uint16_t>& vlan,
                                      uint16_t vlan_protocol, InterfaceId keep_id = 0,
                                      VrfId vrf = default_vrf);
    /// With its addresses and neighbours. What the VRF that it leaves has of them goes after its packets are
    /// looked up in the other one.
    void set_interface_vrf(InterfaceId id, VrfId vrf);
    void remove_interface(InterfaceId id);
    /// For a VLAN: the kernel's VLAN device, or the port's state with ifindex 0 where there is none.
    void set_link(InterfaceId id, const LinkState& link);
    // interface_addresses.cpp
    /// New, or with other details than before.
    void add_address(InterfaceId id, const InterfaceAddress& address, const AddressDetails& details = {});
    /// The one with that peer.
    void remove_address(InterfaceId id, const InterfaceAddress& address,
                        const std::optional<IpAddress>& peer = {});
    [[nodiscard]] bool has_address(InterfaceId id, const InterfaceAddress& address,
                                   const std::optional<IpAddress>& peer = {}) const {
        return addresses_.contains({id, address, peer});
    }
    // What the kernel says of its prefix routes by an interface (LinkNets).
    void set_prefix_route(InterfaceId id, const Prefix& net, uint32_t metric, uint64_t order) {
        carry_out(nets_.set_route(id, net, metric, order));
    }
    void remove_prefix_route(InterfaceId id, const Prefix& net, uint32_t metric) {
        carry_out(nets_.remove_route(id, net, metric));
    }
    /// Those that the interface has now, told or not.
    [[nodiscard]] std::vector<std::pair<Prefix, uint32_t>> prefix_routes(InterfaceId id) const {
        std::vector<std::pair<Prefix, uint32_t>> all;
        nets_.for_each(id, [&](const Prefix& net, const ConnectedWish& wish) {
            all.emplace_back(net, wish.rank.metric);
        });
        return all;
    }
    void settle_prefix_routes() { carry_out(nets_.settle()); }
    void forget_prefix_routes(InterfaceId id) { carry_out(nets_.forget_routes(id)); }
    /// Packets to these are the host's, whichever of its devices has them; of IPv6 whatever longer routes
    /// there are.
    void add_host_prefix(const Prefix& prefix, VrfId vrf = default_vrf);
    void remove_host_prefix(const Prefix& prefix, VrfId vrf = default_vrf);

    void set_neighbour(InterfaceId interface, const IpAddress& address, const Neighbour& neighbour);
    /// Routes go on to take one for dead that has failed, until it answers.
    void remove_neighbour(InterfaceId interface, const IpAddress& address);
    /// Asks again for next hops that are not resolved, and for room that was missing. Call every few seconds.
    void resolve_missing();
    // What becomes of many prefixes at once (their next hops can be used no more, or again) in pieces: groups
    // are right at once, and with them all prefixes that have a backup or a second best route; each of the
    // others when its turn comes.
    /// Such work is left to settle() from now on, and this is called when there is some. Without: done at
    /// once.
    void leave_work(std::function<void()> there_is_work) { there_is_work_ = std::move(there_is_work); }
    /// Up to so many prefixes; true when nothing is left. Computed backups are left to a time with less than
    /// `many_changes` of routes between two ticks: of a table that is being replaced they would be others at
    /// once.
    bool settle(size_t prefixes);
    static constexpr uint64_t many_changes = 1000;
    /// All prefixes; computed backups, which come behind, may be left.
    void settle_best();
    /// Asks for those of one set, which somebody has just begun to use.
    void resolve_missing_of(fib::NextHopSetId id);
    /// Every 100 ms.
    void tick(std::chrono::steady_clock::time_point now);

    // Routes of the sources config, cli, fpm and kernel. Sets are acquired first, so that a large table
    // interns each of its few sets once.
    Result<fib::NextHopSetId> acquire_next_hops(const NextHopSetSpec& spec) {
        auto id = sets_.acquire(spec);
        follow_neighbours();  // where it is a set that changes in place
        return id;
    }
    void add_next_hops_reference(fib::NextHopSetId id) { sets_.add_reference(id); }
    void release_next_hops(fib::NextHopSetId id) { sets_.release(id); }
    /// Adds or replaces; takes a reference on route.next_hops of its own.
    Result<void> set_route(const fib::Route& route, VrfId vrf = default_vrf);
    Result<bool> erase_route(const Prefix& prefix, fib::RouteSource source, VrfId vrf = default_vrf);
    [[nodiscard]] std::optional<fib::Route> route(const Prefix& prefix, fib::RouteSource source,
                                                  VrfId vrf = default_vrf) const;
    /// May gateways be resolved over the default route? As FRR's `ip nht resolve-via-default`.
    void set_resolve_via_default(bool allowed) {
        sets_.set_via_default(allowed);
        follow_neighbours();
    }
    [[nodiscard]] bool resolve_via_default() const { return sets_.via_default(); }

    [[nodiscard]] const InterfaceTable& interfaces() const { return interfaces_; }
    [[nodiscard]] const Adjacencies& adjacencies() const { return adjacencies_; }
    [[nodiscard]] const NextHopSets& next_hop_sets() const { return sets_; }
    /// The route that packets to the address meet.
    [[nodiscard]] std::optional<fib::Route> match(const IpAddress& address, VrfId vrf = default_vrf) const;
    [[nodiscard]] const fib::Rib& rib(VrfId id = default_vrf) const { return vrf(id).rib; }
    [[nodiscard]] const fib::FibImage& image() const { return image_; }
    [[nodiscard]] bool is_broadcast(const IpAddress& address, VrfId vrf = default_vrf) const;

  private:
    /// What a VRF has for itself.
    struct Vrf {
        Vrf(VrfId its_id, VrfName its_name, fib::TableId all, fib::TableId own, fib::BestRouteChanged changed)
            : id(its_id), name(std::move(its_name)), table(all), host_table(own), rib(std::move(changed)) {}
        VrfId id;
        VrfName name;
        fib::TableId table;
        fib::TableId host_table;  ///< the host's own addresses only; the default table: there is none
        fib::Rib rib;
        ConnectedWishes connected;
        std::set<Prefix> host_nets;  ///< IPv6 prefixes of more than one address that are the host's
        std::map<IpAddress, fib::NextHopSetId> peers;  ///< nets of one address: the set of each
        std::set<IpAddress> sources;                   ///< noted in the image
    };
    [[nodiscard]] Vrf& vrf(VrfId id) { return id == default_vrf ? *default_ : *vrfs_.at(id); }
    [[nodiscard]] const Vrf& vrf(VrfId id) const { return const_cast<Routing*>(this)->vrf(id); }
    Vrf& make_vrf(VrfId id, const VrfName& name, fib::TableId table, fib::TableId host_table);

    Result<void> write_best(Vrf& vrf, const Prefix& prefix, const std::optional<fib::Route>& best,
                            fib::NextHopSetId second);
    [[nodiscard]] fib::GroupId group_for(const fib::Route& best, fib::NextHopSetId second,
                                         const std::optional<fib::GroupId>& around);
    void follow_up(Vrf& vrf);
    void drop_drained();
    Result<void> write_changed(Vrf& vrf, const Prefix& prefix, pp_adjacency_kind kind,
                               std::optional<fib::GroupId> group);
    bool usable_changed(fib::NextHopSetId id, bool usable);
    [[nodiscard]] bool settled(fib::NextHopSetId id) const;
    [[nodiscard]] bool settled() const;
    void note_source(Vrf& vrf, const IpAddress& address, bool own);
    Result<void> write_group(const Prefix& prefix, std::optional<fib::GroupId> group, fib::TableId table);
    void wish(VrfId vrf, const Prefix& prefix, const ConnectedWish& wish, bool add);
    void wish_of_interface(const L3Interface& interface, VrfId vrf, bool add);
    void carry_out(const LinkNets::Changes& changes);
    void listen_by(const L3Interface& interface, bool listens);
    void follow_host_net(Vrf& vrf, const Prefix& prefix);
    [[nodiscard]] std::optional<Prefix> hidden_by(const Vrf& vrf, const fib::Route& route) const;
    void wish_net(VrfId vrf, const Prefix& prefix, const ConnectedWish& wish, bool add);
    void visit_routes_around(const Vrf& vrf, const IpAddress& address,
                             const fib::Rib::VisitContaining& visit) const;
    void install_connected(VrfId vrf, const Prefix& prefix);
    void write_tables(const L3Interface& interface);

    // neighbour_routes.cpp
    void follow_neighbour(InterfaceId interface, const IpAddress& address);
    void note_neighbours_inside(VrfId vrf, const Prefix& prefix);
    void note_all_neighbours();
    void follow_neighbours();
    void neighbour_wish(VrfId vrf, InterfaceId interface, const IpAddress& address);
    [[nodiscard]] bool leads_to_link(VrfId vrf, const IpAddress& address, InterfaceId interface) const;

    void drop_neighbour(InterfaceId interface, const IpAddress& address);
    void write_port(const L3Interface& interface);
    void write_port(PortId port);
    [[nodiscard]] bool awaits_dhcp(PortId port) const;
    void interface_changed(InterfaceId id);

    fib::FibImage& image_;
    HotRoutes* hot_ = nullptr;
    Resolve resolve_;
    Refused refused_;
    InterfaceTable interfaces_;
    Adjacencies adjacencies_;
    NextHopSets sets_;
    std::map<VrfId, std::unique_ptr<Vrf>> vrfs_;
    Vrf* default_;
    VrfId last_vrf_ = default_vrf;
    std::function<void()> there_is_work_;
    uint64_t changes_ = 0;                                  ///< of routes, since the last tick
    bool busy_ = false;                                     ///< they are many, or were until then
    std::set<fib::NextHopSetId> draining_;                  ///< their routes are leaving them
    std::map<IpAddress, std::set<InterfaceId>> reachable_;  ///< neighbours whose MAC addresses are known
    std::set<std::tuple<VrfId, InterfaceId, IpAddress>> neighbour_routes_;
    std::set<std::pair<VrfId, IpAddress>> to_follow_;  ///< neighbours around which routes have changed
    bool following_ = false;
    LinkNets nets_;
    /// By interface, address and peer.
    using AddressKey = std::tuple<InterfaceId, InterfaceAddress, std::optional<IpAddress>>;
    std::map<AddressKey, AddressDetails> addresses_;
};

}  // namespace pktpit::router
