// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/frame_queue.h"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <thread>
#include <vector>

namespace pktpit::router {
namespace {

using Frame = std::vector<uint8_t>;

bool push(FrameQueue& queue, const pp_punt& head, const Frame& frame) {
    const std::span<const uint8_t> whole(frame);
    return queue.push(head, {&whole, 1});
}
bool push(FrameQueue& queue, size_t bytes, uint8_t fill) {
    return push(queue, {1, 2, 0, static_cast<uint32_t>(bytes)}, Frame(bytes, fill));
}
/// The next frames, at most so many.
std::vector<Frame> popped(FrameQueue& queue, size_t most = SIZE_MAX) {
    std::vector<Frame> frames;
    const size_t count = queue.pop(most, [&](const pp_punt&, std::span<uint8_t> frame) {
        frames.emplace_back(frame.begin(), frame.end());
    });
    EXPECT_EQ(count, frames.size());
    return frames;
}

TEST(FrameQueue, GathersParts) {
    FrameQueue queue(1024);
    const Frame a{1, 2, 3}, none, b{4}, c{5, 6, 7, 8, 9};
    const std::span<const uint8_t> parts[] = {a, none, b, c};
    ASSERT_TRUE(queue.push({1, 0, 0, 9}, parts));
    EXPECT_EQ(popped(queue), (std::vector<Frame>{{1, 2, 3, 4, 5, 6, 7, 8, 9}}));
}

TEST(FrameQueue, RefusesWhatDoesNotFitAndTakesItOnceThereIsRoom) {
    FrameQueue queue(256);
    EXPECT_TRUE(push(queue, 120, 1));  // 128 with its head
    EXPECT_FALSE(push(queue, 121, 2));
    EXPECT_TRUE(push(queue, 120, 2));
    EXPECT_FALSE(push(queue, 1, 3)) << "full to the last byte";
    EXPECT_EQ(popped(queue, 1), std::vector<Frame>{Frame(120, 1)});
    EXPECT_TRUE(push(queue, 120, 3));
    EXPECT_EQ(popped(queue), (std::vector{Frame(120, 2), Frame(120, 3)}));
}

TEST(FrameQueue, ARecordLiesInOnePieceAtTheWrap) {
    FrameQueue queue(256);
    ASSERT_TRUE(push(queue, 144, 1));  // 152: the next of 120 would cross the end
    ASSERT_FALSE(push(queue, 112, 2)) << "the end of the ring is skipped, so there is no room";
    EXPECT_EQ(popped(queue).size(), 1u);
    ASSERT_TRUE(push(queue, 112, 2));
    EXPECT_EQ(popped(queue), std::vector<Frame>{Frame(112, 2)});
    EXPECT_TRUE(queue.empty());
}

TEST(FrameQueue, WhatIsReservedAndNotPublishedIsNotSeen) {
    FrameQueue queue(256);
    const auto room = queue.reserve({1, 0, 0, 64});
    ASSERT_EQ(room.size(), 64u);
    EXPECT_TRUE(queue.empty());
    EXPECT_TRUE(popped(queue).empty());
    const auto again = queue.reserve({1, 0, 0, 32});
    EXPECT_EQ(again.data(), room.data());
    queue.publish();
    EXPECT_EQ(popped(queue), std::vector<Frame>{Frame(32)});
}

TEST(FrameQueue, LengthsThatNoFrameHasAreRefused) {
    FrameQueue queue(1 << 16);
    for (const uint32_t length :
         {65536u - 7, 65536u, UINT32_MAX - 8, UINT32_MAX - 7, UINT32_MAX - 1, UINT32_MAX})
        EXPECT_TRUE(queue.reserve({1, 0, 0, length}).empty()) << length;
    EXPECT_EQ(queue.reserve({1, 0, 0, 65536 - 8}).size(), 65536u - 8);
}

TEST(FrameQueue, RandomUseAgainstADeque) {
    for (unsigned seed = 0; seed < 20; seed++) {
        std::mt19937 random(seed);
        FrameQueue queue(1024);
        std::deque<Frame> naive;
        size_t refused = 0;
        for (int step = 0; step < 5000; step++) {
            if (random() % 2) {
                Frame frame(1 + random() % 300);
                for (auto& byte : frame)
                    byte = static_cast<uint8_t>(random());
                const pp_punt head{static_cast<uint16_t>(step), 3, 0, static_cast<uint32_t>(frame.size())};
                if (push(queue, head, frame))
                    naive.push_back(std::move(frame));
                else
                    refused++;
            } else {
                const size_t most = random() % 5;
                const auto end = naive.begin() + static_cast<long>(std::min(most, naive.size()));
                ASSERT_EQ(popped(queue, most), std::vector<Frame>(naive.begin(), end));
                naive.erase(naive.begin(), end);
            }
            ASSERT_EQ(queue.empty(), naive.empty());
        }
        EXPECT_GT(refused, 0u);
    }
}

/// Both threads make the same frames from the same seed.
class Frames {
  public:
    std::span<const uint8_t> next() {
        const size_t length = random_() % 8 == 0 ? random_() % 1518 + 1 : random_() % 120 + 1;
        const auto seed = static_cast<uint8_t>(random_());
        for (size_t i = 0; i < length; i++)
            bytes_[i] = static_cast<uint8_t>(seed + i * 7);
        return {bytes_.data(), length};
    }

  private:
    std::mt19937 random_{42};
    std::array<uint8_t, 1518> bytes_{};
};

TEST(FrameQueueThreads, AMillionFramesFromThreadToThread) {
    constexpr int count = 1'000'000;
    FrameQueue queue(1 << 14);
    std::thread producer([&queue] {
        Frames frames;
        for (int i = 0; i < count; i++) {
            const auto frame = frames.next();
            const pp_punt head{static_cast<uint16_t>(i), static_cast<uint8_t>(i >> 16), 0,
                               static_cast<uint32_t>(frame.size())};
            while (!queue.push(head, {&frame, 1}))
                std::this_thread::yield();
        }
    });
    Frames frames;
    int seen = 0;
    int wrong = 0;
    while (seen < count) {
        const size_t got = queue.pop(64, [&](const pp_punt& head, std::span<uint8_t> frame) {
            const auto wanted = frames.next();
            wrong += head.port != static_cast<uint16_t>(seen) || head.verdict != seen >> 16 ||
                     !std::ranges::equal(frame, wanted);
            seen++;
        });
        if (got == 0) std::this_thread::yield();
    }
    producer.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace pktpit::router
