// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/static_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "fib/lookup.h"
#include "tests/unit/control/routing_core.h"

namespace pktpit::router {
namespace {

using fake::route_to;
using pktpit::test::prefix;
const auto ip = pktpit::test::address;

class StaticRoutesTest : public testing::Test, protected fake::RoutingCore {
  protected:
    StaticRoutesTest()
        : RoutingCore({.groups = 16,
                       .buckets = 256,
                       .adjacencies = 32,
                       .tables = 2,
                       .roots = 0,
                       .node_bytes = 16 << 10}) {
        std::filesystem::create_directories(directory);
        config.base_directory = directory;
    }
    ~StaticRoutesTest() override { std::filesystem::remove_all(directory); }

    void write(const std::string& name, const std::string& text) const {
        std::ofstream(directory + "/" + name) << text;
    }
    void add_file(const std::string& name, const std::map<std::string, const char*>& gateways,
                  const std::string& text) {
        write(name, text);
        config::RoutesFile file{name, {}, 10};
        for (const auto& [id, gateway] : gateways)
            file.next_hops[id] = {{ip(gateway), {}, 1}};
        config.routes_files.push_back(file);
    }
    Result<void> install() {
        Transaction transaction;
        auto result =
            install_wanted_routes(routing, counters, read_wanted_routes(config).value(), transaction);
        if (result) {
            EXPECT_TRUE(transaction.commit().empty());
        }
        return result;
    }
    std::map<std::string, std::string> installed() const {
        std::map<std::string, std::string> routes;
        for (const Family family : {Family::ipv4, Family::ipv6})
            routing.rib().for_each(family, [&](const fib::Route& route, bool) {
                const auto& hops = routing.next_hop_sets().spec_of(route.next_hops).next_hops;
                if (route.source == fib::RouteSource::config)
                    routes[route.prefix.to_string()] =
                        hops.empty() ? "special" : hops.front().via->to_string();
                return true;
            });
        return routes;
    }

