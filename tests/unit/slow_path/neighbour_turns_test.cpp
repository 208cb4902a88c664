// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/neighbour_turns.h"

#include <gtest/gtest.h>

#include <map>

namespace pktpit::router::test {

using namespace std::chrono_literals;

namespace {

constexpr Clock::time_point beginning{1h};

class NeighbourTurnsTest : public testing::Test {
  protected:
    static NeighbourKey host(uint32_t number, uint16_t interface = 1) {
        return {interface, IpAddress::v4(0x0a000000 + number)};
    }
    static NeighbourKey host6(uint32_t number) {
        IpAddress address = IpAddress::parse("2001:db8::").value();
        address.bytes[15] = static_cast<uint8_t>(number);
        return {1, address};
    }
    /// Asks for so many hosts, from this number on.
    void scan(uint32_t first, uint32_t count, uint16_t ingress, uint16_t egress = 1) {
        for (uint32_t i = first; i < first + count; i++)
            turns.ask_or_wait(host(i, egress), ingress, beginning);
    }

    NeighbourTurns turns{4};
};

TEST_F(NeighbourTurnsTest, come_in_the_order_of_asking) {
    scan(0, 8, 1);
    EXPECT_EQ(turns.slots(1, Family::ipv4), 4U);
    EXPECT_TRUE(turns.next(beginning).empty());
    turns.answered(host(2));
    EXPECT_EQ(turns.next(beginning), (std::vector{host(4)}));
    turns.failed(host(0));
    turns.failed(host(1));
    EXPECT_EQ(turns.next(beginning), (std::vector{host(5), host(6)}));
    EXPECT_FALSE(turns.ask_or_wait(host(9), 1, beginning)) << "behind those that wait";
    EXPECT_EQ(turns.waiting(), 2U);
}

TEST_F(NeighbourTurnsTest, nobody_overtakes_those_that_wait) {
    scan(0, 5, 1);
    turns.answered(host(0));
    EXPECT_FALSE(turns.ask(host(7), 1, beginning)) << "though a slot is free";
    EXPECT_EQ(turns.next(beginning), (std::vector{host(4)}));
}

TEST_F(NeighbourTurnsTest, a_family_has_slots_of_its_own) {
    scan(0, 100, 1);
    EXPECT_TRUE(turns.ask_or_wait(host6(1), 1, beginning));
    EXPECT_EQ(turns.slots(1, Family::ipv6), 1U);
}

TEST_F(NeighbourTurnsTest, an_interface_has_slots_of_its_own) {
    scan(0, 100, 1);
    EXPECT_TRUE(turns.ask_or_wait(host(1, 2), 1, beginning));
}

TEST_F(NeighbourTurnsTest, a_free_slot_goes_to_those_that_hold_fewest) {
    scan(0, 100, 1);
    scan(200, 3, 2);
    turns.failed(host(0));
    turns.failed(host(1));
    turns.failed(host(2));
    EXPECT_EQ(turns.next(beginning), (std::vector{host(200), host(4), host(201)}))
        << "the one group held one, the other none; then those of the one waited longer";
}

TEST_F(NeighbourTurnsTest, whoever_waits_in_two_groups_leaves_both) {
    scan(0, 6, 1);
    scan(5, 1, 2);
    turns.failed(host(0));
    EXPECT_EQ(turns.next(beginning), (std::vector{host(5)})) << "by the group that holds none";
    EXPECT_EQ(turns.waiting(), 1U);
    turns.failed(host(1));
    turns.failed(host(2));
    EXPECT_EQ(turns.next(beginning), (std::vector{host(4)}));
    EXPECT_EQ(turns.waiting(), 0U);
}

TEST_F(NeighbourTurnsTest, those_that_have_answered_before_come_first) {
    turns.answered(host(50));
    scan(0, 100, 1);
    turns.failed(host(0));
    EXPECT_EQ(turns.next(beginning), (std::vector{host(50)}));
    turns.failed(host(50));
    EXPECT_EQ(turns.next(beginning), (std::vector{host(4)}));
    turns.wait(host(50), 1, beginning);
    turns.failed(host(4));
    EXPECT_EQ(turns.next(beginning), (std::vector{host(5)})) << "it has failed since";
}

TEST_F(NeighbourTurnsTest, a_slot_comes_back_while_others_wait) {
    scan(0, 4, 1);
    EXPECT_TRUE(turns.round(beginning + 10s).given_up.empty()) << "nobody waits";
    turns.wait(host(4), 1, beginning);
    turns.wait(host(5), 1, beginning);
    const auto round = turns.round(beginning + 10s);
    ASSERT_EQ(round.given_up.size(), 2U) << "as many as are needed";
    EXPECT_EQ(round.given_up[0].key, host(0));
    EXPECT_EQ(round.given_up[1].key, host(1));
    EXPECT_EQ(round.ask, (std::vector{host(4), host(5)}));
    EXPECT_FALSE(turns.has_slot(host(0)));
}

TEST_F(NeighbourTurnsTest, a_slot_is_held_for_a_second) {
    scan(0, 5, 1);
    EXPECT_TRUE(turns.round(beginning + 999ms).given_up.empty());
    EXPECT_EQ(turns.round(beginning + 1s).given_up.size(), 1U);
}

TEST_F(NeighbourTurnsTest, those_that_hold_few_keep_theirs) {
    turns.ask_or_wait(host(200), 2, beginning);
    scan(0, 100, 1);
    const auto round = turns.round(beginning + 1s);
    EXPECT_EQ(round.given_up.size(), 3U);
    EXPECT_TRUE(turns.has_slot(host(200)));
}

TEST_F(NeighbourTurnsTest, all_interfaces_together_are_bounded_and_share) {
    constexpr uint16_t interfaces = 100;
    for (uint16_t egress = 1; egress <= interfaces; egress++)
        scan(0, 10, 1, egress);
    const auto held = [&] {
        std::map<size_t, size_t> interfaces_by_slots;
        for (uint16_t egress = 1; egress <= interfaces; egress++)
            interfaces_by_slots[turns.slots(egress, Family::ipv4)]++;
        return interfaces_by_slots;
    };
    EXPECT_TRUE(turns.next(beginning + 1s).size() <= NeighbourTurns::slots_of_family);
    size_t in_all = 0;
    for (const auto& [slots, count] : held())
        in_all += slots * count;
    EXPECT_EQ(in_all, NeighbourTurns::slots_of_family);
    for (int tick = 20; tick <= 60; tick++)
        (void)turns.round(beginning + 100ms * tick);
    EXPECT_TRUE(turns.ask_or_wait(host6(1), 1, beginning + 6s)) << "the other family has its own";
    EXPECT_EQ(turns.waiting(), 0U) << "everybody had a turn";
}

TEST_F(NeighbourTurnsTest, more_slots_of_an_interface_are_more_in_all) {
    NeighbourTurns many(1000);
    size_t asked = 0;
    for (uint32_t i = 0; i < 2000; i++)
        asked += many.ask_or_wait(host(i), 1, beginning);
    for (int tick = 1; tick <= 9; tick++)
        asked += many.next(beginning + 100ms * tick).size();
    EXPECT_EQ(asked, 1000U);
}

TEST_F(NeighbourTurnsTest, remembers_a_bounded_number_of_answers) {
    AnsweredBefore answered;
    for (uint32_t i = 0; i < AnsweredBefore::most; i++)
        answered.add(host(i));
    answered.add(host(0));
    answered.add(host(AnsweredBefore::most));
    EXPECT_EQ(answered.size(), AnsweredBefore::most);
    EXPECT_TRUE(answered.contains(host(0))) << "it has answered again";
    EXPECT_FALSE(answered.contains(host(1)));
    answered.remove(host(2));
    answered.remove(host(2));
    EXPECT_FALSE(answered.contains(host(2)));
}

}  // namespace
}  // namespace pktpit::router::test
