// SPDX-License-Identifier: BSD-3-Clause
// Nets on links and the host's own prefixes by what a kernel says, on a host that makes and unmakes its
// routes as Linux does.
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <spdlog/spdlog.h>

#include <string>

#include "tests/unit/control/control_rig.h"

namespace pktpit::router {
namespace {

class KernelsNets : public testing::Test, protected fake::ControlRig<> {
  protected:
    KernelsNets() : fake::ControlRig<>("nets", {"lo", "eth0", "eth1"}) {
        spdlog::set_level(spdlog::level::off);
        set_link("lo", true);
        for (const char* name : {"eth0", "eth1"}) {
            running_.interfaces[name].name = name;
            set_link(name, true);
        }
        EXPECT_TRUE(control->read_kernel());
    }
    ~KernelsNets() override { spdlog::set_level(spdlog::level::info); }

    void start() {
        ASSERT_TRUE(control->apply(running_, true));
        follow();
    }
    void follow() { ASSERT_TRUE(control->follow_kernel()); }
    uint32_t index(const char* name) { return host.device(name)->link.ifindex; }
    void set_link(const char* name, bool up) { ASSERT_TRUE(kernel.set_link(index(name), up, std::nullopt)); }
    void set(const char* name, const char* text, const char* peer = nullptr, uint32_t metric = 0,
             bool prefix_route = true) {
        AddressEvent event;
        event.ifindex = index(name);
        event.address = InterfaceAddress::parse(text).value();
        if (peer) event.peer = IpAddress::parse(peer).value();
        event.metric = metric;
        event.prefix_route = prefix_route;
        host.set_address(event);
    }
    void lose(const char* name, const char* text) {
        host.lose_address(index(name), InterfaceAddress::parse(text).value());
    }
    static Prefix prefix(const char* text) { return Prefix::parse(text).value(); }
    RouteEvent route(const char* name, const char* to, uint8_t type, uint32_t metric = 0) {
        return host.device_route(index(name), prefix(to), type, metric);
    }
    /// What the best route of exactly the prefix is: the name of a link, "host", "-" for none.
    std::string what(const char* text, VrfId vrf = default_vrf) const {
        const Routing& routing = control->routing();
        const auto best = routing.rib(vrf).best(prefix(text));
        if (!best) return "-";
        const NextHopSetSpec& spec = routing.next_hop_sets().spec_of(best->next_hops);
        if (spec.kind == PP_ADJ_HOST) return "host";
        if (spec.kind != PP_ADJ_FORWARD) return "kind " + std::to_string(spec.kind);
        return routing.interfaces().find(spec.next_hops.front().interface)->name;
    }

