// SPDX-License-Identifier: BSD-3-Clause
// The kernel's routes in the RIB are followed in turns: a table that is read, exchanged for another one, or
// left, with the RIB and links looked at between any two of them.
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <spdlog/spdlog.h>

#include "fib/lookup.h"
#include "tests/sanitized.h"
#include "tests/unit/control/control_rig.h"

namespace pktpit::router {
namespace {

using fake::Faults;

class KernelTurnsInRib : public testing::Test, protected fake::ControlRig<> {
  protected:
    static constexpr unsigned many = pktpit::test::sanitized ? 7'500 : 60'000;

    KernelTurnsInRib() : ControlRig("kernel_turns", {"eth0", "eth1"}, 8 << 20) {
        spdlog::set_level(spdlog::level::off);
        config.interfaces = {{"eth0", port("eth0", "10.0.0.1/24")}, {"eth1", port("eth1", "10.1.0.1/24")}};
        config.kernel_routes.enabled = true;
    }
    ~KernelTurnsInRib() override {
        control.reset();
        spdlog::set_level(spdlog::level::info);
    }
    static config::Interface port(const char* name, const char* address) {
        config::Interface port;
        port.name = name;
        port.addresses = {InterfaceAddress::parse(address).value()};
        return port;
    }
    void start() {
        ASSERT_TRUE(control->read_kernel());
        ASSERT_TRUE(control->apply(config, true));
        ASSERT_TRUE(control->follow_kernel());
    }
    void start_and_settle() {
        start();
        loop.settle();
    }
    void reload(const config::Config& other) {
        ASSERT_TRUE(control->apply(other, false));
        loop.settle();
    }
    /// Every n-th of the routes stands in the host's table.
    void fill_table(const char* device, uint32_t table = 254, unsigned every = 1) {
        for (unsigned i = 0; i < many; i += every)
            host.routes.push_back(route(i, device, table));
    }
    RouteEvent route(unsigned number, const char* device, uint32_t table = 254) {
        RouteEvent event;
        event.prefix = Prefix::of(IpAddress::v4(0x64000000 + (number << 8)), 24);
        event.table = table;
        event.protocol = RTPROT_STATIC;
        event.type = RTN_UNICAST;
        event.creates = true;
        event.next_hops = {{host.device(device)->link.ifindex,
                            IpAddress::parse(device[3] == '0' ? "10.0.0.9" : "10.1.0.9").value(), 1, false}};
        return event;
    }
    [[nodiscard]] size_t in_rib() const { return control->routing().rib().size(fib::RouteSource::kernel); }
    [[nodiscard]] pp_adjacency_kind kind_of(const char* address) const {
        const auto best = control->routing().rib().match(IpAddress::parse(address).value());
        return best ? control->routing().next_hop_sets().spec_of(best->next_hops).kind : PP_ADJ_INVALID;
    }
    [[nodiscard]] KernelRoutes::Status status() const { return control->kernel_routes_status(); }

