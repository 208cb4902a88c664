// SPDX-License-Identifier: BSD-3-Clause
// Local routes and prefix routes of a real kernel, followed through random changes, silent ones among them:
// what is known must stay what a dump says.
#include <linux/rtnetlink.h>

#include <random>

#include "tests/system/network_namespace.h"

namespace pktpit::router {
namespace {

class SystemDeviceRoutes : public NetworkNamespace {
  protected:
    /// Without those of link-local and loopback addresses, whose comings and goings are the kernel's own.
    using Routes = std::set<std::string>;
    static void add(Routes& all, const DeviceRoute& route) {
        const IpAddress& address = route.prefix.address;
        if (address.is_loopback() || (address.is_v6() && address.is_link_local())) return;
        all.insert((route.local ? "local " : "") + route.prefix.to_string() + " dev " +
                   std::to_string(route.ifindex) + " table " + std::to_string(route.table) + " metric " +
                   std::to_string(route.metric) + " protocol " + std::to_string(route.protocol));
    }
    static NetlinkOptions of_devices() {
        NetlinkOptions options;
        options.routes.of_devices = true;
        return options;
    }
    Routes followed() const {
        Routes all;
        for (const auto& [key, route] : recorder.device_routes)
            add(all, route);
        return all;
    }
    static Routes dumped() {
        auto fresh = NetlinkKernel::open(of_devices());
        Recorder told;
        KernelState tables(of_devices().routes, told);
        EXPECT_TRUE((*fresh)->dump([&](const KernelEvent& event) { tables.consume(event); }));
        Routes all;
        for (const auto& [key, route] : told.device_routes)
            add(all, route);
        return all;
    }
    void expect_same_after(const std::string& commands) {
        const Batch batch(commands);
        (void)std::system((batch.command("-force") + " 2>/dev/null").c_str());
        SCOPED_TRACE(commands);
        catch_up();
        ASSERT_EQ(followed(), dumped());
    }
};

TEST_F(SystemDeviceRoutes, others_do_not_come) {
    start(of_devices());
    run("ip route add 203.0.113.0/24 via 10.0.0.2");
    run("ip route add 198.51.100.0/24 dev v0");
    run("ip route add 198.18.9.0/24 dev v0 proto dhcp");
    run("ip -6 route add 2001:db8:7::/48 via 2001:db8:a::2 proto ra");
    run("ip route add local 198.18.1.0/24 dev lo table 77");
    catch_up();
    const Routes now = followed();
    const std::string v0 = std::to_string(ifindex("v0"));
    EXPECT_TRUE(now.contains("10.0.0.0/24 dev " + v0 + " table 254 metric 0 protocol 2"));
    EXPECT_TRUE(now.contains("local 10.0.0.1/32 dev " + v0 + " table 255 metric 0 protocol 2"));
    EXPECT_TRUE(now.contains("2001:db8:a::/64 dev " + v0 + " table 254 metric 256 protocol 2"));
    EXPECT_TRUE(now.contains("198.18.9.0/24 dev " + v0 + " table 254 metric 0 protocol 16"));
    EXPECT_TRUE(now.contains("local 198.18.1.0/24 dev 1 table 77 metric 0 protocol 3"));
    EXPECT_EQ(now.size(), 10U) << ::testing::PrintToString(now);
    EXPECT_EQ(now, dumped());
    EXPECT_EQ(kernel->counters().malformed, 0U);
    EXPECT_EQ(state->routes().prefixes(), 0U);
}

TEST_F(SystemDeviceRoutes, random_changes_are_followed) {
    start(of_devices());
    std::mt19937 random(7);
    const auto one_of = [&](std::initializer_list<const char*> choices) {
        return std::string(choices.begin()[random() % choices.size()]);
    };
    for (int round = 0; round < 60; round++) {
        std::string commands;
        for (int i = 0; i < 6; i++) {
            const std::string port = one_of({"v0", "w0"});
            switch (random() % 8) {
                case 0:
                    commands += "link set " + port + one_of({" up", " up", " down"});
                    break;
                case 1:
                case 2:
                    commands += "address " + one_of({"add ", "add ", "del "}) +
                                one_of({"10.5.0.1/24", "10.5.0.2/24", "10.6.0.1 peer 10.6.0.2/32",
                                        "10.6.0.1 peer 10.7.0.2/24"}) +
                                " dev " + port;
                    break;
                case 3:
                    commands +=
                        "address add 10.5.0.3/24 dev " + port + one_of({" metric 5", " noprefixroute"});
                    break;
                case 4:
                    commands += "address " + one_of({"add ", "del "}) +
                                one_of({"2001:db8:5::1/64", "2001:db8:6::1 peer 2001:db8:6::2/128"}) +
                                " dev " + port + " nodad";
                    break;
                case 5:
                    commands += "route " + one_of({"add ", "append ", "del "}) + "10.5.0.0/24 dev " + port +
                                " proto " + one_of({"kernel", "dhcp"}) + one_of({"", " metric 7"});
                    break;
                case 6:
                    commands += "address " + one_of({"add ", "del "}) + "198.18.2.1/24 dev lo";
                    break;
                default:
                    commands += "route " + one_of({"add ", "del "}) + "local " +
                                one_of({"198.18.1.0/24", "2001:db8:9::/64"}) + " dev " + one_of({"lo", "v0"});
            }
            commands += "\n";
        }
        ASSERT_NO_FATAL_FAILURE(expect_same_after(commands)) << "round " << round;
    }
}

}  // namespace
}  // namespace pktpit::router