    config::Config running_;
};

TEST_F(KernelsNets, a_peer_is_on_the_link) {
    start();
    set("eth0", "10.0.0.1/32", "10.0.0.2");
    set("eth1", "10.0.0.1/32", "10.0.0.3");
    set("eth1", "2001:db8:9::1/128", "2001:db8:9::2");
    follow();
    EXPECT_EQ(what("10.0.0.1/32"), "host");
    EXPECT_EQ(what("10.0.0.2/32"), "eth0");
    EXPECT_EQ(what("10.0.0.3/32"), "eth1");
    EXPECT_EQ(what("2001:db8:9::2/128"), "eth1");
    lose("eth0", "10.0.0.1/32");
    follow();
    EXPECT_EQ(what("10.0.0.1/32"), "host");
    EXPECT_EQ(what("10.0.0.2/32"), "-");
}

TEST_F(KernelsNets, of_two_links_as_the_kernel_has_it) {
    start();
    set("eth1", "10.0.0.1/24");
    set("eth0", "10.0.0.2/24");
    follow();
    EXPECT_EQ(what("10.0.0.0/24"), "eth1");
    set_link("eth1", false);
    follow();
    EXPECT_EQ(what("10.0.0.0/24"), "eth0");
    set_link("eth1", true);
    follow();
    EXPECT_EQ(what("10.0.0.0/24"), "eth0") << "its route came behind";
    lose("eth0", "10.0.0.2/24");
    follow();
    EXPECT_EQ(what("10.0.0.0/24"), "eth1");
    set("eth0", "10.0.0.2/24", nullptr, 5);
    lose("eth1", "10.0.0.1/24");
    set("eth1", "10.0.0.1/24", nullptr, 9);
    follow();
    EXPECT_EQ(what("10.0.0.0/24"), "eth0");
}

TEST_F(KernelsNets, a_start_finds_them_in_the_kernels_order) {
    set("eth1", "10.0.0.1/24");
    set("eth0", "10.0.0.2/24");
    set("eth0", "10.5.0.1/24", nullptr, 0, false);
    set("eth1", "10.6.0.1/24", nullptr, 0, false);
    host.set_route(route("eth1", "10.6.0.0/24", RTN_UNICAST, 101));
    set("eth0", "10.7.0.1/24");
    host.delete_route(route("eth0", "10.7.0.0/24", RTN_UNICAST));
    ASSERT_TRUE(control->read_kernel());
    start();
    EXPECT_EQ(what("10.0.0.0/24"), "eth1");
    EXPECT_EQ(what("10.5.0.0/24"), "-");
    EXPECT_EQ(what("10.5.0.1/32"), "host");
    EXPECT_EQ(what("10.6.0.0/24"), "eth1");
    EXPECT_EQ(what("10.7.0.0/24"), "-");
}

TEST_F(KernelsNets, routes_by_hand) {
    start();
    set("eth0", "10.0.0.1/24", nullptr, 0, false);
    follow();
    EXPECT_EQ(what("10.0.0.0/24"), "-");
    host.set_route(route("eth0", "10.0.0.0/24", RTN_UNICAST, 101));
    follow();
    EXPECT_EQ(what("10.0.0.0/24"), "eth0");
    host.delete_route(route("eth0", "10.0.0.0/24", RTN_UNICAST, 101));
    set("eth1", "10.1.0.1/24");
    follow();
    EXPECT_EQ(what("10.0.0.0/24"), "-");
    host.delete_route(route("eth1", "10.1.0.0/24", RTN_UNICAST));
    follow();
    EXPECT_EQ(what("10.1.0.0/24"), "-");
    EXPECT_EQ(what("10.1.0.1/32"), "host");
    set_link("eth1", false);
    set_link("eth1", true);
    follow();
    EXPECT_EQ(what("10.1.0.0/24"), "eth1");
}

TEST_F(KernelsNets, configured_addresses_are_in_force_before_the_kernel_has_told) {
    running_.interfaces["eth0"].addresses = {InterfaceAddress::parse("192.0.2.1/24").value()};
    ASSERT_TRUE(control->apply(running_, true));
    EXPECT_EQ(what("192.0.2.0/24"), "eth0");
    follow();
    EXPECT_EQ(what("192.0.2.0/24"), "eth0");
    running_.interfaces["eth0"].addresses = {InterfaceAddress::parse("192.0.2.7/24").value()};
    ASSERT_TRUE(control->apply(running_, false));
    EXPECT_EQ(what("192.0.2.0/24"), "eth0") << "the kernel exchanges its routes";
    follow();
    EXPECT_EQ(what("192.0.2.0/24"), "eth0");
    running_.interfaces["eth0"].addresses.clear();
    ASSERT_TRUE(control->apply(running_, false));
    EXPECT_EQ(what("192.0.2.0/24"), "-");
    follow();
    EXPECT_EQ(what("192.0.2.0/24"), "-");
}

TEST_F(KernelsNets, an_unnumbered_link_has_the_address_of_another) {
    for (const char* name : {"eth0", "eth1"})
        running_.interfaces[name].addresses = {InterfaceAddress::parse("10.0.0.1/32").value()};
    start();
    EXPECT_EQ(what("10.0.0.1/32"), "host");
    running_.interfaces["eth1"].addresses.clear();
    ASSERT_TRUE(control->apply(running_, false));
    follow();
    EXPECT_EQ(what("10.0.0.1/32"), "host");
    running_.interfaces["eth0"].addresses.clear();
    ASSERT_TRUE(control->apply(running_, false));
    follow();
    EXPECT_EQ(what("10.0.0.1/32"), "-");
}

TEST_F(KernelsNets, local_routes_are_the_hosts) {
    start();
    host.set_route(route("lo", "198.18.1.0/24", RTN_LOCAL));
    host.set_route(route("eth0", "2001:db8:9::/64", RTN_LOCAL));
    RouteEvent ruled = route("lo", "198.18.9.0/24", RTN_LOCAL);
    ruled.table = 77;
    host.set_route(ruled);
    host.set_route(route("lo", "127.0.0.0/8", RTN_LOCAL));
    follow();
    EXPECT_EQ(what("198.18.1.0/24"), "host");
    EXPECT_EQ(what("2001:db8:9::/64"), "host");
    EXPECT_EQ(what("198.18.9.0/24"), "-") << "of a table that rules lead to";
    EXPECT_EQ(what("127.0.0.0/8"), "-");
    host.delete_route(route("lo", "198.18.1.0/24", RTN_LOCAL));
    follow();
    EXPECT_EQ(what("198.18.1.0/24"), "-");
}

TEST_F(KernelsNets, local_routes_are_of_the_vrf_of_their_table_or_interface) {
    running_.vrfs["red"] = {100};
    running_.interfaces["eth1"].vrf = "red";
    start();
    const VrfId red = control->routing().vrf_by_name("red").value();
    RouteEvent in_red = route("lo", "198.18.1.0/24", RTN_LOCAL);
    in_red.table = 100;
    host.set_route(in_red);
    host.set_route(route("eth1", "198.18.2.0/24", RTN_LOCAL));
    host.set_route(route("lo", "198.18.3.0/24", RTN_LOCAL));
    follow();
    EXPECT_EQ(what("198.18.1.0/24"), "-");
    EXPECT_EQ(what("198.18.1.0/24", red), "host");
    EXPECT_EQ(what("198.18.2.0/24", red), "host");
    EXPECT_EQ(what("198.18.3.0/24"), "host");
    EXPECT_EQ(what("198.18.3.0/24", red), "-");
    config::Config without = running_;
    without.vrfs.clear();
    without.interfaces["eth1"].vrf.clear();
    ASSERT_TRUE(control->apply(without, false));
    follow();
    EXPECT_EQ(what("198.18.1.0/24"), "-") << "of no VRF now";
    EXPECT_EQ(what("198.18.2.0/24"), "host");
    ASSERT_TRUE(control->apply(running_, false));
    follow();
    EXPECT_EQ(what("198.18.2.0/24"), "-");
    EXPECT_EQ(what("198.18.1.0/24", control->routing().vrf_by_name("red").value()), "host");
}

}  // namespace
}  // namespace pktpit::router
