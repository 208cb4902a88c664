// SPDX-License-Identifier: BSD-3-Clause
#include "fib/epochs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace pktpit::fib {
namespace {

class EpochsOfBothKinds : public testing::TestWithParam<Epochs::Barrier> {
  protected:
    Epochs epochs_{GetParam()};
};

TEST_P(EpochsOfBothKinds, WithoutReadersEveryTicketHasPassed) {
    for (int i = 0; i < 100; i++)
        EXPECT_TRUE(epochs_.passed(epochs_.retire_ticket()));
    epochs_.wait();
    EXPECT_TRUE(epochs_.passed(0));
}

TEST_P(EpochsOfBothKinds, AReaderInsideHoldsBackWhatWasRetiredSinceItEntered) {
    EpochReader reader(epochs_);
    const uint64_t before = epochs_.retire_ticket();
    EXPECT_TRUE(epochs_.passed(before)) << "the reader is outside";
    reader.enter();
    EXPECT_TRUE(epochs_.passed(before));
    const uint64_t during = epochs_.retire_ticket();
    EXPECT_GT(during, before);
    for (int i = 0; i < 10; i++)
        EXPECT_FALSE(epochs_.passed(during));
    EXPECT_TRUE(epochs_.passed(before)) << "it stays passed";
    reader.leave();
    EXPECT_TRUE(epochs_.passed(during));
}

TEST_P(EpochsOfBothKinds, AQuiescentReaderLetsGoOfWhatItHadOnly) {
    EpochReader reader(epochs_);
    reader.enter();
    const uint64_t first = epochs_.retire_ticket();
    EXPECT_FALSE(epochs_.passed(first));  // begins the epoch that the reader is to see
    reader.quiescent();
    EXPECT_TRUE(reader.inside());
    EXPECT_TRUE(epochs_.passed(first));
    const uint64_t second = epochs_.retire_ticket();
    EXPECT_FALSE(epochs_.passed(second));
    EXPECT_TRUE(epochs_.passed(first));
    reader.quiescent();
    EXPECT_TRUE(epochs_.passed(second));
    reader.leave();
}

// The reader announces its state before the writer has retired anything: that must not count.
TEST_P(EpochsOfBothKinds, AQuiescentStateBeforeTheTicketDoesNotCount) {
    EpochReader reader(epochs_);
    reader.enter();
    epochs_.advance();
    reader.quiescent();
    const uint64_t ticket = epochs_.retire_ticket();
    EXPECT_FALSE(epochs_.passed(ticket));
    reader.leave();
    EXPECT_TRUE(epochs_.passed(ticket));
}

TEST_P(EpochsOfBothKinds, TheSlowestReaderCounts) {
    EpochReader first(epochs_), second(epochs_), third(epochs_);
    EXPECT_EQ(epochs_.readers(), 3u);
    first.enter();
    second.enter();
    const uint64_t one = epochs_.retire_ticket();
    EXPECT_FALSE(epochs_.passed(one));
    first.quiescent();
    EXPECT_FALSE(epochs_.passed(one));
    second.quiescent();
    const uint64_t two = epochs_.retire_ticket();
    EXPECT_FALSE(epochs_.passed(two));
    EXPECT_TRUE(epochs_.passed(one));
    third.enter();
    second.leave();
    EXPECT_FALSE(epochs_.passed(two)) << "the first is still inside";
    first.leave();
    EXPECT_TRUE(epochs_.passed(two)) << "the third entered after the epoch began";
    third.leave();
}

// Thousands of frees between two questions are one grace period.
TEST_P(EpochsOfBothKinds, TicketsOfOneBatchAreTheSame) {
    EpochReader reader(epochs_);
    reader.enter();
    const uint64_t ticket = epochs_.retire_ticket();
    for (int i = 0; i < 1000; i++)
        EXPECT_EQ(epochs_.retire_ticket(), ticket);
    EXPECT_FALSE(epochs_.passed(ticket));
    EXPECT_EQ(epochs_.retire_ticket(), ticket + 1) << "what comes now was not covered";
    reader.leave();
}

TEST_P(EpochsOfBothKinds, AdvanceMovesOnWithoutATicket) {
    EpochReader reader(epochs_);
    reader.enter();
    const uint64_t ticket = epochs_.retire_ticket();
    epochs_.advance();
    EXPECT_EQ(epochs_.retire_ticket(), ticket + 1) << "an epoch has begun";
    epochs_.advance();
    EXPECT_EQ(epochs_.retire_ticket(), ticket + 1) << "one at a time";
    reader.quiescent();
    epochs_.advance();
    EXPECT_TRUE(epochs_.passed(ticket));
    reader.leave();
}

TEST_P(EpochsOfBothKinds, AReaderThatGoesAwayInsideHoldsNothing) {
    auto reader = std::make_unique<EpochReader>(epochs_);
    reader->enter();
    const uint64_t ticket = epochs_.retire_ticket();
    EXPECT_FALSE(epochs_.passed(ticket));
    reader.reset();
    EXPECT_TRUE(epochs_.passed(ticket));
    EXPECT_EQ(epochs_.readers(), 0u);
}

TEST_P(EpochsOfBothKinds, SlotsDoNotShareCacheLines) {
    EXPECT_EQ(alignof(EpochReader) % 128, 0u);
    EpochReader readers[2] = {EpochReader(epochs_), EpochReader(epochs_)};
    EXPECT_EQ(reinterpret_cast<uintptr_t>(&readers[0]) % 128, 0u);
}

TEST_P(EpochsOfBothKinds, WaitReturnsWhenTheReaderLeaves) {
    std::atomic<bool> entered = false, leaving = false;
    std::thread thread([&] {
        EpochReader reader(epochs_);
        reader.enter();
        entered = true;
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        leaving = true;
        reader.leave();
        // Asleep outside: must hold nobody up.
        while (entered)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    });
    while (!entered)
        std::this_thread::yield();
    epochs_.wait();
    EXPECT_TRUE(leaving) << "not before the reader left";
    for (int i = 0; i < 100; i++)
        epochs_.wait();  // for ever, if for a reader that does not come back in
    entered = false;
    thread.join();
}

TEST_P(EpochsOfBothKinds, WaitReturnsBesideReadersThatNeverLeave) {
    std::atomic<bool> stop = false;
    std::atomic<int> running = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back([&] {
            EpochReader reader(epochs_);
            reader.enter();
            running++;
            while (!stop)
                reader.quiescent();
            reader.leave();
        });
    while (running < 3)
        std::this_thread::yield();
    for (int i = 0; i < 100; i++)
        epochs_.wait();
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
}

TEST_P(EpochsOfBothKinds, GuardLeavesAtTheEndOfTheScope) {
    EpochReader reader(epochs_);
    {
        const EpochGuard guard(reader);
        EXPECT_TRUE(reader.inside());
    }
    EXPECT_FALSE(reader.inside());
}

INSTANTIATE_TEST_SUITE_P(Barriers, EpochsOfBothKinds,
                         testing::Values(Epochs::Barrier::membarrier, Epochs::Barrier::fences),
                         [](const auto& kind) {
                             return kind.param == Epochs::Barrier::membarrier ? "membarrier" : "fences";
                         });

TEST(Epochs, SaysWhichBarrierItUses) {
    EXPECT_EQ(Epochs(Epochs::Barrier::fences).barrier(), Epochs::Barrier::fences);
}

}  // namespace
}  // namespace pktpit::fib
