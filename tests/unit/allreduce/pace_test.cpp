// SPDX-License-Identifier: BSD-3-Clause
#include "allreduce/pace.h"

#include <gtest/gtest.h>

namespace pktpit::allreduce {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(RoundTrips, the_timeout_follows_what_is_measured_between_its_bounds) {
    RoundTrips trips;
    EXPECT_EQ(trips.timeout(), milliseconds(20));
    for (int i = 0; i < 100; i++)
        trips.measured(microseconds(200));
    EXPECT_EQ(trips.timeout(), milliseconds(5)) << "the least";
    for (int i = 0; i < 200; i++)
        trips.measured(milliseconds(30));
    EXPECT_GE(trips.timeout(), milliseconds(30));
    EXPECT_LE(trips.timeout(), milliseconds(31)) << "what does not vary needs no reserve";
    for (int i = 0; i < 100; i++)
        trips.measured(milliseconds(i % 2 == 0 ? 20 : 40));
    EXPECT_GE(trips.timeout(), milliseconds(55)) << "RFC 6298: four times the variation on top";
    for (int i = 0; i < 100; i++)
        trips.measured(std::chrono::seconds(5));
    EXPECT_EQ(trips.timeout(), milliseconds(100)) << "the most";
}

TEST(RoundTrips, time_outs_come_more_seldom_until_there_is_a_result) {
    RoundTrips trips;
    trips.measured(microseconds(200));
    for (const int expected : {5, 10, 20, 40, 80, 160, 320, 640, 640, 640}) {
        EXPECT_EQ(trips.timeout(), milliseconds(expected));
        trips.timed_out();
    }
    trips.progressed();
    EXPECT_EQ(trips.timeout(), milliseconds(5));
}

TEST(RoundTrips, reordering_is_a_part_of_the_round_trip) {
    RoundTrips trips;
    EXPECT_EQ(trips.reordering(), milliseconds(1));
    trips.measured(milliseconds(40));
    EXPECT_EQ(trips.reordering(), milliseconds(10));
}

/// Rounds of a window, of whose chunks one in `one_in` is lost; 0: none.
struct Rounds {
    explicit Rounds(unsigned slots) : window(slots) {}
    void run(int count, unsigned one_in = 0) {
        for (; count > 0; count--) {
            const unsigned size = window.size(), lost = one_in == 0 ? 0 : size / one_in;
            for (unsigned i = 0; i < lost; i++)
                window.lost();
            for (unsigned i = lost; i < size; i++)
                window.answered(at + i, at + size);
            at += size;
        }
    }
    Window window;
    uint64_t at = 1;
};

TEST(Window, grows_to_the_slots_while_nothing_is_lost) {
    for (const unsigned slots : {512U, 4U}) {
        Rounds rounds(slots);
        rounds.run(6);
        EXPECT_EQ(rounds.window.size(), slots);
    }
}

TEST(Window, shrinks_where_many_are_lost_and_not_where_few_are) {
    Rounds rounds(512);
    rounds.run(6);
    rounds.run(20, 12);
    EXPECT_EQ(rounds.window.size(), 512U);
    rounds.run(3, 2);
    EXPECT_LT(rounds.window.size(), 256U);
    rounds.run(100, 2);
    EXPECT_EQ(rounds.window.size(), 16U) << "the least";
    rounds.run(1000);
    EXPECT_EQ(rounds.window.size(), 512U);
}

TEST(Window, is_kept_to_a_limit) {
    Rounds rounds(512);
    rounds.window.limit(100);
    rounds.run(10);
    EXPECT_EQ(rounds.window.size(), 100U);
    rounds.window.limit(0);
    EXPECT_EQ(rounds.window.size(), 1U) << "something must go";
}

}  // namespace
}  // namespace pktpit::allreduce
