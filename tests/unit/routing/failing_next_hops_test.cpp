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
    settle_in_pieces_of(3);  // the net of the link itself
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

TEST_F(FailingNextHopsTest, a_dead_neighbour_that_is_asked_for_again_is_dead_until_it_answers) {
    routing.set_neighbour(lan, ip("192.0.2.8"), reachable(8));
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("192.0.2.7"), lan, 1}, {ip("192.0.2.8"), lan, 1}}));
    EXPECT_EQ(last_mac_bytes("10.1.1.1"), (std::set<int>{7, 8}));
    routing.set_neighbour(lan, ip("192.0.2.7"), {{}, NeighbourState::failed, false});
    for (const auto state : {NeighbourState::incomplete, NeighbourState::none, NeighbourState::failed}) {
        routing.set_neighbour(lan, ip("192.0.2.7"), {{}, state, false});
        EXPECT_EQ(last_mac_bytes("10.1.1.1"), (std::set<int>{8}));
    }
    routing.remove_neighbour(lan, ip("192.0.2.7"));
    EXPECT_EQ(last_mac_bytes("10.1.1.1"), (std::set<int>{8})) << "the kernel has forgotten it";
    routing.set_neighbour(lan, ip("192.0.2.7"), {{}, NeighbourState::incomplete, false});
    EXPECT_EQ(last_mac_bytes("10.1.1.1"), (std::set<int>{8}));
    asked.clear();
    routing.resolve_missing();
    EXPECT_EQ(asked, (std::vector<std::string>{"1 192.0.2.7"})) << "it is tried again";
    routing.set_neighbour(lan, ip("192.0.2.7"), reachable(7));
    EXPECT_EQ(last_mac_bytes("10.1.1.1"), (std::set<int>{7, 8}));
}

TEST_F(FailingNextHopsTest, a_dead_neighbour_that_the_kernel_has_forgotten_goes_with_its_last_route) {
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("192.0.2.8"), lan, 1}}));
    routing.set_neighbour(lan, ip("192.0.2.8"), {{}, NeighbourState::failed, false});
    routing.remove_neighbour(lan, ip("192.0.2.8"));
    ASSERT_NE(routing.adjacencies().neighbour({lan, ip("192.0.2.8")}), nullptr);
    ASSERT_TRUE(routing.erase_route(prefix("10.0.0.0/8"), fib::RouteSource::config));
    EXPECT_EQ(routing.adjacencies().neighbour({lan, ip("192.0.2.8")}), nullptr);
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

TEST_F(FailingNextHopsTest, prefixes_move_to_the_next_best_route_before_any_is_touched) {
    routing.set_neighbour(wan, ip("198.51.100.10"), reachable(10));
    add_all({{ip("192.0.2.7"), lan, 1}});
    defer();
    for (const bool covering : {true, false}) {
        SCOPED_TRACE(covering ? "the covering route" : "their second best one, which goes before that");
        if (covering) {
            ASSERT_TRUE(add("10.0.0.0/8", {{ip("198.51.100.10"), wan, 1}}));
        } else {
            add_all({{ip("198.51.100.9"), wan, 1}}, RouteSource::kernel, 20);
        }
        settle_in_pieces_of(10);
        const auto before = groups();
        asked_for_turn = 0;
        fail_lan();
        const std::map<int, int> by_next_best{{covering ? 10 : 9, prefixes}};
        EXPECT_EQ(ways(), by_next_best);
        EXPECT_EQ(groups(), before) << "not one of them";
        EXPECT_GT(asked_for_turn, 0);
        size_t turns = 0;
        while (!routing.settle(10)) {
            EXPECT_EQ(ways(), by_next_best) << "nor while they are cleaned up";
            turns++;
        }
        EXPECT_GE(turns, size_t{prefixes / 10 - 1});
        EXPECT_NE(groups(), before);
        EXPECT_EQ(groups() == std::set<fib::GroupId>{0}, covering);
        mend_lan();
        settle_in_pieces_of(10);
        EXPECT_EQ(ways(), by_lan);
    }
    EXPECT_TRUE(refused.empty());
}

