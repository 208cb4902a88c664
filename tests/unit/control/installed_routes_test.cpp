// SPDX-License-Identifier: BSD-3-Clause
// What stands in the kernel's table is brought there aside, and is right whatever happens meanwhile.
#include "router/control/installed_routes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#include <filesystem>
#include <latch>
#include <thread>

#include "router/control/static_routes.h"
#include "tests/unit/control/fake_loop.h"
#include "tests/unit/control/routing_core.h"

namespace pktpit::router {
namespace {

constexpr uint32_t main_table = 254;

using fake::route_to;
const auto prefix_of = pktpit::test::prefix;

/// The kernel's table, as far as it is ours.
class Table : public RouteWriter {
  public:
    Result<void> add(const HostRoute& route) override {
        changes++;
        if (!of(route.table).emplace(route.prefix, route).second) return fail("route", "File exists");
        return {};
    }
    Result<void> remove(uint32_t table, const Prefix& prefix) override {
        changes++;
        if (std::exchange(refuses_removal, false)) return fail("route", "injected");
        of(table).erase(prefix);
        return {};
    }
    Result<void> remove_former(uint32_t, const Prefix& prefix) override {
        changes++;
        if (std::exchange(refuses_removal_of_former, false)) return fail("route", "injected");
        EXPECT_EQ(former.erase(prefix), 1U);
        gap |= wanted.contains(prefix) && !routes.contains(prefix);
        return {};
    }
    Result<std::vector<HostRoute>> installed() override {
        std::vector<HostRoute> all;
        for (const auto* table : {&former, &routes, &vrf_routes})
            for (const auto& [prefix, route] : *table)
                all.push_back(route);
        return all;
    }
    std::optional<uint8_t> goes_before(uint32_t, const Prefix&) override {
        if (changes == throws_behind_change) throw std::bad_alloc();
        return std::nullopt;
    }
    [[nodiscard]] int descriptor() const override { return 77; }
    void poll(const Lost& lost) override {
        for (const auto& [prefix, by_kernel] : std::exchange(told, {}))
            lost(main_table, prefix, by_kernel);
    }

    /// It is gone, which poll() tells.
    void lose(const Prefix& prefix, bool by_kernel) {
        routes.erase(prefix);
        told.emplace_back(prefix, by_kernel);
    }

    using Routes = std::map<Prefix, HostRoute>;
    Routes& of(uint32_t table) { return table == main_table ? routes : vrf_routes; }
    Routes routes;
    Routes vrf_routes;  ///< of all other tables
    Routes former;      ///< what an earlier version left in the main table, at its metric
    std::vector<std::pair<Prefix, bool>> told;
    unsigned changes = 0;
    bool refuses_removal = false;            ///< the next one
    bool refuses_removal_of_former = false;  ///< the next one
    std::set<Prefix> wanted;                 ///< `gap`: of one of them the kernel had no route for a while
    bool gap = false;
    unsigned throws_behind_change = 0;
};

class InstalledRoutesTest : public testing::Test, protected fake::RoutingCore {
  protected:
    InstalledRoutesTest() : RoutingCore({.buckets = 256, .roots = 0}) {
        config.kernel_routes.table = main_table;
        config.kernel_routes.install = true;
    }
    ~InstalledRoutesTest() override {
        std::filesystem::remove(path);
        std::filesystem::remove(path + ".incoming");
    }
    void want(unsigned routes) {
        config.routes.clear();
        for (unsigned i = 0; i < routes; i++)
            config.routes.push_back(route_to(
                "10." + std::to_string(i / 256) + "." + std::to_string(i % 256) + ".0/24", "192.0.2.7"));
        install();
    }
    void install() {
        Transaction transaction;
        ASSERT_TRUE(
            install_wanted_routes(routing, counters, read_wanted_routes(config).value(), transaction));
        ASSERT_TRUE(transaction.commit().empty());
    }
    void reload() { ASSERT_TRUE(installed->configured(config)); }
    void turn() {
        installed->tick();
        loop.work();
        loop.once();
        loop.tell();
        loop.once();
    }
    /// Until nothing is left to be done.
    void settle() {
        for (unsigned count = 0; count < 50; count++)
            turn();
        EXPECT_EQ(loop.waiting(), 0U);
    }
    void refreshed_at_each_of(unsigned turns) {
        for (unsigned count = 0; count < turns; count++) {
            installed->refresh();
            turn();
        }
    }
    void change_by_hand(const config::StaticRoute& route) {
        ASSERT_TRUE(by_hand.change(CliRoutes::Edit::add, std::vector{route}));
        installed->changed(std::vector{route});
    }
    /// A hundred routes stand in the kernel's table.
    void have_a_hundred() {
        want(100);
        reload();
        settle();
    }
    /// What that asks for has begun.
    void link_goes_down() {
        set_link(lan, 1, false);
        installed->device_changed(11);
        installed->tick();
    }
    void device_flapped() {
        for (const auto& [prefix, route] : table.routes)
            EXPECT_EQ(route.next_hops.front().ifindex, 11U);
        table.routes.clear();  // the kernel says nothing of each
        installed->device_changed(11);
        installed->tick();
        EXPECT_TRUE(table.routes.empty()) << "written by the daemon's thread";
    }
    std::vector<std::string> drift() const {
        std::vector<DriftItem> found;
        installed->find_drift(found);
        std::vector<std::string> text;
        for (const auto& item : found)
            text.push_back(item.where + " " + item.found);
        return text;
    }

