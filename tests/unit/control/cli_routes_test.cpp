// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/cli_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "config/route_json.h"
#include "tests/unit/control/routing_core.h"

namespace pktpit::router {
namespace {

using Edit = CliRoutes::Edit;

using fake::route_to;
const auto net = pktpit::test::prefix;

/// Everything that a daemon has, and that ends with it.
struct Instance : fake::RoutingCore {
    explicit Instance(const std::string& path)
        : RoutingCore({.buckets = 256, .roots = 0, .node_bytes = 64 << 10}), cli(routing, counters, path) {}
    std::map<Prefix, uint32_t> metrics() const {
        std::map<Prefix, uint32_t> found;
        routing.rib().for_each(Family::ipv4, [&](const fib::Route& one, bool) {
            if (one.source == fib::RouteSource::cli) found[one.prefix] = one.metric;
            return true;
        });
        return found;
    }

    CliRoutes cli;
};

class CliRoutesTest : public testing::Test {
  protected:
    ~CliRoutesTest() override {
        std::filesystem::remove(path);
        std::filesystem::remove(path + ".incoming");
    }
    /// What a daemon that starts now has.
    std::map<Prefix, uint32_t> after_restart() const {
        Instance next(path);
        next.cli.load();
        return next.metrics();
    }
    std::string path = testing::TempDir() + "cli_routes_" + std::to_string(getpid());
};

TEST_F(CliRoutesTest, a_batch_is_made_whole_or_not_at_all) {
    Instance now(path);
    const std::vector first{route_to("10.0.0.0/8", "192.0.2.7"), route_to("11.0.0.0/8", "192.0.2.8")};
    const auto added = now.cli.change(Edit::add, first);
    ASSERT_TRUE(added);
    EXPECT_EQ(added->count, 2U);
    EXPECT_EQ(added->next_hops.size(), 2U);
    const auto before = now.metrics();
    const auto usage = now.image.usage();

    const std::vector there{route_to("12.0.0.0/8", "192.0.2.7"), route_to("11.0.0.0/8", "192.0.2.7")};
    const auto refused = now.cli.change(Edit::add, there);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().index, 1U);
    auto nowhere = route_to("13.0.0.0/8", "192.0.2.7");
    nowhere.next_hops[0].interface = "nowhere";
    const auto unknown = now.cli.change(
        Edit::replace,
        std::vector{route_to("10.0.0.0/8", "192.0.2.9", 5), route_to("14.0.0.0/8", "192.0.2.9"), nowhere});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().index, 2U);
    EXPECT_THAT(unknown.error().error.to_string(), testing::HasSubstr("nowhere"));
    const auto twice = now.cli.change(
        Edit::add, std::vector{route_to("15.0.0.0/8", "192.0.2.7"), route_to("15.0.0.0/8", "192.0.2.8")});
    ASSERT_FALSE(twice);
    EXPECT_EQ(twice.error().index, 1U);
    const auto absent = now.cli.change(
        Edit::remove, std::vector{route_to("10.0.0.0/8", "192.0.2.7"), route_to("16.0.0.0/8", "192.0.2.7")});
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().index, 1U);

    EXPECT_EQ(now.metrics(), before);
    EXPECT_EQ(now.image.usage().groups, usage.groups);
    EXPECT_EQ(now.image.usage().adjacencies, usage.adjacencies);
    EXPECT_EQ(after_restart(), before);
}

