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

/// A round of the window, of whose chunks so many are lost.
uint64_t round(Window& window, uint64_t from, unsigned lost) {
    const unsigned size = window.size();
    for (unsigned i = 0; i < lost; i++)
        window.lost();
    for (unsigned i = lost; i < size; i++)
        window.answered(from + i, from + size);
    return from + size;
}

TEST(Window, grows_to_the_slots_while_nothing_is_lost) {
    Window window(512);
    uint64_t at = 1;
    for (int i = 0; i < 6; i++)
        at = round(window, at, 0);
    EXPECT_EQ(window.size(), 512U);
    Window small(4);
    round(small, 1, 0);
    EXPECT_EQ(small.size(), 4U);
}

TEST(Window, shrinks_where_many_are_lost_and_not_where_few_are) {
    Window window(512);
    uint64_t at = 1;
    for (int i = 0; i < 6; i++)
        at = round(window, at, 0);
    for (int i = 0; i < 20; i++)
        at = round(window, at, window.size() / 12);
    EXPECT_EQ(window.size(), 512U);
    for (int i = 0; i < 3; i++)
        at = round(window, at, window.size() / 2);
    EXPECT_LT(window.size(), 256U);
    for (int i = 0; i < 100; i++)
        at = round(window, at, window.size() / 2);
    EXPECT_EQ(window.size(), 16U) << "the least";
    for (int i = 0; i < 1000; i++)
        at = round(window, at, 0);
    EXPECT_EQ(window.size(), 512U);
}

TEST(Window, is_kept_to_a_limit) {
    Window window(512);
    window.limit(100);
    uint64_t at = 1;
    for (int i = 0; i < 10; i++)
        at = round(window, at, 0);
    EXPECT_EQ(window.size(), 100U);
    window.limit(0);
    EXPECT_EQ(window.size(), 1U) << "something must go";
}

}  // namespace
}  // namespace pktpit::allreduce
