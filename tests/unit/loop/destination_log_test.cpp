// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/destination_log.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace pktpit::router {
namespace {

std::vector<uint64_t> drained(DestinationLog& log, uint64_t& packets) {
    std::vector<uint64_t> values;
    packets = log.drain([&](std::span<const pp_destination> part) {
        for (const auto& one : part)
            values.push_back(one.low);
    });
    return values;
}

TEST(DestinationLog, WatchesPortsOneByOne) {
    DestinationLog log;
    EXPECT_FALSE(log.watching());
    log.watch(3, true);
    log.watch(4, true);
    log.watch(3, false);
    EXPECT_TRUE(log.watching());
    EXPECT_FALSE(log.watches(3));
    EXPECT_TRUE(log.watches(4));
    log.watch(4, false);
    EXPECT_FALSE(log.watching());
}

TEST(DestinationLog, WhatDoesNotFitIsCounted) {
    DestinationLog log;
    log.watch(1, true);
    uint64_t packets = 0;
    for (uint64_t i = 0; i < DestinationLog::cells + 5; i++)
        log.add({0, i});
    EXPECT_TRUE(drained(log, packets).empty());  // not published yet
    log.publish();
    EXPECT_EQ(drained(log, packets).size(), DestinationLog::cells);
    EXPECT_EQ(packets, DestinationLog::cells + 5);
    log.add({0, 77});
    log.publish();
    EXPECT_EQ(drained(log, packets), (std::vector<uint64_t>{77}));
    EXPECT_EQ(packets, 1U);
}

TEST(DestinationLog, KeepsOrderBesideAWriter) {
    constexpr uint64_t count = 1'000'000;
    DestinationLog log;
    log.watch(1, true);
    std::thread worker([&log] {
        for (uint64_t i = 1; i <= count; i++) {
            log.add({i, i});
            if (i % 64 == 0 || i == count) log.publish();
        }
    });
    uint64_t last = 0, seen = 0, read = 0;
    const auto drain = [&] {
        seen += log.drain([&](std::span<const pp_destination> part) {
            for (const auto& one : part) {
                ASSERT_EQ(one.high, one.low);
                ASSERT_GT(one.low, last);
                last = one.low;
            }
            read += part.size();
        });
    };
    while (seen < count)
        drain();
    worker.join();
    drain();  // packets are counted before their destinations can be read: the last of these
    EXPECT_EQ(seen, count);
    EXPECT_LE(read, count);
    EXPECT_GT(read, 0U);
}

}  // namespace
}  // namespace pktpit::router