TEST_F(CliRoutesTest, routes_of_vrfs_are_their_own) {
    const auto in_red = [](config::StaticRoute route) {
        route.vrf = "red";
        return route;
    };
    const auto red_metric = [](const Instance& one, const std::string& prefix) {
        const auto route =
            one.routing.route(net(prefix), fib::RouteSource::cli, one.routing.vrf_by_name("red").value());
        return route ? std::optional(route->metric) : std::nullopt;
    };
    Instance now(path);
    const auto unknown = now.cli.change(Edit::add, std::vector{in_red(route_to("10.0.0.0/8", "192.0.2.7"))});
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().error.where, "red");
    ASSERT_TRUE(now.routing.add_vrf({"red", 100}));
    const std::vector both{route_to("10.0.0.0/8", "192.0.2.7", 1),
                           in_red(route_to("10.0.0.0/8", "192.0.2.8", 2)),
                           in_red(route_to("11.0.0.0/8", "192.0.2.8", 3))};
    ASSERT_TRUE(now.cli.change(Edit::add, both));
    EXPECT_EQ(now.metrics(), (std::map<Prefix, uint32_t>{{net("10.0.0.0/8"), 1}}));
    EXPECT_EQ(red_metric(now, "10.0.0.0/8"), 2U);
    // Each is removed by itself, and what is not there is told with its VRF.
    ASSERT_TRUE(now.cli.change(Edit::remove, std::vector{route_to("10.0.0.0/8", "192.0.2.7")}));
    EXPECT_TRUE(now.metrics().empty());
    EXPECT_EQ(red_metric(now, "10.0.0.0/8"), 2U);
    ASSERT_TRUE(now.cli.change(Edit::remove, std::vector{in_red(route_to("11.0.0.0/8", "192.0.2.7"))}));
    const auto absent =
        now.cli.change(Edit::remove, std::vector{in_red(route_to("11.0.0.0/8", "192.0.2.7"))});
    ASSERT_FALSE(absent);
    EXPECT_THAT(absent.error().error.where, testing::HasSubstr("VRF red"));
    {
        Instance next(path);
        ASSERT_TRUE(next.routing.add_vrf({"red", 100}));
        next.cli.load();
        EXPECT_EQ(red_metric(next, "10.0.0.0/8"), 2U);
        EXPECT_EQ(red_metric(next, "11.0.0.0/8"), std::nullopt);
        EXPECT_TRUE(next.metrics().empty());
    }
    // Without the VRF there is nothing, and nothing breaks.
    now.routing.remove_vrf(now.routing.vrf_by_name("red").value());
    now.cli.refresh();
    EXPECT_TRUE(now.cli.change(Edit::remove, std::vector{in_red(route_to("10.0.0.0/8", "192.0.2.7"))}));
    EXPECT_TRUE(now.cli.all().empty());
}

// Equal next hops of two VRFs are looked up in different routes.
TEST_F(CliRoutesTest, a_gateway_is_looked_up_in_the_routes_own_vrf) {
    Instance now(path);
    const VrfId red = now.routing.add_vrf({"red", 100}).value();
    const auto id = now.add_interface("red0", 2, red);
    auto in_red = route_to("10.0.0.0/8", "192.0.2.7");
    in_red.vrf = "red";
    ASSERT_TRUE(now.cli.change(Edit::add, std::vector{route_to("10.0.0.0/8", "192.0.2.7"), in_red}));
    const auto interface_of = [&](VrfId vrf) {
        const auto route = now.routing.route(net("10.0.0.0/8"), fib::RouteSource::cli, vrf);
        return now.routing.next_hop_sets().hops_of(route->next_hops).front().interface;
    };
    EXPECT_EQ(interface_of(red), id);
    EXPECT_NE(interface_of(default_vrf), id);
}

TEST_F(CliRoutesTest, what_does_not_fit_leaves_nothing_behind) {
    Instance now(path);
    ASSERT_TRUE(now.cli.change(Edit::add, std::vector{route_to("10.0.0.0/8", "192.0.2.7")}));
    const auto usage = now.image.usage();
    std::vector<config::StaticRoute> many{route_to("10.0.0.0/8", "192.0.2.8", 9)};
    for (int i = 0; i < 4000; i++)
        many.push_back(route_to("20." + std::to_string(i % 250) + "." + std::to_string(i / 250) + ".128/25",
                                i % 2 ? "192.0.2.8" : "192.0.2.9"));
    const auto refused = now.cli.change(Edit::replace, many);
    ASSERT_FALSE(refused) << "64 KiB do not hold 4,000 routes";
    EXPECT_GT(refused.error().index, 10U);
    EXPECT_EQ(now.metrics(), (std::map<Prefix, uint32_t>{{net("10.0.0.0/8"), 0}}));
    EXPECT_EQ(now.image.usage().prefixes4, usage.prefixes4);
    EXPECT_EQ(now.image.usage().groups, usage.groups);
    EXPECT_EQ(after_restart(), now.metrics());
}

TEST_F(CliRoutesTest, a_replacement_by_what_is_there_changes_nothing) {
    Instance now(path);
    ASSERT_TRUE(now.cli.change(Edit::add, std::vector{route_to("10.0.0.0/8", "192.0.2.7")}));
    const auto size = std::filesystem::file_size(path);
    const auto again = now.cli.change(Edit::replace, std::vector{route_to("10.0.0.0/8", "192.0.2.7")});
    ASSERT_TRUE(again);
    EXPECT_EQ(again->count, 0U);
    EXPECT_EQ(std::filesystem::file_size(path), size);
}

