// SPDX-License-Identifier: BSD-3-Clause
/// The kernel's links, addresses, neighbours and routes as tables, fed with KernelEvents, and their changes
/// told to a KernelListener. Pure: makes no system call; any Kernel, or a test, feeds it. One thread.
///
/// Drive it with follow() below: kernel events → consume(), and settle() after each batch.
///
/// Between ResyncBegin and ResyncEnd what is new is told as it comes, and what does not come is kept: a route
/// that is still there is never told as removed, and forwarding goes on with the old ones meanwhile. After a
/// complete resync settle() tells what is gone.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "router/kernel/kernel.h"
#include "router/kernel/kernel_listener.h"
#include "router/kernel/route_table.h"

namespace pktpit::router {

class KernelState {
  public:
    /// The listener must live longer. Routes of other tables than the filter's are ignored; those of unwanted
    /// protocols are kept (they take part in replacing), but never told.
    KernelState(RouteFilter filter, KernelListener& listener);

    void consume(const KernelEvent& event);
    /// Tells the route changes that follow from link, address and nexthop-object events and from a resync.
    /// True: there are more, since the turn is over.
    bool settle(Turn& turn) { return routes_.settle(turn); }
    void settle() {
        Turn turn = Turn::whole();
        (void)settle(turn);
    }
    /// A resync has told all that there is, and no other one is under way or owed.
    [[nodiscard]] bool is_complete() const { return complete_; }

    [[nodiscard]] const LinkEvent* link(uint32_t ifindex) const;
    [[nodiscard]] const LinkEvent* link(std::string_view name) const;
    [[nodiscard]] std::vector<LinkEvent> links() const;  ///< by ifindex
    [[nodiscard]] std::vector<AddressEvent> addresses(uint32_t ifindex) const;
    /// With a filter `of_devices`.
    [[nodiscard]] std::vector<DeviceRoute> device_routes(uint32_t ifindex) const;
    [[nodiscard]] const NeighbourEvent* neighbour(uint32_t ifindex, const IpAddress& address) const;
    [[nodiscard]] std::vector<NeighbourEvent> neighbours() const;
    [[nodiscard]] const RouteTable& routes() const { return routes_; }

  private:
    template <class Event>
    struct Record {
        Event event;
        uint32_t generation = 0;
    };
    struct Device {
        LinkEvent link;
        std::vector<Record<AddressEvent>> addresses;
        std::unordered_map<IpAddress, Record<NeighbourEvent>> neighbours;
        std::vector<Record<DeviceRoute>> routes;
    };

    void on(const LinkEvent& event);
    void on(const AddressEvent& event);
    void on(const NeighbourEvent& event);
    void on(const RouteEvent& event);
    void on(const RuleEvent& event) { listener_.rule_changed(event); }
    void on(const SelectiveRouteEvent& route) { listener_.selective_route(route); }
    void on(const RuledTables& tables) { listener_.ruled_tables(tables); }
    void on(const NextHopEvent& event);
    void on(const ResyncBegin&);
    void on(const ResyncEnd& end);
    void on(const ComparisonBegin&);
    void on(const Compared& compared) { routes_.compare(compared); }
    void on(const ComparisonPiece& piece) { routes_.end_piece(piece.last); }
    void on(const ComparedAll& all) { routes_.compared_all(all); }
    void on(const ComparisonEnd&) { routes_.end_comparison(); }
    void apply(const LinkEvent& link);
    void remove_device(uint32_t ifindex);
    // device_routes.cpp
    void on_device_route(const RouteEvent& event);
    template <class Unwanted>
    void drop_device_routes(Device& device, Unwanted unwanted);
    void device_routes_down(uint32_t ifindex);
    void drop_stale_device_routes(Device& device);
    void device_routes_without_address(Device& device, const std::optional<IpAddress>& gone);

    void address_gone(Device& device, const AddressEvent& address);
    void apply_dumped_links();
    [[nodiscard]] bool has_ipv4_address(const Device& device) const;

    KernelListener& listener_;
    bool of_devices_;
    uint64_t device_route_order_ = 0;
    RouteTable routes_;
    std::unordered_map<uint32_t, Device> devices_;
    std::unordered_map<std::string, uint32_t> by_name_;
    std::vector<LinkEvent> dumped_links_;
    bool dumping_links_ = false;
    bool resyncing_ = false;
    bool complete_ = false;
    uint32_t generation_ = 0;
};

/// All that is pending: kernel.poll() into the state, then settle(). An Error is the kernel's; the state
/// stays usable, and the kernel adapter has arranged to resync.
Result<void> follow(Kernel& kernel, KernelState& state);
/// The same, as much of it as a turn allows. True: there is more.
Result<bool> follow(Kernel& kernel, KernelState& state, Turn& turn);

}  // namespace pktpit::router