    std::string directory = testing::TempDir() + "static_routes_" + std::to_string(getpid());
    config::Config config;
};

TEST_F(StaticRoutesTest, RoutesGoBeforeFilesAndFilesBeforeLaterOnes) {
    add_file("a.txt", {{"1", "192.0.2.11"}, {"2", "192.0.2.12"}}, "10.0.0.0/8 1\n10.1.0.0/16 2\n");
    add_file("b.txt", {{"*", "192.0.2.19"}}, "10.1.0.0/16 9\n10.2.0.0/16 9\n");
    config.routes = {route_to("10.0.0.0/8", "192.0.2.77")};
    ASSERT_TRUE(install());
    EXPECT_EQ(installed(), (std::map<std::string, std::string>{{"10.0.0.0/8", "192.0.2.77"},
                                                               {"10.1.0.0/16", "192.0.2.12"},
                                                               {"10.2.0.0/16", "192.0.2.19"}}));
}

TEST_F(StaticRoutesTest, EveryBadLineOfAFileIsAnErrorWithItsPlace) {
    add_file("a.txt", {{"1", "192.0.2.11"}}, "10.0.0.0/8 1\n10.1.0.0/16 7\n10.2.0.0/16 8\n");
    const auto wanted = read_wanted_routes(config);
    ASSERT_FALSE(wanted);
    ASSERT_EQ(wanted.error().size(), 2U);
    EXPECT_THAT(wanted.error()[0].where, testing::EndsWith("a.txt:2"));
    EXPECT_THAT(wanted.error()[0].message, testing::HasSubstr("\"7\""));
    EXPECT_THAT(wanted.error()[1].where, testing::EndsWith("a.txt:3"));
}

TEST_F(StaticRoutesTest, AFileThatIsNotThereIsAnError) {
    config.routes_files = {{"absent.txt", {}, 10}};
    const auto wanted = read_wanted_routes(config);
    ASSERT_FALSE(wanted);
    EXPECT_THAT(wanted.error()[0].to_string(), testing::HasSubstr("absent.txt"));
}

TEST_F(StaticRoutesTest, AChangeReplacesAddsAndRemoves) {
    add_file("a.txt", {{"1", "192.0.2.11"}, {"2", "192.0.2.12"}}, "10.0.0.0/8 1\n11.0.0.0/8 1\n");
    ASSERT_TRUE(install());
    write("a.txt", "10.0.0.0/8 2\n12.0.0.0/8 1\n");
    ASSERT_TRUE(install());
    EXPECT_EQ(installed(), (std::map<std::string, std::string>{{"10.0.0.0/8", "192.0.2.12"},
                                                               {"12.0.0.0/8", "192.0.2.11"}}));
}

TEST_F(StaticRoutesTest, ANextHopThatNobodyElseUsesIsReplaced) {
    config.routes = {route_to("10.0.0.0/8", "192.0.2.11")};
    ASSERT_TRUE(install());
    const auto usage = image.usage();
    config.routes = {route_to("10.0.0.0/8", "192.0.2.12")};
    ASSERT_TRUE(install());
    EXPECT_EQ(installed(), (std::map<std::string, std::string>{{"10.0.0.0/8", "192.0.2.12"}}));
    EXPECT_EQ(image.usage().groups, usage.groups) << "the old group has gone";
    {
        config.routes = {route_to("10.0.0.0/8", "192.0.2.13")};
        Transaction given_up;
        ASSERT_TRUE(install_wanted_routes(routing, counters, read_wanted_routes(config).value(), given_up));
    }
    EXPECT_EQ(installed(), (std::map<std::string, std::string>{{"10.0.0.0/8", "192.0.2.12"}}));
    EXPECT_EQ(image.usage().groups, usage.groups);
}

TEST_F(StaticRoutesTest, RefusedChangeLeavesEverythingAsItWas) {
    add_file("a.txt", {{"1", "192.0.2.11"}, {"2", "192.0.2.12"}},
             "10.0.0.0/8 1\n11.0.0.0/8 1\n12.34.0.0/20 1\n");
    ASSERT_TRUE(install());
    const auto before = installed();
    const auto usage = image.usage();

    std::string too_much = "10.0.0.0/8 2\n";
    for (int i = 0; i < 200; i++)
        too_much += "20." + std::to_string(i) + ".1.0/24 2\n";
    write("a.txt", too_much);
    const auto refused = install();
    ASSERT_FALSE(refused) << "16 KiB cannot hold /24s of 200 different /16s";
    EXPECT_THAT(refused.error().to_string(), testing::HasSubstr("table_memory_mib"));
    EXPECT_EQ(installed(), before);
    const auto after = image.usage();
    EXPECT_EQ(after.prefixes4, usage.prefixes4);
    EXPECT_EQ(after.groups, usage.groups);
    EXPECT_EQ(after.adjacencies, usage.adjacencies);
    EXPECT_TRUE(install().has_value() == false) << "and it is refused again";
    write("a.txt", "10.0.0.0/8 2\n");
    EXPECT_TRUE(install()) << "and a change that fits is taken";
}

TEST_F(StaticRoutesTest, NoRoomForAGroupNamesTheRoute) {
    for (int i = 0; i < 40; i++)
        config.routes.push_back(
            route_to("10." + std::to_string(i) + ".0.0/16", ("192.0.2." + std::to_string(100 + i)).c_str()));
    const auto refused = install();
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().message, testing::HasSubstr("route 10."));
    EXPECT_TRUE(installed().empty());
}

TEST_F(StaticRoutesTest, ACountedRouteHasAGroupAndACounterOfItsOwn) {
    for (const char* to : {"10.0.0.0/8", "11.0.0.0/8", "12.0.0.0/8"})
        config.routes.push_back(route_to(to, "192.0.2.11"));
    config.routes[0].counters = config.routes[2].counters = true;
    ASSERT_TRUE(install());
    const auto counter_of = [&](const char* text) {
        const auto group = image.find(prefix(text)).value();
        return PP_FIB_GROUP_COUNTER(pp_fib_group_word(memory.base(), &memory.geometry(), group));
    };
    EXPECT_EQ(counter_of("11.0.0.0/8"), 0U);
    const auto first = counter_of("10.0.0.0/8");
    EXPECT_EQ(counters.all().at({prefix("10.0.0.0/8"), fib::RouteSource::config}), first);
    EXPECT_NE(first, 0U);
    EXPECT_NE(counter_of("12.0.0.0/8"), first);
    config.routes[0].next_hops = {{ip("192.0.2.12"), {}, 1}, {ip("192.0.2.13"), {}, 1}};
    ASSERT_TRUE(install());
    EXPECT_EQ(counter_of("10.0.0.0/8"), first) << "other next hops, the same counter";
    config.routes[0].counters = false;
    ASSERT_TRUE(install());
    EXPECT_EQ(counter_of("10.0.0.0/8"), 0U);
}

TEST_F(StaticRoutesTest, BackupsComeFromRoutesAndFiles) {
    add_file("a.txt", {{"1", "192.0.2.11"}, {"*", "192.0.2.12"}}, "10.0.0.0/8 1\n11.0.0.0/8 2\n");
    config.routes_files[0].backup["1"] = {{ip("192.0.2.13"), {}, 1}};
    config.routes_files[0].backup["*"] = {{ip("192.0.2.14"), {}, 1}};
    config.routes = {route_to("12.0.0.0/8", "192.0.2.11")};
    config.routes[0].backup = {{ip("192.0.2.15"), {}, 1}};
    ASSERT_TRUE(install());
    const auto backup_of = [&](const char* text) {
        const auto route = routing.route(prefix(text), fib::RouteSource::config).value();
        const auto& hops = routing.next_hop_sets().spec_of(route.next_hops).next_hops;
        return hops.size() == 2 && !hops[0].backup && hops[1].backup ? hops[1].via->to_string() : "";
    };
    EXPECT_EQ(backup_of("10.0.0.0/8"), "192.0.2.13");
    EXPECT_EQ(backup_of("11.0.0.0/8"), "192.0.2.14");
    EXPECT_EQ(backup_of("12.0.0.0/8"), "192.0.2.15");
    config.routes[0].backup.clear();
    ASSERT_TRUE(install());
    EXPECT_EQ(backup_of("12.0.0.0/8"), "") << "a reload takes it away";
}

TEST_F(StaticRoutesTest, UnknownInterfaceIsAnError) {
    config.routes.push_back({prefix("10.0.0.0/8"), config::RouteType::unicast, {{{}, "nowhere", 1}}, 10, 0});
    const auto refused = install();
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().to_string(), testing::HasSubstr("nowhere"));
}

}  // namespace
}  // namespace pktpit::router
