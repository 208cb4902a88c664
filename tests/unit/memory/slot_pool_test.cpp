// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/slot_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace pktpit::offload {
namespace {

TEST(SlotPool, GivesEachSlotOnceAndNoMoreThanThereAre) {
    SlotPool pool(3, 10);
    std::vector<Slot> slots(16);
    EXPECT_EQ(pool.take(std::span(slots).first(4), SlotOwner::receive_ring), 4u);
    EXPECT_EQ(pool.take(std::span(slots).subspan(4), SlotOwner::receive_ring), 6u);
    EXPECT_EQ(pool.take(slots, SlotOwner::receive_ring), 0u);
    EXPECT_EQ(pool.free(), 0u);
    EXPECT_EQ(pool.count(), 10u);
    std::vector<bool> seen(10);
    for (const Slot slot : std::span(slots).first(10)) {
        EXPECT_EQ(slot.region, 3);
        ASSERT_LT(slot.index, 10u);
        EXPECT_FALSE(seen[slot.index]);
        seen[slot.index] = true;
    }
}

TEST(SlotPool, TheSlotThatWasFreeLastComesFirst) {
    SlotPool pool(0, 8);
    Slot slots[8];
    ASSERT_EQ(pool.take(slots, SlotOwner::control_loop), 8u);
    pool.give({&slots[5], 1}, SlotOwner::control_loop);
    pool.give({&slots[2], 1}, SlotOwner::control_loop);
    Slot again;
    ASSERT_EQ(pool.take({&again, 1}, SlotOwner::control_loop), 1u);
    EXPECT_EQ(again, slots[2]);
}

TEST(SlotPool, WhatIsInARingThatEndsIsFoundAndComesBack) {
    SlotPool pool(1, 8);
    std::vector<Slot> slots(6);
    ASSERT_EQ(pool.take(slots, SlotOwner::receive_ring), 6u);
    for (size_t i = 0; i < 6; i++)
        pool.place(slots[i].index, i < 4 ? 7 : 8);
    EXPECT_EQ(pool.ring_of(slots[0].index), 7);
    // One has come back, one has gone on to the other ring.
    pool.give({slots.data(), 1}, SlotOwner::receive_ring);
    pool.pass(slots[1], SlotOwner::receive_ring, SlotOwner::transmit_ring);
    pool.place(slots[1].index, 8);
    std::vector<Slot> left = pool.retire(7);
    std::ranges::sort(left, {}, &Slot::index);
    std::vector<Slot> expected{slots[2], slots[3]};
    std::ranges::sort(expected, {}, &Slot::index);
    EXPECT_EQ(left, expected);
    EXPECT_TRUE(pool.retire(7).empty()) << "once only";
    EXPECT_EQ(pool.free(), 3u);
    for (const Slot slot : left)
        pool.reclaim(slot);
    EXPECT_EQ(pool.free(), 5u);
    EXPECT_EQ(pool.retire(8).size(), 3u);
}

TEST(SlotPool, HoldsItsOwnSlotsOnly) {
    const SlotPool pool(1, 4);
    EXPECT_TRUE(pool.holds({1, 3}));
    EXPECT_FALSE(pool.holds({1, 4}));
    EXPECT_FALSE(pool.holds({0, 3}));
}

TEST(SlotPool, RandomTransfersLoseNothingAndDoubleNothing) {
    constexpr uint32_t count = 257;
    constexpr SlotOwner owners[] = {SlotOwner::receive_ring, SlotOwner::control_loop,
                                    SlotOwner::transmit_ring};
    std::mt19937 random(7);
    SlotPool pool(1, count);
    std::vector<std::vector<Slot>> held(3);
    std::vector<int> owner(count, -1);
    size_t out = 0;
    for (int step = 0; step < 200'000; step++) {
        const size_t who = random() % 3;
        auto& mine = held[who];
        switch (random() % 4) {
            case 0: {
                std::vector<Slot> got(random() % 20);
                const size_t wanted = std::min(got.size(), count - out);
                ASSERT_EQ(pool.take(got, owners[who]), wanted);
                for (const Slot slot : std::span(got).first(wanted)) {
                    ASSERT_TRUE(pool.holds(slot));
                    ASSERT_EQ(owner[slot.index], -1) << "handed out twice";
                    owner[slot.index] = static_cast<int>(who);
                    mine.push_back(slot);
                }
                out += wanted;
                break;
            }
            case 1: {
                const size_t some = mine.empty() ? 0 : random() % (mine.size() + 1);
                pool.give(std::span(mine).last(some), owners[who]);
                for (const Slot slot : std::span(mine).last(some))
                    owner[slot.index] = -1;
                mine.resize(mine.size() - some);
                out -= some;
                break;
            }
            case 2: {
                if (mine.empty()) break;
                const size_t to = (who + 1) % 3;
                const Slot slot = mine.back();
                mine.pop_back();
                pool.pass(slot, owners[who], owners[to]);
                owner[slot.index] = static_cast<int>(to);
                held[to].push_back(slot);
                break;
            }
            default:
                if (mine.empty()) break;
                pool.reclaim(mine.back());
                owner[mine.back().index] = -1;
                mine.pop_back();
                out--;
        }
        ASSERT_EQ(pool.free(), count - out);
    }
    for (size_t who = 0; who < 3; who++)
        pool.give(held[who], owners[who]);
    EXPECT_EQ(pool.free(), count);
}

#ifndef NDEBUG
TEST(SlotPoolDeathTest, ATransferByWhoDoesNotOwnItStopsADebugBuild) {
    SlotPool pool(0, 4);
    Slot slot;
    ASSERT_EQ(pool.take({&slot, 1}, SlotOwner::receive_ring), 1u);
    EXPECT_DEATH(pool.pass(slot, SlotOwner::control_loop, SlotOwner::transmit_ring), "");
    EXPECT_DEATH(pool.give({&slot, 1}, SlotOwner::transmit_ring), "");
    EXPECT_DEATH(pool.pass({1, slot.index}, SlotOwner::receive_ring, SlotOwner::control_loop), "");
    EXPECT_DEATH(pool.pass({0, 4}, SlotOwner::receive_ring, SlotOwner::control_loop), "");
    pool.give({&slot, 1}, SlotOwner::receive_ring);
    EXPECT_DEATH(pool.give({&slot, 1}, SlotOwner::receive_ring), "");
    EXPECT_DEATH(pool.reclaim(slot), "");
}
#endif

}  // namespace
}  // namespace pktpit::offload
