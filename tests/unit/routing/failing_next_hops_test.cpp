// SPDX-License-Identifier: BSD-3-Clause
// A next hop that fails: what takes its place, and that it does so before any prefix is touched.
#include "tests/unit/routing/routing_fixture.h"

namespace pktpit::router {
namespace {

constexpr int prefixes = 50;

std::string nth(int i) {
    return "10." + std::to_string(i) + ".0.0/16";
}
std::string inside(int i) {
    return "10." + std::to_string(i) + ".1.1";
}

class FailingNextHopsTest : public RoutingTest {
  protected:
    FailingNextHopsTest() {
        routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7));
        routing.set_neighbour(wan, ip("198.51.100.9"), reachable(9));
    }
    void add_all(const std::vector<NextHopSpec>& hops, RouteSource source = RouteSource::config,
                 uint8_t preference = 10) {
        for (int i = 0; i < prefixes; i++)
            ASSERT_TRUE(add(nth(i).c_str(), hops, source, preference));
    }
    /// By the last byte of the MAC address that packets to each prefix leave with.
    std::map<int, int> ways() const {
        std::map<int, int> found;
        for (int i = 0; i < prefixes; i++)
            found[at(inside(i).c_str()).dst_mac[5]]++;
        return found;
    }
    /// The groups that the prefixes have.
    std::set<fib::GroupId> groups() const {
        std::set<fib::GroupId> found;
        for (int i = 0; i < prefixes; i++)
            found.insert(image.find(prefix(nth(i).c_str())).value_or(0));
        return found;
    }
    void defer() {
        routing.leave_work([this] { asked_for_turn++; });
    }
    void fail_lan(bool fails = true) { routing.set_link(lan, link(11, !fails)); }
    /// The link is back, and its neighbour is known again.
    void mend_lan() {
        fail_lan(false);
        routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7));
    }
    static NextHopSpec backup(const char* via) { return {ip(via), 0, 1, true}; }

    const std::map<int, int> by_lan{{7, prefixes}}, by_wan{{9, prefixes}};
    int asked_for_turn = 0;
};

TEST_F(FailingNextHopsTest, a_backup_takes_over_without_a_prefix_being_touched) {
    defer();
    add_all({{ip("192.0.2.7"), 0, 1}, backup("198.51.100.9")});
    EXPECT_EQ(ways(), by_lan);
    const auto before = groups();
    fail_lan();
    EXPECT_EQ(ways(), by_wan);
    while (!routing.settle(3)) {  // the net of the link itself
    }
    EXPECT_EQ(groups(), before) << "there is nothing to clean up";
    EXPECT_EQ(ways(), by_wan);
    mend_lan();
    EXPECT_EQ(ways(), by_lan);
}

TEST_F(FailingNextHopsTest, a_backup_stands_in_for_a_neighbour_that_does_not_answer) {
    add_all({{ip("192.0.2.7"), lan, 1}, backup("198.51.100.9")});
    routing.set_neighbour(lan, ip("192.0.2.7"), {{}, NeighbourState::failed, false});
    EXPECT_EQ(ways(), by_wan);
    routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7));
    EXPECT_EQ(ways(), by_lan);
}

TEST_F(FailingNextHopsTest, a_next_hop_that_comes_back_is_used_when_its_neighbour_is_known) {
    add_all({{ip("192.0.2.7"), lan, 1}, backup("198.51.100.9")});
    fail_lan();
    routing.remove_neighbour(lan, ip("192.0.2.7"));  // as the kernel does
    asked.clear();
    fail_lan(false);
    EXPECT_EQ(ways(), by_wan) << "its neighbour is not known yet";
    EXPECT_EQ(asked, (std::vector<std::string>{"1 192.0.2.7"})) << "but asked for";
    routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7));
    EXPECT_EQ(ways(), by_lan);
}

TEST_F(FailingNextHopsTest, the_neighbour_of_a_backup_is_known_before_it_is_needed) {
    add_all({{ip("192.0.2.7"), 0, 1}, backup("198.51.100.10")});
    EXPECT_TRUE(routing.adjacencies().in_use({wan, ip("198.51.100.10")}));
    routing.resolve_missing();
    EXPECT_EQ(asked, (std::vector<std::string>{"2 198.51.100.10"}));
}

TEST_F(FailingNextHopsTest, several_backups_share_the_flows) {
    routing.set_neighbour(wan, ip("198.51.100.10"), reachable(10));
    ASSERT_TRUE(
        add("10.0.0.0/8", {{ip("192.0.2.7"), 0, 1}, backup("198.51.100.9"), backup("198.51.100.10")}));
    EXPECT_EQ(last_mac_bytes("10.1.1.1"), (std::set<int>{7}));
    fail_lan();
    EXPECT_EQ(last_mac_bytes("10.1.1.1"), (std::set<int>{9, 10}));
}

