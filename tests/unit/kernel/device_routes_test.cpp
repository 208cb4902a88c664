// SPDX-License-Identifier: BSD-3-Clause
// Routes that the kernel keeps for devices: which are told, and which vanish without a word.
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>

#include "router/kernel/kernel_state.h"
#include "tests/unit/kernel/recorder.h"

namespace pktpit::router {
namespace {

class DeviceRoutes : public testing::Test {
  protected:
    DeviceRoutes() {
        state.consume(ResyncBegin{});
        state.consume(link(2, true));
        state.consume(link(3, true));
        state.consume(ResyncEnd{});
    }
    static LinkEvent link(uint32_t ifindex, bool up) {
        LinkEvent event;
        event.ifindex = ifindex;
        event.name = "eth" + std::to_string(ifindex);
        event.admin_up = event.running = event.up = up;
        return event;
    }
    static AddressEvent address(uint32_t ifindex, const char* text) {
        AddressEvent event;
        event.ifindex = ifindex;
        event.address = *InterfaceAddress::parse(text);
        return event;
    }
    static RouteEvent route(const char* to, uint32_t ifindex, uint8_t type = RTN_UNICAST) {
        RouteEvent event;
        event.prefix = *Prefix::parse(to);
        event.table = type == RTN_LOCAL ? RT_TABLE_LOCAL : RT_TABLE_MAIN;
        event.protocol = RTPROT_KERNEL;
        event.type = type;
        event.next_hops = {{ifindex, std::nullopt, 1, false}};
        return event;
    }
    template <class Event>
    static Event removed(Event event) {
        event.removed = true;
        return event;
    }
    std::vector<std::string> there() const {
        std::vector<std::string> all;
        for (const auto& [key, route] : recorder.device_routes)
            all.push_back(std::to_string(route.ifindex) + " " + route.prefix.to_string());
        return all;
    }
    using Routes = std::vector<std::string>;

    Recorder recorder;
    KernelState state{RouteFilter{.of_devices = true}, recorder};
};

TEST_F(DeviceRoutes, local_ones_and_prefix_routes_are_told) {
    state.consume(route("192.0.2.0/24", 2));
    state.consume(route("198.18.1.0/24", 3, RTN_LOCAL));
    EXPECT_EQ(there(), (Routes{"2 192.0.2.0/24", "3 198.18.1.0/24"}));
    RouteEvent other = route("203.0.113.0/24", 2);
    other.protocol = RTPROT_STATIC;
    state.consume(other);
    other = route("203.0.113.0/24", 2);
    other.next_hops[0].gateway = IpAddress::v4(0xc0000202);
    state.consume(other);
    state.consume(route("203.0.113.255/32", 2, RTN_BROADCAST));
    state.consume(route("203.0.113.0/24", 7));
    EXPECT_EQ(recorder.device_routes.size(), 2U);
    state.consume(removed(route("192.0.2.0/24", 2)));
    state.consume(removed(route("192.0.2.0/24", 2)));
    EXPECT_EQ(there(), Routes{"3 198.18.1.0/24"});
    EXPECT_EQ(state.device_routes(3).size(), 1U);
    EXPECT_EQ(state.routes().prefixes(), 0U);
}

TEST_F(DeviceRoutes, two_metrics_are_two_routes) {
    RouteEvent better = route("192.0.2.0/24", 2);
    better.metric = 50;
    state.consume(route("192.0.2.0/24", 2));
    state.consume(better);
    EXPECT_EQ(recorder.device_routes.size(), 2U);
    state.consume(removed(better));
    EXPECT_EQ(recorder.device_routes.size(), 1U);
}

TEST_F(DeviceRoutes, ipv4_prefix_routes_go_silently_with_the_link) {
    state.consume(address(2, "192.0.2.1/24"));
    state.consume(route("192.0.2.0/24", 2));
    state.consume(route("192.0.2.1/32", 2, RTN_LOCAL));
    state.consume(route("2001:db8::/64", 2));
    state.consume(route("198.51.100.0/24", 3));
    state.consume(link(2, false));
    EXPECT_EQ(there(), (Routes{"2 2001:db8::/64", "2 192.0.2.1/32", "3 198.51.100.0/24"}));
}

TEST_F(DeviceRoutes, ipv4_ones_go_silently_with_the_last_address_and_with_their_source) {
    state.consume(address(2, "192.0.2.1/24"));
    state.consume(address(3, "198.51.100.1/24"));
    state.consume(address(3, "198.51.100.2/24"));
    state.consume(route("198.18.1.0/24", 2, RTN_LOCAL));
    state.consume(route("198.51.100.0/24", 3));
    RouteEvent managed = route("203.0.113.0/24", 3);
    managed.source = IpAddress::v4(0xc6336402);
    state.consume(managed);
    state.consume(removed(address(3, "198.51.100.2/24")));
    EXPECT_EQ(there(), (Routes{"2 198.18.1.0/24", "3 198.51.100.0/24"}));
    state.consume(removed(address(2, "192.0.2.1/24")));
    EXPECT_EQ(there(), Routes{"3 198.51.100.0/24"});
}

TEST_F(DeviceRoutes, they_go_before_their_device) {
    state.consume(route("192.0.2.0/24", 2));
    state.consume(route("2001:db8::/64", 2));
    recorder.take();
    state.consume(removed(link(2, false)));
    EXPECT_TRUE(there().empty());
    EXPECT_EQ(recorder.take().back(), "-link eth2");
}

TEST_F(DeviceRoutes, a_dump_says_what_is_there_and_in_which_order) {
    state.consume(route("192.0.2.0/24", 2));
    state.consume(route("192.0.2.0/24", 3));
    state.consume(route("198.51.100.0/24", 3));
    const auto order_on = [&](uint32_t ifindex) { return state.device_routes(ifindex).front().order; };
    EXPECT_LT(order_on(2), order_on(3));
    state.consume(ResyncBegin{});
    state.consume(link(2, true));
    state.consume(link(3, true));
    state.consume(route("192.0.2.0/24", 3));
    state.consume(route("192.0.2.0/24", 2));
    EXPECT_EQ(recorder.device_routes.size(), 3U);
    state.consume(ResyncEnd{});
    EXPECT_EQ(there(), (Routes{"2 192.0.2.0/24", "3 192.0.2.0/24"}));
    EXPECT_GT(order_on(2), order_on(3));
}

}  // namespace
}  // namespace pktpit::router
