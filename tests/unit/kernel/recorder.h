// SPDX-License-Identifier: BSD-3-Clause
/// A KernelListener that keeps what it was told, as a consumer would: what its tables hold must be what
/// KernelState holds. Counts calls, and fails the test on a removal of what was never told.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "router/kernel/kernel_listener.h"
#include "router/kernel/route_table.h"

namespace pktpit {
inline void PrintTo(const Prefix& prefix, std::ostream* out) {
    *out << prefix.to_string();
}
inline void PrintTo(const IpAddress& address, std::ostream* out) {
    *out << address.to_string();
}
}  // namespace pktpit

namespace pktpit::router {

inline void PrintTo(const KernelNextHop& hop, std::ostream* out) {
    *out << (hop.gateway ? hop.gateway->to_string() : "link") << '%' << hop.ifindex << '*' << hop.weight;
    if (hop.dead) *out << " dead";
}
inline void PrintTo(const KernelRoute& route, std::ostream* out) {
    *out << "protocol " << +route.protocol << " type " << +route.type << " metric " << route.metric << " via "
         << ::testing::PrintToString(route.next_hops);
}

class Recorder : public KernelListener {
  public:
    void link_changed(const LinkEvent& link, const LinkEvent* before) override {
        EXPECT_EQ(before != nullptr, links.contains(link.ifindex));
        if (before) {
            EXPECT_EQ(*before, links[link.ifindex]);
        }
        links[link.ifindex] = link;
        log.push_back("link " + link.name);
    }
    void link_removed(const LinkEvent& link) override {
        EXPECT_EQ(links.erase(link.ifindex), 1U);
        log.push_back("-link " + link.name);
    }
    void address_changed(const AddressEvent& address) override {
        addresses[{address.ifindex, address.address.to_string()}] = address;
        log.push_back("address " + address.address.to_string());
    }
    void address_removed(const AddressEvent& address) override {
        EXPECT_EQ(addresses.erase({address.ifindex, address.address.to_string()}), 1U);
        log.push_back("-address " + address.address.to_string());
    }
    void neighbour_changed(const NeighbourEvent& neighbour) override {
        neighbours[{neighbour.ifindex, neighbour.address}] = neighbour;
        log.push_back("neighbour " + neighbour.address.to_string());
    }
    void neighbour_removed(const NeighbourEvent& neighbour) override {
        EXPECT_EQ((neighbours.erase({neighbour.ifindex, neighbour.address})), 1U);
        log.push_back("-neighbour " + neighbour.address.to_string());
    }
    void route_set(const Prefix& prefix, const KernelRoute& route) override {
        routes[prefix] = route;
        log.push_back("route " + prefix.to_string());
    }
    void route_removed(const Prefix& prefix) override {
        EXPECT_EQ(routes.erase(prefix), 1U) << prefix.to_string();
        log.push_back("-route " + prefix.to_string());
    }
    void device_route_set(const DeviceRoute& route) override {
        device_routes[key_of(route)] = route;
        log.push_back("device route " + route.prefix.to_string());
    }
    void device_route_removed(const DeviceRoute& route) override {
        EXPECT_EQ(device_routes.erase(key_of(route)), 1U) << route.prefix.to_string();
        log.push_back("-device route " + route.prefix.to_string());
    }
    void resynced() override { ++resyncs; }
    void compared(const ComparisonResult& result) override { comparisons.push_back(result); }
    using DeviceRouteKey =
        std::tuple<uint32_t, Prefix, uint32_t, uint32_t, uint8_t, std::optional<IpAddress>>;
    static DeviceRouteKey key_of(const DeviceRoute& route) {
        const bool v4 = route.prefix.address.is_v4();
        return {route.ifindex,
                route.prefix,
                route.table,
                route.metric,
                v4 ? route.protocol : uint8_t{0},
                v4 ? route.source : std::nullopt};
    }

    /// The log since the last call.
    std::vector<std::string> take() { return std::exchange(log, {}); }

    std::map<uint32_t, LinkEvent> links;
    std::map<std::pair<uint32_t, std::string>, AddressEvent> addresses;
    std::map<std::pair<uint32_t, IpAddress>, NeighbourEvent> neighbours;
    std::map<Prefix, KernelRoute> routes;
    std::map<DeviceRouteKey, DeviceRoute> device_routes;
    std::vector<std::string> log;
    std::vector<ComparisonResult> comparisons;
    unsigned resyncs = 0;
};

inline std::map<Prefix, KernelRoute> routes_in(const RouteTable& table) {
    std::map<Prefix, KernelRoute> all;
    table.for_each([&](const Prefix& prefix, const KernelRoute& route) { all[prefix] = route; });
    return all;
}

}  // namespace pktpit::router
