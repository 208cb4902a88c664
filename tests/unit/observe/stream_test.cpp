// SPDX-License-Identifier: BSD-3-Clause
#include "router/observe/stream.h"

#include <gtest/gtest.h>

#include <thread>

namespace pktpit::router {
namespace {

using std::chrono::milliseconds;

TEST(Streams, BytesComeInOrderAndTheEndAfterThem) {
    ObservationStream stream;
    EXPECT_EQ(stream.take(milliseconds(0)), "");
    EXPECT_TRUE(stream.push("one "));
    EXPECT_TRUE(stream.push("two"));
    EXPECT_EQ(stream.take(milliseconds(0)), "one two");
    stream.end(" last");
    EXPECT_EQ(stream.take(milliseconds(0)), " last");
    EXPECT_EQ(stream.take(milliseconds(0)), std::nullopt);
}

TEST(Streams, NeverHoldsMoreThanItsBoundButForTheLastWords) {
    ObservationStream stream(10);
    EXPECT_TRUE(stream.push("12345678"));
    EXPECT_FALSE(stream.push("abc")) << "whole or not at all";
    EXPECT_TRUE(stream.push("90"));
    EXPECT_FALSE(stream.push("x"));
    stream.end("the end");
    EXPECT_EQ(stream.take(milliseconds(0)), "1234567890the end");
}

TEST(Streams, ASleepingReaderWakesForBytesAndForTheEnd) {
    ObservationStream stream;
    std::string got;
    std::thread reader([&] {
        while (const auto bytes = stream.take(std::chrono::minutes(5)))
            got += *bytes;
    });
    for (int i = 0; i < 1000; i++)
        EXPECT_TRUE(stream.push("x"));
    stream.end();
    reader.join();
    EXPECT_EQ(got, std::string(1000, 'x'));
}

}  // namespace
}  // namespace pktpit::router
