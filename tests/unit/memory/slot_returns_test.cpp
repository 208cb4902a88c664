// SPDX-License-Identifier: BSD-3-Clause
#include "offload/memory/slot_returns.h"

#include <gtest/gtest.h>

#include <thread>

namespace pktpit::offload {
namespace {

TEST(SlotReturns, EachRingHoldsAllSlotsOfAWorkerAndKeepsTheirOrder) {
    SlotReturns returns(3, 8);
    for (uint32_t index = 0; index < 8; index++) {
        returns.put(0, 2, index);
        returns.put(1, 2, index + 100);
    }
    std::vector<uint32_t> taken;
    returns.take(2, [&](uint32_t index) { taken.push_back(index); });
    EXPECT_EQ(taken, (std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 103, 104, 105, 106, 107}));
    taken.clear();
    for (unsigned worker = 0; worker < 3; worker++)
        returns.take(worker, [&](uint32_t index) { taken.push_back(index); });
    EXPECT_TRUE(taken.empty());
}

TEST(SlotReturns, BetweenThreadsNoneIsLostOrComesTwice) {
    constexpr uint32_t slots = 1024;
    SlotReturns returns(2, slots);
    std::vector<std::atomic<uint32_t>> out(slots);
    std::atomic<bool> done = false;
    uint64_t back = 0;
    // Worker 1 gives back what worker 0 lends out.
    std::thread other([&] {
        while (!done)
            for (uint32_t index = 0; index < slots; index++) {
                uint32_t lent = 1;
                if (out[index].compare_exchange_strong(lent, 2)) returns.put(1, 0, index);
            }
    });
    for (uint64_t lent = 0; back < 200'000;) {
        for (uint32_t index = 0; index < slots; index++) {
            uint32_t home = 0;
            lent += out[index].compare_exchange_strong(home, 1);
        }
        returns.take(0, [&](uint32_t index) {
            ASSERT_EQ(out[index].exchange(0), 2u);
            back++;
        });
        ASSERT_LE(back, lent);
    }
    done = true;
    other.join();
}

TEST(SlotReturns, OneWorkerAloneHasNone) {
    SlotReturns returns(1, 8);
    returns.take(0, [](uint32_t) { FAIL(); });
}

}  // namespace
}  // namespace pktpit::offload