TEST_F(FailingNextHopsTest, without_another_way_prefixes_go_in_pieces) {
    add_all({{ip("192.0.2.7"), lan, 1}});
    defer();
    fail_lan();
    size_t turns = 0;
    while (!routing.settle(10))
        turns++;
    EXPECT_GE(turns, size_t{prefixes / 10 - 1});
    EXPECT_EQ(groups(), (std::set<fib::GroupId>{0}));
}

TEST_F(FailingNextHopsTest, other_next_hops_of_a_covering_route_are_followed_in_pieces) {
    routing.set_neighbour(wan, ip("198.51.100.10"), reachable(10));
    ASSERT_TRUE(add("0.0.0.0/0", {{ip("198.51.100.9"), 0, 1}}));
    add_all({{ip("192.0.2.7"), lan, 1}});
    defer();
    const size_t sets = routing.next_hop_sets().size();
    ASSERT_TRUE(add("0.0.0.0/0", {{ip("198.51.100.10"), 0, 1}}));
    EXPECT_GT(asked_for_turn, 0);
    EXPECT_EQ(routing.next_hop_sets().size(), sets + 1)
        << "the former ones are held while prefixes have them";
    (void)routing.settle(prefixes / 2);
    EXPECT_EQ(ways(), by_lan);
    settle_in_pieces_of(3);
    EXPECT_EQ(routing.next_hop_sets().size(), sets);
    fail_lan();
    EXPECT_EQ(ways(), (std::map<int, int>{{10, prefixes}}));
}

TEST_F(FailingNextHopsTest, while_a_table_is_being_replaced_backups_wait) {
    add_all({{ip("192.0.2.7"), lan, 1}});
    defer();
    for (uint64_t i = 0; i <= Routing::many_changes; i++)
        ASSERT_TRUE(add("11.0.0.0/8", {{ip("192.0.2.7"), lan, static_cast<uint16_t>(1 + i % 2)}}));
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("198.51.100.9"), wan, 1}}));
    const auto before = groups();
    EXPECT_TRUE(routing.settle(1000));
    EXPECT_EQ(groups(), before);
    routing.tick({});
    EXPECT_TRUE(routing.settle(1000)) << "the changes were of the last tenth of a second";
    asked_for_turn = 0;
    routing.tick({});
    EXPECT_GT(asked_for_turn, 0);
    settle_in_pieces_of(1000);
    EXPECT_NE(groups(), before);
    fail_lan();
    EXPECT_EQ(ways(), by_wan);
}

TEST_F(FailingNextHopsTest, where_both_fail_nothing_leads_to_what_is_gone) {
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("198.51.100.9"), wan, 1}}));
    add_all({{ip("192.0.2.7"), lan, 1}});
    defer();
    for (const bool lan_first : {true, false}) {
        routing.set_link(lan_first ? lan : wan, link(lan_first ? 11 : 12, false));
        (void)routing.settle(prefixes / 2);
        routing.set_link(lan_first ? wan : lan, link(lan_first ? 12 : 11, false));
        settle_in_pieces_of(3);
        for (int i = 0; i < prefixes; i++)
            EXPECT_EQ(at(inside(i).c_str()).kind, PP_ADJ_INVALID);
        routing.set_link(wan, link(12));
        mend_lan();
        settle_in_pieces_of(3);
        EXPECT_EQ(ways(), by_lan);
    }
}

// An eighth of the image's groups: 32 of 256.
TEST_F(FailingNextHopsTest, sets_find_room_however_many_backups_there_would_be) {
    ASSERT_TRUE(add("10.0.0.0/8", {{ip("198.51.100.9"), wan, 1}}));
    defer();
    for (int i = 0; i < prefixes; i++)
        ASSERT_TRUE(add(nth(i).c_str(), {{ip(("192.0.2." + std::to_string(10 + i)).c_str()), lan, 1}}));
    const auto usage = image.usage();
    EXPECT_EQ(usage.groups, routing.next_hop_sets().size() + 32);
    fail_lan();
    EXPECT_EQ(ways()[9], 32);
    settle_in_pieces_of(3);
    EXPECT_EQ(ways(), by_wan);
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
    expect_usage(usage);
}

}  // namespace
}  // namespace pktpit::router