TEST_F(FailingNextHopsTest, while_one_next_hop_lives_no_backup_is_used) {
    routing.set_neighbour(lan, ip("192.0.2.8"), reachable(8));
    ASSERT_TRUE(
        add("10.0.0.0/8", {{ip("192.0.2.7"), lan, 1}, {ip("192.0.2.8"), lan, 1}, backup("198.51.100.9")}));
    routing.set_neighbour(lan, ip("192.0.2.7"), {{}, NeighbourState::failed, false});
    EXPECT_EQ(last_mac_bytes("10.1.1.1"), (std::set<int>{8}));
}

TEST_F(FailingNextHopsTest, gateways_behind_a_route_with_a_backup_follow_it) {
    ASSERT_TRUE(add("203.0.113.1/32", {{ip("192.0.2.7"), lan, 1}, backup("198.51.100.9")}));
    add_all({{ip("203.0.113.1"), 0, 1}});
    EXPECT_EQ(ways(), by_lan);
    const auto before = groups();
    fail_lan();
    EXPECT_EQ(ways(), by_wan);
    EXPECT_EQ(groups(), before);
    mend_lan();
    EXPECT_EQ(ways(), by_lan);
}

TEST_F(FailingNextHopsTest, prefixes_move_to_their_second_best_route_before_any_is_touched) {
    defer();
    add_all({{ip("192.0.2.7"), lan, 1}});
    add_all({{ip("198.51.100.9"), wan, 1}}, RouteSource::kernel, 20);
    const auto before = groups();
    fail_lan();
    EXPECT_EQ(ways(), by_wan);
    EXPECT_EQ(groups(), before) << "not one of them";
    EXPECT_GT(asked_for_turn, 0);
    while (!routing.settle(7))
        EXPECT_EQ(ways(), by_wan) << "nor while they are cleaned up";
    EXPECT_NE(groups(), before);
    mend_lan();
    while (!routing.settle(7)) {
    }
    EXPECT_EQ(ways(), by_lan);
}

TEST_F(FailingNextHopsTest, prefixes_of_one_next_hop_with_different_second_bests_each_get_theirs) {
    defer();
    routing.set_neighbour(wan, ip("198.51.100.10"), reachable(10));
    add_all({{ip("192.0.2.7"), lan, 1}});
    for (int i = 0; i < prefixes; i++)
        ASSERT_TRUE(add(nth(i).c_str(), {{ip(i % 2 ? "198.51.100.9" : "198.51.100.10"), wan, 1}},
                        RouteSource::kernel, 20));
    fail_lan();
    EXPECT_EQ(ways(), (std::map<int, int>{{9, prefixes / 2}, {10, prefixes / 2}}));
}

TEST_F(FailingNextHopsTest, without_a_second_best_prefixes_go_in_pieces_to_the_covering_route) {
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("198.51.100.9"), wan, 1}}));
    add_all({{ip("192.0.2.7"), lan, 1}});
    defer();
    fail_lan();
    size_t turns = 0;
    while (!routing.settle(10))
        turns++;
    EXPECT_GE(turns, size_t{prefixes / 10 - 1});
    EXPECT_EQ(ways(), by_wan);
    EXPECT_TRUE(refused.empty());
}

TEST_F(FailingNextHopsTest, routes_may_go_while_their_next_hop_is_being_cleaned_up_after) {
    defer();
    const auto usage = image.usage();
    add_all({{ip("192.0.2.7"), lan, 1}});
    add_all({{ip("198.51.100.9"), wan, 1}}, RouteSource::kernel, 20);
    fail_lan();
    (void)routing.settle(3);
    for (int i = 0; i < prefixes; i++) {
        ASSERT_TRUE(routing.erase_route(prefix(nth(i).c_str()), RouteSource::config).value());
        ASSERT_TRUE(routing.erase_route(prefix(nth(i).c_str()), RouteSource::kernel).value());
        EXPECT_EQ(at(inside(i).c_str()).kind, PP_ADJ_INVALID);
    }
    EXPECT_TRUE(routing.settle(1000));
    fail_lan(false);
    EXPECT_TRUE(routing.settle(1000));
    EXPECT_EQ(image.usage().groups, usage.groups);
    EXPECT_EQ(image.usage().adjacencies, usage.adjacencies);
    EXPECT_EQ(image.usage().prefixes4, usage.prefixes4);
}

TEST_F(FailingNextHopsTest, a_link_that_is_back_before_the_cleaning_up_ends_loses_nothing) {
    add_all({{ip("192.0.2.7"), lan, 1}});
    defer();
    fail_lan();
    EXPECT_FALSE(routing.settle(20));
    mend_lan();
    while (!routing.settle(7)) {
    }
    EXPECT_EQ(ways(), by_lan);
}

}  // namespace
}  // namespace pktpit::router