    std::string path = testing::TempDir() + "installed_" + std::to_string(getpid()) + ".json";
    CliRoutes by_hand{routing, counters, path};
    fake::PatientLoop loop;
    Table table;
    config::Config config;
    /// Stands still, or goes on by `passes` at each look: how much fits into one step is the test's to say.
    InstalledRoutes::Clock::time_point now;
    std::chrono::milliseconds passes{0};
    std::unique_ptr<InstalledRoutes> installed =
        std::make_unique<InstalledRoutes>(routing, by_hand, loop, &table, [this] { return now += passes; });
};

TEST_F(InstalledRoutesTest, many_are_brought_aside_a_batch_at_a_time) {
    constexpr unsigned routes = 2000;
    want(routes);
    reload();
    const size_t first = table.routes.size();
    EXPECT_EQ(first, RouteBatch::most);
    installed->tick();
    EXPECT_EQ(table.routes.size(), first) << "written by the daemon's thread";
    EXPECT_EQ(loop.waiting(), 1U);
    installed->tick();
    EXPECT_EQ(loop.waiting(), 1U) << "a second batch beside the first";
    settle();
    EXPECT_EQ(table.routes.size(), routes);
    EXPECT_EQ(table.changes, routes);
    EXPECT_EQ(installed->size(), routes);
}

TEST_F(InstalledRoutesTest, a_step_ends_by_the_clock_and_the_next_ones_do_the_rest) {
    passes = std::chrono::milliseconds(2);
    want(100);
    reload();
    EXPECT_EQ(table.routes.size(), 48U) << "the clock is asked at every 16th, and a step has 5 ms";
    installed->tick();
    EXPECT_EQ(loop.waiting(), 1U);
    loop.work();
    EXPECT_EQ(table.routes.size(), 96U);
    loop.tell();
    settle();
    EXPECT_EQ(table.routes.size(), 100U);
    EXPECT_EQ(table.changes, 100U);
}

// One that began anew with each refresh would never come to the last ones.
TEST_F(InstalledRoutesTest, a_round_ends_however_often_another_is_asked_for) {
    passes = std::chrono::milliseconds(2);
    want(200);
    reload();
    ASSERT_EQ(table.routes.size(), 48U);
    refreshed_at_each_of(10);
    EXPECT_EQ(table.routes.size(), 200U);
}

TEST_F(InstalledRoutesTest, a_device_that_changes_within_a_round_has_its_routes_set_again_once) {
    have_a_hundred();
    passes = std::chrono::milliseconds(2);
    installed->refresh();
    installed->tick();  // half of them have had their turn
    table.changes = 0;
    device_flapped();
    refreshed_at_each_of(20);
    EXPECT_EQ(table.routes.size(), 100U);
    EXPECT_EQ(table.changes, 200U) << "each is removed and added, once";
    EXPECT_EQ(installed->size(), 100U);
}

TEST_F(InstalledRoutesTest, a_removal_that_fails_is_tried_again) {
    want(3);
    reload();
    want(2);
    table.refuses_removal = true;
    reload();
    EXPECT_EQ(table.routes.size(), 3U);
    installed->refresh();
    settle();
    EXPECT_EQ(table.routes.size(), 2U);
    EXPECT_EQ(installed->size(), 2U);
}

TEST_F(InstalledRoutesTest, what_no_vrf_has_any_more_and_cannot_be_removed_is_told) {
    want(3);
    reload();
    config.kernel_routes.table = 100;
    table.refuses_removal = true;
    EXPECT_FALSE(installed->configured(config));
    EXPECT_EQ(table.vrf_routes.size(), 3U) << "and all else is done";
    EXPECT_EQ(table.routes.size(), 1U);
}

TEST_F(InstalledRoutesTest, what_a_call_that_threw_has_left_is_brought_anew) {
    want(3);
    table.throws_behind_change = 2;
    EXPECT_FALSE(installed->configured(config));
    table.throws_behind_change = 0;
    settle();
    EXPECT_EQ(table.routes.size(), 3U);
    EXPECT_EQ(installed->size(), 3U);
    EXPECT_THAT(drift(), testing::IsEmpty());
}

// At its metric they hid FRR's routes from it.
TEST_F(InstalledRoutesTest, what_an_earlier_version_left_goes_when_ours_is_there) {
    want(3);
    for (const char* text : {"10.0.0.0/24", "10.0.1.0/24", "10.9.0.0/24"})
        table.former[prefix_of(text)] = {prefix_of(text),         main_table, RTN_UNICAST,
                                         {{11, std::nullopt, 1}}, 0,          true};
    // Killed between the two steps of it.
    table.routes[prefix_of("10.0.1.0/24")] = {prefix_of("10.0.1.0/24"), main_table, RTN_BLACKHOLE, {}, 0};
    table.former[prefix_of("10.8.0.0/24")] = {prefix_of("10.8.0.0/24"), 100, RTN_BLACKHOLE, {}, 0, true};
    table.wanted = {prefix_of("10.0.0.0/24"), prefix_of("10.0.1.0/24")};
    reload();
    settle();
    EXPECT_TRUE(table.former.empty());
    EXPECT_FALSE(table.gap);
    EXPECT_EQ(table.routes.size(), 3U);
    EXPECT_EQ(table.routes.at(prefix_of("10.0.1.0/24")).type, RTN_UNICAST);
    EXPECT_EQ(installed->size(), 3U);
    table.changes = 0;
    installed->refresh();
    settle();
    EXPECT_EQ(table.changes, 0U);
}

TEST_F(InstalledRoutesTest, what_an_earlier_version_left_and_cannot_be_removed_is_tried_again) {
    for (const bool is_wanted : {true, false}) {
        SCOPED_TRACE(is_wanted);
        want(is_wanted ? 1 : 0);
        table.former[prefix_of("10.0.0.0/24")] = {
            prefix_of("10.0.0.0/24"), main_table, RTN_BLACKHOLE, {}, 0, true};
        table.refuses_removal_of_former = true;
        reload();
        EXPECT_EQ(table.former.size(), 1U);
        installed->refresh();
        settle();
        EXPECT_TRUE(table.former.empty());
        EXPECT_EQ(table.routes.size(), is_wanted ? 1U : 0U);
        EXPECT_EQ(installed->size(), is_wanted ? 1U : 0U);
    }
}

TEST_F(InstalledRoutesTest, an_end_takes_what_an_earlier_version_left_along) {
    want(1);
    table.former[prefix_of("10.0.0.0/24")] = {
        prefix_of("10.0.0.0/24"), main_table, RTN_BLACKHOLE, {}, 0, true};
    table.refuses_removal_of_former = true;
    reload();
    ASSERT_EQ(table.former.size(), 1U);
    installed->take_down();
    installed.reset();
    EXPECT_TRUE(table.former.empty());
    EXPECT_TRUE(table.routes.empty());
}

// The same prefix stands in two tables, each with its own next hop, and a table that is another one's number
// from now on moves.
TEST_F(InstalledRoutesTest, routes_of_vrfs_stand_in_their_tables) {
    config.vrfs = {{"red", {100}}};
    ASSERT_TRUE(routing.add_vrf({"red", 100}));
    add_interface("red0", 2, routing.vrf_by_name("red").value());
    want(3);
    auto in_red = config.routes.front();
    in_red.vrf = "red";
    config.routes.push_back(in_red);
    install();
    reload();
    settle();
    const Prefix prefix = in_red.prefix;
    ASSERT_EQ(table.routes.size(), 3U);
    ASSERT_EQ(table.vrf_routes.size(), 1U);
    EXPECT_EQ(table.vrf_routes.at(prefix).table, 100U);
    EXPECT_EQ(table.vrf_routes.at(prefix).next_hops.front().ifindex, 12U);
    EXPECT_EQ(table.routes.at(prefix).next_hops.front().ifindex, 11U);

    config::StaticRoute by_hand_in_red = in_red;
    by_hand_in_red.prefix = prefix_of("203.0.113.0/24");
    change_by_hand(by_hand_in_red);
    EXPECT_EQ(table.vrf_routes.size(), 2U);
    EXPECT_EQ(table.routes.size(), 3U);

    routing.rename_vrf(routing.vrf_by_name("red").value(), {"red", 101});
    config.vrfs["red"].table = 101;
    reload();
    settle();
    ASSERT_EQ(table.vrf_routes.size(), 2U);
    EXPECT_EQ(table.vrf_routes.at(prefix).table, 101U);
    EXPECT_EQ(table.vrf_routes.at(by_hand_in_red.prefix).table, 101U);

    config.routes.pop_back();
    config.vrfs.clear();
    routing.remove_vrf(routing.vrf_by_name("red").value());
    reload();
    settle();
    EXPECT_TRUE(table.vrf_routes.empty());
    EXPECT_EQ(table.routes.size(), 3U);
    EXPECT_TRUE(drift().empty());
}

TEST_F(InstalledRoutesTest, a_link_that_goes_down_takes_them_out_aside) {
    have_a_hundred();
    link_goes_down();
    EXPECT_EQ(table.routes.size(), 100U) << "written by the daemon's thread";
    settle();
    EXPECT_TRUE(table.routes.empty());
    EXPECT_EQ(installed->size(), 0U);
}

TEST_F(InstalledRoutesTest, what_the_kernel_removes_comes_back_and_is_no_conflict) {
    have_a_hundred();
    for (const bool written : {true, false}) {
        SCOPED_TRACE(written ? "the batch is done, which has not been told yet"
                             : "before the batch writes it");
        device_flapped();
        if (written) loop.work();
        ASSERT_EQ(table.routes.size(), written ? 100U : 0U);
        table.lose(prefix_of("10.0.5.0/24"), true);
        loop.once();
        settle();
        EXPECT_EQ(table.routes.size(), 100U);
        EXPECT_THAT(drift(), testing::IsEmpty());
    }
}

TEST_F(InstalledRoutesTest, what_somebody_removes_meanwhile_stays_removed_and_is_told) {
    have_a_hundred();
    device_flapped();
    loop.work();
    table.lose(prefix_of("10.0.5.0/24"), false);
    loop.once();
    settle();
    EXPECT_EQ(table.routes.size(), 99U);
    EXPECT_EQ(installed->size(), 99U);
    EXPECT_THAT(drift(), testing::ElementsAre("10.0.5.0/24 removed by somebody else"));
    reload();
    EXPECT_EQ(table.routes.size(), 100U);
}

TEST_F(InstalledRoutesTest, a_reload_does_not_wait_for_what_has_not_begun) {
    have_a_hundred();
    device_flapped();
    ASSERT_EQ(loop.waiting(), 1U);
    want(50);
    reload();
    EXPECT_EQ(table.routes.size(), 50U);
    const unsigned changes = table.changes;
    loop.work();  // of before
    loop.tell();
    EXPECT_EQ(table.changes, changes);
    settle();
    EXPECT_EQ(table.routes.size(), 50U);
}

TEST_F(InstalledRoutesTest, by_hand_is_there_at_once_and_behind_a_batch_soon) {
    have_a_hundred();
    change_by_hand(route_to("172.16.0.0/16", "192.0.2.7"));
    EXPECT_TRUE(table.routes.contains(prefix_of("172.16.0.0/16")));
    device_flapped();
    change_by_hand(route_to("172.17.0.0/16", "192.0.2.7"));
    settle();
    EXPECT_TRUE(table.routes.contains(prefix_of("172.17.0.0/16")));
    EXPECT_EQ(table.routes.size(), 102U);
}

TEST_F(InstalledRoutesTest, ends_beside_a_batch_that_waits) {
    have_a_hundred();
    link_goes_down();
    ASSERT_EQ(loop.waiting(), 1U);
    installed->take_down();
    installed.reset();
    EXPECT_TRUE(table.routes.empty());
    const unsigned changes = table.changes;
    loop.work();
    loop.tell();
    loop.once();
    EXPECT_EQ(table.changes, changes);
}

/// Holds each change until it is let go.
class SlowTable : public Table {
  public:
    Result<void> add(const HostRoute& route) override {
        begun.count_down();
        go_on.wait();
        return Table::add(route);
    }
    std::latch begun{1}, go_on{1};
};

RouteBatch::Change bring(const char* prefix) {
    return {.place = {"", prefix_of(prefix)},
            .table = main_table,
            .add = HostRoute{prefix_of(prefix), main_table, RTN_BLACKHOLE, {}, 0}};
}

TEST(RouteBatch, ends_when_the_change_under_way_is_done) {
    SlowTable table;
    RouteBatch batch(table);
    for (const char* text : {"10.0.0.0/8", "11.0.0.0/8"})
        batch.put(bring(text));
    std::thread aside([&] { batch.carry_out(); });
    table.begun.wait();
    std::thread lets_go([&] {
        // end() is waiting by now, or will not have to: both are right, and neither may lose the change.
        std::this_thread::yield();
        table.go_on.count_down();
    });
    batch.end();
    EXPECT_TRUE(batch.changes()[0].done);
    EXPECT_FALSE(batch.changes()[1].begun);
    aside.join();
    lets_go.join();
    EXPECT_FALSE(batch.changes()[1].done);
    EXPECT_EQ(table.routes.size(), 1U);
}

TEST(RouteBatch, what_throws_does_not_keep_who_waits) {
    class Throws : public Table {
        Result<void> add(const HostRoute&) override { throw std::bad_alloc(); }
    } table;
    RouteBatch batch(table);
    batch.put(bring("10.0.0.0/8"));
    EXPECT_THROW(batch.carry_out(), std::bad_alloc);
    batch.end();
    EXPECT_TRUE(batch.changes()[0].begun);
    EXPECT_FALSE(batch.changes()[0].done);
}

}  // namespace
}  // namespace pktpit::router
