// SPDX-License-Identifier: BSD-3-Clause
// When an epoch opens, when it ends, and who is told.
#include "router/aggregation/membership.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace pktpit::router {
namespace {

using namespace std::chrono_literals;

struct Group : testing::Test {
    Membership group{3, 1000ms, 65535};
    void all_join(Heard now, uint64_t first_incarnation = 10) {
        for (unsigned worker = 0; worker < 3; worker++)
            group.join(worker, first_incarnation + worker, now);
    }
};

TEST_F(Group, an_epoch_opens_when_all_have_joined) {
    group.join(0, 10, 1s);
    group.join(2, 12, 1s);
    group.join(2, 12, 1s);
    EXPECT_FALSE(group.running());
    EXPECT_EQ(group.joined(), 0b101U);
    group.join(1, 11, 1s);
    EXPECT_TRUE(group.running());
    EXPECT_EQ(group.epoch(), 0) << "the number behind 65535";
    EXPECT_EQ(group.incarnation(1), 11U);
}

TEST_F(Group, a_join_that_was_repeated_or_came_late_changes_nothing) {
    all_join(1s);
    group.join(1, 11, 2s);
    EXPECT_TRUE(group.running());
    group.join(1, 21, 2s);
    EXPECT_FALSE(group.running());
    group.join(0, 20, 2s);
    group.join(2, 22, 2s);
    ASSERT_TRUE(group.running());
    group.join(1, 11, 3s);
    EXPECT_TRUE(group.running()) << "of the incarnation before, delayed by the network";
    EXPECT_EQ(group.incarnation(1), 21U);
}

TEST_F(Group, a_worker_that_starts_anew_ends_the_epoch_and_the_others_are_told) {
    all_join(1s);
    group.join(1, 99, 2s);
    EXPECT_FALSE(group.running());
    EXPECT_EQ(group.lost(), 0b010U);
    EXPECT_EQ(group.to_be_told(2s), 0b101U);
    group.join(0, 98, 2s);
    EXPECT_EQ(group.to_be_told(2s), 0b100U) << "who joins again knows it";
    group.join(2, 97, 2s);
    EXPECT_TRUE(group.running());
    EXPECT_EQ(group.epoch(), 1);
    EXPECT_EQ(group.lost(), 0U);
    EXPECT_EQ(group.to_be_told(2s), 0U);
}

TEST_F(Group, a_silent_worker_is_lost_within_the_timeout) {
    all_join(1s);
    group.alive(0, 1900ms);
    group.alive(2, 1900ms);
    group.look(1999ms);
    EXPECT_TRUE(group.running());
    group.look(2000ms);
    EXPECT_FALSE(group.running());
    EXPECT_EQ(group.lost(), 0b010U);
    EXPECT_EQ(group.to_be_told(2000ms), 0b101U);
    EXPECT_EQ(group.to_be_told(10s), 0U) << "not for ever";
}

TEST_F(Group, who_waits_for_others_and_dies_counts_no_more) {
    group.join(0, 10, 1s);
    group.join(1, 11, 1500ms);
    group.look(2100ms);
    EXPECT_EQ(group.joined(), 0b010U);
    group.join(2, 12, 2200ms);
    EXPECT_FALSE(group.running());
}

TEST_F(Group, the_last_to_leave_closes_the_epoch_and_the_first_keeps_it_open) {
    all_join(1s);
    group.leave(0);
    group.leave(2);
    EXPECT_TRUE(group.running()) << "worker 1 may still ask for a result";
    group.leave(1);
    EXPECT_FALSE(group.running());
    EXPECT_EQ(group.lost(), 0U);
    EXPECT_EQ(group.to_be_told(1s), 0U);
    EXPECT_EQ(group.joined(), 0U);
}

TEST_F(Group, who_has_left_is_lost_to_those_that_go_on) {
    all_join(1s);
    group.leave(0);
    group.alive(1, 2500ms);
    group.alive(2, 2500ms);
    group.look(2500ms);
    EXPECT_EQ(group.lost(), 0b001U);
    EXPECT_EQ(group.to_be_told(2500ms), 0b110U);
}

TEST_F(Group, goes_on_after_a_restart_of_the_daemon) {
    for (unsigned worker = 0; worker < 3; worker++)
        group.resume(worker, 30 + worker, 5s);
    EXPECT_TRUE(group.running());
    EXPECT_EQ(group.epoch(), 65535);
    group.join(2, 32, 5s);
    EXPECT_TRUE(group.running());
    group.look(6s);
    EXPECT_FALSE(group.running());
}

TEST_F(Group, numbers_of_no_worker_are_nobody) {
    group.join(3, 1, 1s);
    group.join(63, 1, 1s);
    group.alive(64, 1s);
    group.leave(200);
    EXPECT_EQ(group.joined(), 0U);
}

TEST(Membership, is_never_open_without_all_workers_of_one_incarnation_each) {
    std::mt19937 random(4);
    for (int round = 0; round < 200; round++) {
        const auto workers = static_cast<unsigned>(1 + random() % 64);
        Membership group(workers, 100ms, static_cast<uint16_t>(random()));
        std::map<unsigned, uint64_t> newest;
        Heard now = 1s;
        uint64_t incarnation = 0;
        for (int step = 0; step < 400; step++) {
            now += std::chrono::milliseconds(random() % 20);
            const auto worker = static_cast<unsigned>(random() % workers);
            const bool was_running = group.running();
            const uint16_t epoch = group.epoch();
            switch (random() % 8) {
                case 0:
                    group.leave(worker);
                    break;
                case 1:
                    group.look(now);
                    break;
                case 2:
                case 3:
                    group.alive(worker, now);
                    break;
                default:
                    newest[worker] = ++incarnation;
                    group.join(worker, incarnation, now);
            }
            if (group.running()) {
                EXPECT_EQ(group.joined(), group.all());
                for (unsigned one = 0; one < workers; one++)
                    EXPECT_EQ(group.incarnation(one), newest[one]);
                if (!was_running) {
                    EXPECT_EQ(group.epoch(), static_cast<uint16_t>(epoch + 1));
                }
            }
            EXPECT_EQ(group.to_be_told(now) & group.joined(), 0U);
            EXPECT_EQ((group.joined() | group.lost() | group.to_be_told(now)) & ~group.all(), 0U);
        }
    }
}

}  // namespace
}  // namespace pktpit::router