// Whatever the changes, and wherever the file is cut, a restart finds a state that was.
TEST_F(CliRoutesTest, random_changes_survive_a_restart) {
    std::mt19937 random(7);
    for (int round = 0; round < 5; round++) {
        std::filesystem::remove(path);
        Instance now(path);
        std::map<Prefix, uint32_t> wanted;
        std::map<Prefix, uint32_t> before;
        uintmax_t size_before = 0;
        for (uint32_t step = 0; step < 1500; step++) {
            std::map<Prefix, config::StaticRoute> batch;
            for (size_t i = 0; i < 1 + random() % 3; i++) {
                auto one = route_to("10." + std::to_string(random() % 40) + ".0.0/16",
                                    random() % 2 ? "192.0.2.7" : "192.0.2.8", step);
                batch.insert_or_assign(one.prefix, one);
            }
            std::vector<config::StaticRoute> routes;
            bool removable = true;
            for (const auto& [key, one] : batch) {
                removable &= wanted.contains(key);
                routes.push_back(one);
            }
            const bool remove = removable && random() % 2 == 0;
            before = wanted;
            size_before = std::filesystem::exists(path) ? std::filesystem::file_size(path) : 0;
            ASSERT_TRUE(now.cli.change(remove ? Edit::remove : Edit::replace, routes));
            for (const auto& one : routes)
                if (remove)
                    wanted.erase(one.prefix);
                else
                    wanted[one.prefix] = one.metric;
        }
        EXPECT_EQ(now.metrics(), wanted);
        EXPECT_EQ(after_restart(), wanted);
        EXPECT_LT(std::filesystem::file_size(path), 200U * (2 * 40 + 1000)) << "it does not grow for ever";
        const auto size = std::filesystem::file_size(path);
        if (size > size_before) {
            std::filesystem::resize_file(path, size_before + 1 + random() % (size - size_before - 1));
            EXPECT_EQ(after_restart(), before) << "the last change was not written to its end";
            EXPECT_EQ(after_restart(), before);
            EXPECT_EQ(std::filesystem::file_size(path), size_before);
        }
    }
}

TEST_F(CliRoutesTest, what_earlier_daemons_kept_is_read) {
    std::ofstream(path) << R"([{"prefix": "10.0.0.0/8", "metric": 3, "next_hops": [{"via": "192.0.2.7"}]},
                               {"prefix": "11.0.0.0/8", "metric": 4, "type": "blackhole"}])"
                        << '\n';
    const std::map<Prefix, uint32_t> kept{{net("10.0.0.0/8"), 3}, {net("11.0.0.0/8"), 4}};
    EXPECT_EQ(after_restart(), kept);
    Instance now(path);
    now.cli.load();
    ASSERT_TRUE(now.cli.change(Edit::remove, std::vector{route_to("11.0.0.0/8", "192.0.2.7")}));
    EXPECT_EQ(after_restart(), (std::map<Prefix, uint32_t>{{net("10.0.0.0/8"), 3}}));
}

TEST_F(CliRoutesTest, a_file_that_cannot_be_written_refuses_the_change) {
    Instance now("/nonexistent/folder/routes");
    const auto refused = now.cli.change(Edit::add, std::vector{route_to("10.0.0.0/8", "192.0.2.7")});
    ASSERT_FALSE(refused);
    EXPECT_THAT(refused.error().error.to_string(), testing::HasSubstr("/nonexistent/folder/routes"));
    EXPECT_TRUE(now.metrics().empty());
}

TEST_F(CliRoutesTest, a_route_s_text_is_the_route) {
    auto one = route_to("2001:db8::/32", "2001:db8::1", 7);
    one.next_hops.push_back({std::nullopt, "eth\"0", 300});
    one.counters = true;
    one.preference = 200;
    config::StaticRoute nothing;
    nothing.prefix = net("0.0.0.0/0");
    nothing.type = config::RouteType::prohibit;
    for (const auto& wanted : {one, nothing}) {
        const auto text = config::route_text(wanted);
        EXPECT_EQ(config::parse_route(nlohmann::json::parse(text)).value(), wanted) << text;
    }
}

}  // namespace
}  // namespace pktpit::router
