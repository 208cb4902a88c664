// SPDX-License-Identifier: BSD-3-Clause
#include "router/dpdk/mbuf_slots.h"

#include <gtest/gtest.h>

#include <vector>

namespace pktpit::router {
namespace {

TEST(MbufSlots, EachSlotStandsForItsMbufUntilItIsTaken) {
    MbufSlots slots;
    std::vector<rte_mbuf> mbufs(MbufSlots::capacity);
    std::vector<offload::Slot> given;
    for (auto& mbuf : mbufs)
        given.push_back(slots.put(&mbuf));
    EXPECT_EQ(slots.free(), 0U);
    for (size_t i = 0; i < mbufs.size(); i += 2)
        EXPECT_EQ(slots.take(given[i]), &mbufs[i]);
    EXPECT_EQ(slots.free(), mbufs.size() / 2);
    for (size_t i = 1; i < mbufs.size(); i += 2)
        EXPECT_EQ(slots.get(given[i]), &mbufs[i]);
    const offload::Slot again = slots.put(&mbufs[0]);
    EXPECT_EQ(again, given[mbufs.size() - 2]) << "the slot that was free last comes first";
    EXPECT_EQ(slots.take(again), &mbufs[0]);
}

}  // namespace
}  // namespace pktpit::router