    config::Config config;
};

TEST_F(KernelTurnsInRib, ports_forward_before_the_table_has_been_read_and_status_says_how_far_it_is) {
    fill_table("eth0");
    start();
    EXPECT_TRUE(control->ports().all().at("eth0").attachment.has_value());
    EXPECT_EQ(in_rib(), 0U);
    EXPECT_TRUE(status().followed);
    EXPECT_FALSE(status().complete);
    loop.once();
    EXPECT_GT(in_rib(), 0U);
    EXPECT_LT(in_rib(), many) << "all in one turn";
    EXPECT_FALSE(status().complete);
    EXPECT_GT(loop.settle(), 1U);
    EXPECT_EQ(in_rib(), many);
    EXPECT_TRUE(status().complete);
    EXPECT_EQ(status().waiting, 0U);
    EXPECT_GT(status().turns, 1U);
    EXPECT_FALSE(loop.has_turns()) << "turns are asked for though nothing is to be done";
}

// Each reload asks for it, and so does every fifth minute.
TEST_F(KernelTurnsInRib, what_the_kernel_changed_without_a_word_is_put_right) {
    host.routes = {route(0, "eth0"), route(1, "eth0"), route(2, "eth0")};
    start_and_settle();
    ASSERT_EQ(in_rib(), 3U);
    for (const bool by_reload : {true, false}) {
        SCOPED_TRACE(by_reload ? "reload" : "5 minutes");
        const auto before = status();
        host.routes = {route(by_reload ? 7 : 8, "eth1"), route(1, by_reload ? "eth1" : "eth0")};
        loop.settle();
        EXPECT_TRUE(control->routing().rib().match(IpAddress::parse("100.0.2.1").value()) || !by_reload);
        if (by_reload)
            reload(config);
        else
            for (unsigned tick = 0; tick < 3000; ++tick)
                control->tick();
        loop.settle();
        EXPECT_EQ(status().comparisons, before.comparisons + 1);
        EXPECT_EQ(status().differences, before.differences + (by_reload ? 4 : 3));
        EXPECT_EQ(in_rib(), 2U);
        EXPECT_FALSE(control->routing().rib().match(IpAddress::parse("100.0.2.1").value()));
        EXPECT_TRUE(
            control->routing().rib().match(IpAddress::parse(by_reload ? "100.0.7.1" : "100.0.8.1").value()));
        EXPECT_FALSE(loop.has_turns());
    }
}

// It forwards by its own table until its programs are swapped.
TEST_F(KernelTurnsInRib, ports_of_an_earlier_daemon_are_taken_over_when_the_table_has_been_read) {
    fill_table("eth0");
    dataplane.previous = {{host.device("eth0")->link.ifindex, 1}};
    size_t ports = 0;
    dataplane.attaching = [&] {
        ports++;
        EXPECT_EQ(in_rib(), many);
    };
    start();
    EXPECT_EQ(ports, 2U);
    EXPECT_TRUE(status().complete);
}

TEST_F(KernelTurnsInRib, a_link_is_down_at_once_and_its_routes_go_in_turns) {
    fill_table("eth0");
    start_and_settle();
    const auto to = IpAddress::parse("100.0.7.1").value();
    ASSERT_TRUE(control->routing().rib().match(to).has_value());
    LinkEvent down = host.device("eth0")->link;
    down.up = down.running = down.admin_up = false;
    host.tell(down);
    ASSERT_TRUE(control->follow_kernel());
    // What routes say does not matter any more: nothing leaves by a link that is down.
    EXPECT_FALSE(control->routing().rib().match(to).has_value());
    EXPECT_EQ(in_rib(), many);
    loop.once();
    EXPECT_GT(in_rib(), 0U);
    EXPECT_GT(status().waiting, 0U);
    // A route by another link comes before the others have gone.
    host.tell(route(7, "eth1"));
    loop.settle();
    EXPECT_EQ(in_rib(), 1U);
    EXPECT_TRUE(control->routing().rib().match(to).has_value());
}

TEST_F(KernelTurnsInRib, a_route_that_comes_before_its_interface_is_installed_when_that_has_come) {
    start_and_settle();
    host.add_device("late");
    RouteEvent early = route(1, "eth1");
    early.next_hops[0].ifindex = host.device("late")->link.ifindex;
    host.routes = {early};
    host.tell(early);
    loop.settle();
    EXPECT_EQ(kind_of("100.0.1.1"), PP_ADJ_KERNEL) << "until then it is the kernel's";
    config.interfaces["late"] = port("late", "10.1.0.2/24");
    reload(config);
    EXPECT_EQ(in_rib(), 1U);
    const auto now = control->routing().route(early.prefix, fib::RouteSource::kernel);
    EXPECT_EQ(control->routing().next_hop_sets().spec_of(now->next_hops).kind, PP_ADJ_FORWARD);
    EXPECT_TRUE(control->ignored_routes().at("")->all().empty());
}

TEST_F(KernelTurnsInRib, what_pktpit_cannot_do_is_the_kernels_and_never_a_shorter_prefixs) {
    start_and_settle();
    RouteEvent shorter = route(0, "eth0");
    shorter.prefix = Prefix::of(IpAddress::v4(0x64000000), 8);
    host.tell(shorter);
    RouteEvent tunnel = route(1, "eth1");
    tunnel.unsupported = true;
    host.tell(tunnel);
    host.add_device("wg0");
    RouteEvent elsewhere = route(2, "eth1");
    elsewhere.next_hops[0].ifindex = host.device("wg0")->link.ifindex;
    host.tell(elsewhere);
    RouteEvent thrown = route(3, "eth1");
    thrown.type = RTN_THROW;
    thrown.next_hops.clear();
    host.tell(thrown);
    RouteEvent odd = route(4, "eth1");
    odd.type = RTN_NAT;
    host.tell(odd);
    RouteEvent connected = route(5, "eth1");
    connected.protocol = RTPROT_KERNEL;
    host.tell(connected);
    RouteEvent net_elsewhere = route(7, "eth1");
    net_elsewhere.protocol = RTPROT_KERNEL;
    net_elsewhere.next_hops[0].ifindex = host.device("wg0")->link.ifindex;
    host.tell(net_elsewhere);
    RouteEvent partly = elsewhere;
    partly.prefix = route(6, "eth0").prefix;
    partly.next_hops.push_back(route(6, "eth1").next_hops[0]);
    host.tell(partly);
    loop.settle();
    for (const char* to : {"100.0.1.1", "100.0.2.1", "100.0.3.1", "100.0.4.1", "100.0.7.1"}) {
        EXPECT_EQ(kind_of(to), PP_ADJ_KERNEL) << to;
        const auto group = control->routing().image().lookup(IpAddress::parse(to).value());
        EXPECT_NE(group, control->routing().image().lookup(IpAddress::parse("100.9.9.9").value())) << to;
    }
    EXPECT_EQ(kind_of("100.0.5.1"), PP_ADJ_FORWARD) << "it follows from an address: the shorter one's";
    EXPECT_EQ(kind_of("100.0.6.1"), PP_ADJ_FORWARD) << "by what it can";
    using Kind = IgnoredRoutes::Kind;
    for (const auto kind : {Kind::encapsulated, Kind::device, Kind::thrown, Kind::other}) {
        EXPECT_EQ(control->ignored_routes().at("")->count(kind), kind == Kind::device ? 2U : 1U)
            << to_string(kind);
        EXPECT_TRUE(is_kernels(kind));
    }
    EXPECT_FALSE(is_kernels(Kind::tos));
    const auto has_kernel_routes = [&] {
        const auto& image = control->routing().image();
        return pp_fib_has_kernel_routes(image.memory().data(), &image.geometry()) != 0;
    };
    EXPECT_TRUE(has_kernel_routes());
    for (RouteEvent* event : {&tunnel, &elsewhere, &thrown, &odd, &net_elsewhere}) {
        event->removed = true;
        host.tell(*event);
    }
    loop.settle();
    EXPECT_EQ(kind_of("100.0.1.1"), PP_ADJ_FORWARD);
    EXPECT_TRUE(control->ignored_routes().at("")->all().empty());
    EXPECT_FALSE(has_kernel_routes());
}

TEST_F(KernelTurnsInRib, what_a_change_by_hand_means_for_routes_over_it_has_been_done_when_it_is_answered) {
    start_and_settle();
    const auto set = [&](const char* prefix, const char* via) {
        config::StaticRoute route;
        route.prefix = Prefix::parse(prefix).value();
        route.next_hops = {{IpAddress::parse(via).value(), {}, 1}};
        EXPECT_TRUE(control->change_cli_routes(CliRoutes::Edit::replace, {&route, 1}).has_value());
    };
    const auto group_of = [&](const char* address) {
        return control->routing().image().lookup(IpAddress::parse(address).value());
    };
    set("100.1.0.0/16", "100.2.0.1");
    EXPECT_EQ(group_of("100.1.0.1"), 0U);
    set("100.2.0.0/24", "10.0.0.9");
    EXPECT_NE(group_of("100.1.0.1"), 0U);
    set("100.2.0.0/24", "100.1.0.7");
    EXPECT_EQ(group_of("100.1.0.1"), 0U) << "a loop";
}

TEST_F(KernelTurnsInRib, another_table_takes_over_when_it_has_been_read_and_what_both_have_is_never_gone) {
    fill_table("eth0");
    fill_table("eth1", 100, 2);
    start_and_settle();
    config.kernel_routes.table = 100;
    ASSERT_TRUE(control->apply(config, false));
    EXPECT_EQ(in_rib(), many) << "the former table's routes stay until the new one has been read";
    const auto shared = IpAddress::parse("100.0.8.1").value();
    const auto former = IpAddress::parse("100.0.9.1").value();
    bool read = false;
    do {
        loop.once();
        ASSERT_TRUE(control->routing().rib().match(shared).has_value());
        if (!status().complete) {
            EXPECT_EQ(in_rib(), many);
        }
        read |= status().complete;
    } while (loop.has_turns());
    EXPECT_TRUE(read);
    EXPECT_EQ(in_rib(), many / 2);
    EXPECT_FALSE(control->routing().rib().match(former).has_value());
}

TEST_F(KernelTurnsInRib, the_table_of_each_vrf_is_followed_into_it_for_as_long_as_there_is_one) {
    fill_table("eth0");
    fill_table("eth1", 100, 2);
    fill_table("eth1", 101, 3);
    config.vrfs["red"].table = 100;
    config.interfaces["eth1"].vrf = "red";
    start();
    EXPECT_FALSE(status().complete);
    loop.settle();
    const auto in_red = [&] {
        return control->routing().rib(*control->routing().vrf_by_name("red")).size(fib::RouteSource::kernel);
    };
    EXPECT_EQ(in_rib(), many);
    EXPECT_EQ(in_red(), (many + 1) / 2);
    EXPECT_EQ(status().routes, many + (many + 1) / 2 + 2) << "and the prefix routes of both addresses";
    EXPECT_TRUE(status().complete);
    EXPECT_EQ(host.connections.size(), 3U);

    host.tell(route(many, "eth1", 100));
    loop.settle();
    EXPECT_EQ(in_red(), (many + 1) / 2 + 1);
    EXPECT_EQ(in_rib(), many);

    config::Config other = config;
    other.vrfs["red"].table = 101;
    reload(other);
    EXPECT_EQ(in_red(), (many + 2) / 3);
    other.kernel_routes.enabled = false;
    reload(other);
    EXPECT_EQ(in_red(), 0U);
    reload(config);
    EXPECT_EQ(in_red(), (many + 1) / 2) << "what was told and not kept by the host is not there any more";
    other = config;
    other.vrfs.clear();
    other.interfaces["eth1"].vrf.clear();
    reload(other);
    EXPECT_FALSE(control->routing().vrf_by_name("red"));
    EXPECT_EQ(in_rib(), many);
    EXPECT_EQ(host.connections.size(), 2U) << "the table of a VRF that has gone is followed no more";
}

TEST_F(KernelTurnsInRib, settings_that_change_again_and_again_leave_what_the_last_ones_want) {
    fill_table("eth0");
    fill_table("eth1", 100, 3);
    fill_table("eth1", 200, 5);
    start();
    const struct {
        bool enabled;
        uint32_t table;
        size_t routes;
    } steps[] = {{true, 100, (many + 2) / 3}, {false, 254, 0},       {true, 254, many}, {true, 200, many / 5},
                 {true, 100, (many + 2) / 3}, {true, 200, many / 5}, {false, 254, 0}};
    for (const auto& step : steps) {
        config.kernel_routes.enabled = step.enabled;
        config.kernel_routes.table = step.table;
        ASSERT_TRUE(control->apply(config, false));
        for (unsigned turn = 0; turn < 2; ++turn)  // not to the end
            loop.once();
    }
    loop.settle();
    EXPECT_EQ(in_rib(), 0U);
    EXPECT_EQ(host.connections.size(), 1U) << "former connections are closed";
    config.kernel_routes.enabled = true;
    config.kernel_routes.table = 200;
    reload(config);
    EXPECT_EQ(in_rib(), many / 5);
}

TEST_F(KernelTurnsInRib, a_refused_reload_leaves_what_is_known_of_routes_that_are_not_followed) {
    start_and_settle();
    config::Config other = config;
    other.kernel_routes.table = 100;
    // A port is attached after the tables have been exchanged.
    host.add_device("eth2");
    loop.settle();
    other.interfaces["eth2"] = port("eth2", "10.2.0.1/24");
    const auto known = [&] { return control->ignored_routes().at("")->all().size(); };
    std::set<std::string> refused_by;
    for (size_t call = 1;; call++) {
        host.tell(SelectiveRouteEvent{
            false, Prefix::of(IpAddress::v4(0x64000000), 24), 254, 0, RTPROT_STATIC, 0x10, {}});
        host.tell(RuleEvent{false, Family::ipv4, 100, 7});
        loop.settle();
        ASSERT_EQ(known(), 2U);
        faults.arm({call}, Faults::Kind::error);
        const bool done = control->apply(other, false).has_value();
        const auto hits = faults.hits();
        faults.disarm();
        if (hits.empty()) break;
        if (done) {
            EXPECT_EQ(known(), 0U) << "of a table that is followed no more";
            reload(config);
        } else {
            refused_by.insert(hits.front());
            EXPECT_EQ(known(), 2U) << hits.front();
        }
    }
    EXPECT_TRUE(refused_by.contains("attach eth2")) << testing::PrintToString(refused_by);
}

TEST_F(KernelTurnsInRib, a_turn_that_was_asked_for_does_nothing_when_the_daemon_has_gone) {
    start();
    ASSERT_TRUE(loop.has_turns());
    control.reset();
    loop.settle();
}

}  // namespace
}  // namespace pktpit::router
