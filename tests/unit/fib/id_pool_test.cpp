// SPDX-License-Identifier: BSD-3-Clause
#include "fib/id_pool.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace pktpit::fib {
namespace {

TEST(IdPool, GivesEachIdOnceAndNoMore) {
    int waits = 0;
    IdPool pool(1, 101, [&] { waits++; });
    std::set<uint32_t> ids;
    for (int i = 0; i < 100; i++) {
        ASSERT_TRUE(pool.reserve(1));
        const uint32_t id = pool.take();
        EXPECT_GE(id, 1u);
        EXPECT_LE(id, 100u);
        EXPECT_TRUE(ids.insert(id).second);
    }
    EXPECT_FALSE(pool.reserve(1));
    EXPECT_EQ(pool.used(), 100u);
    EXPECT_EQ(pool.capacity(), 100u);
    EXPECT_EQ(waits, 0) << "nothing to wait for";
}

TEST(IdPool, ReservesAllOrNothing) {
    int waits = 0;
    IdPool pool(0, 4, [&] { waits++; });
    EXPECT_FALSE(pool.reserve(5));
    ASSERT_TRUE(pool.reserve(3));
    for (int i = 0; i < 3; i++)
        pool.take();
    EXPECT_FALSE(pool.reserve(2));
    pool.give_back(1);
    EXPECT_FALSE(pool.reserve(3)) << "two at most";
    EXPECT_EQ(waits, 0);
    EXPECT_TRUE(pool.reserve(2));
    EXPECT_EQ(waits, 1);
}

// A grace period serves everything that was given back before it.
TEST(IdPool, WaitsOnceForMany) {
    int waits = 0;
    IdPool pool(0, 1000, [&] { waits++; });
    for (int round = 0; round < 10; round++) {
        for (uint32_t i = 0; i < 1000; i++) {
            ASSERT_TRUE(pool.reserve(1));
            pool.take();
        }
        for (uint32_t i = 0; i < 1000; i++)
            pool.give_back(i);
    }
    EXPECT_EQ(waits, 9);
}

TEST(IdPool, WithTicketsReusesNothingThatAReaderMayHold) {
    Epochs epochs;
    EpochReader reader(epochs);
    IdPool pool(1, 201, epochs);
    for (int i = 0; i < 100; i++) {
        ASSERT_TRUE(pool.reserve(1));
        pool.take();
    }
    reader.enter();
    for (uint32_t id = 1; id <= 100; id++)
        pool.give_back(id);
    for (int i = 0; i < 100; i++) {  // never waits while there are others: that would be for ever here
        ASSERT_TRUE(pool.reserve(1));
        EXPECT_GT(pool.take(), 100u);
    }
    EXPECT_EQ(pool.used(), 100u);
    EXPECT_FALSE(pool.reserve(101)) << "more than there are: refused without waiting";
    reader.leave();
    for (int i = 0; i < 100; i++) {
        ASSERT_TRUE(pool.reserve(1));
        EXPECT_LE(pool.take(), 100u);
    }
    EXPECT_FALSE(pool.reserve(1));
}

// Ids are taken again and again, many times the number there are, some held for long.
TEST(IdPool, WrapsAgainAndAgain) {
    Epochs epochs;
    IdPool pool(1, 1001, epochs);
    std::mt19937 random(1);
    std::vector<uint32_t> held;
    std::vector<bool> taken(1001);
    size_t taken_in_all = 0;
    for (int step = 0; step < 200000; step++) {
        if (random() % 2) {
            if (!pool.reserve(1)) {
                ASSERT_EQ(held.size(), 1000u);
                continue;
            }
            const uint32_t id = pool.take();
            ASSERT_FALSE(taken.at(id));
            taken[id] = true;
            held.push_back(id);
            taken_in_all++;
        } else if (!held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            taken[held.back()] = false;
            pool.give_back(held.back());
            held.pop_back();
        }
        ASSERT_EQ(pool.used(), held.size());
    }
    EXPECT_GT(taken_in_all, 50 * 1000u);
}

// The reader's state and the pool's are driven at random; a model says which ids the reader may hold.
TEST(IdPool, NeverHandsOutWhatTheModelSaysIsHeld) {
    std::mt19937 random(2);
    Epochs epochs;
    EpochReader reader(epochs);
    IdPool pool(0, 300, epochs);
    std::vector<uint32_t> held;
    std::set<uint32_t> visible;  // given back since the reader went in or was quiescent
    size_t waiting = 0;          // at most so many are not free yet
    size_t reused = 0;
    for (int step = 0; step < 300000; step++) {
        const uint32_t draw = static_cast<uint32_t>(random()) % 8;
        if (draw == 0) {
            if (reader.inside()) {
                reader.leave();
                epochs.advance();  // all that was given back so far may be taken from now on
                waiting = 0;
            } else {
                reader.enter();
            }
            visible.clear();
        } else if (draw == 1) {
            if (!reader.inside()) continue;
            reader.quiescent();
            visible.clear();
        } else if (draw < 5) {
            // A wait would be for ever: the reader is this thread.
            if (held.size() + (reader.inside() ? waiting : 0) >= 300) continue;
            ASSERT_TRUE(pool.reserve(1)) << step;
            const uint32_t id = pool.take();
            ASSERT_FALSE(visible.contains(id)) << step;
            held.push_back(id);
            reused++;
        } else if (!held.empty()) {
            std::swap(held[random() % held.size()], held.back());
            if (reader.inside()) visible.insert(held.back());
            pool.give_back(held.back());
            held.pop_back();
            waiting++;
        }
    }
    EXPECT_GT(reused, 10000u);
}

}  // namespace
}  // namespace pktpit::fib
