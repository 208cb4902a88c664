// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/worker.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>

#include "tests/unit/forward/heap_image.h"
#include "tests/unit/forward/vectors.h"
#include "tests/until.h"

namespace pktpit::router::test {
namespace {

using namespace std::chrono_literals;
using pktpit::test::until;

/// A port whose frames are a number that the test raises, and whose interrupt is an eventfd. All frames are
/// the same one, to the router itself.
class SignalledIo : public PortIo {
  public:
    SignalledIo() : bytes_(frame(arriving, Ipv4{.destination = "192.0.2.1"})), cell_(bytes_) {}

    /// Any thread: so many frames arrive.
    void arrive(uint64_t frames) {
        pending_ += frames;
        const uint64_t one = 1;
        if (armed_.exchange(false)) [[maybe_unused]]
            const auto written = ::write(interrupt.get(), &one, sizeof one);
    }
    [[nodiscard]] uint64_t received() const { return received_; }
    [[nodiscard]] uint64_t sent() const { return sent_; }
    [[nodiscard]] uint64_t looks() const { return looks_; }
    [[nodiscard]] bool armed() const { return armed_; }
    /// How often it has gone to sleep, and looked for frames.
    [[nodiscard]] uint64_t sleeps() const { return sleeps_; }
    [[nodiscard]] uint64_t turns() const { return turns_; }

    size_t receive(std::span<offload::HeaderSlice> slices) override {
        touch();
        turns_++;
        uint64_t available = pending_;
        const size_t count = std::min<uint64_t>(available, slices.size());
        for (size_t i = 0; i < count; i++) {
            slices[i] = {};
            slices[i].bytes = cell_.data();
            slices[i].length = static_cast<uint16_t>(cell_.size());
            slices[i].port = 1;
            slices[i].frame_length = static_cast<uint32_t>(cell_.size());
        }
        pending_ -= count;
        received_ += count;
        return count;
    }
    void submit(std::span<const offload::EgressDescriptor>) override { touch(); }
    void release(std::span<const offload::Slot>) override { touch(); }
    void complete() override { touch(); }
    bool copy_frame(const offload::HeaderSlice& slice, std::span<uint8_t> frame) override {
        touch();
        std::copy_n(slice.bytes, slice.length, frame.begin());
        return true;
    }
    bool send(uint16_t, std::span<const uint8_t> frame) override {
        touch();
        EXPECT_EQ(frame.size(), 100u);
        sent_++;
        return true;
    }
    void arm() override {
        touch();
        sleeps_++;
        armed_ = true;
    }
    void disarm() override {
        touch();
        armed_ = false;
    }
    void look() override {
        touch();
        looks_++;
    }

    [[nodiscard]] bool waits_to_send() const override { return waiting; }

    std::atomic<bool> waiting = false;  ///< frames that a full device has not taken
    /// What only one thread may touch at a time: the worker's, or the test's while the worker is paused.
    uint64_t not_atomic = 0;
    Fd interrupt{eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};

  private:
    void touch() { not_atomic++; }

    const Buffer bytes_;
    Buffer cell_;
    std::atomic<uint64_t> pending_ = 0;
    std::atomic<uint64_t> received_ = 0;
    std::atomic<uint64_t> sent_ = 0;
    std::atomic<uint64_t> looks_ = 0;
    std::atomic<uint64_t> sleeps_ = 0;
    std::atomic<uint64_t> turns_ = 0;
    std::atomic<bool> armed_ = false;
};

struct WorkerRig {
    explicit WorkerRig(config::Polling polling, int sleep_ms = 100) {
        queues.for_daemon_wakeup = Fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        worker = std::make_unique<Worker>(io, view(), epochs, counters, queues, polling, WorkerPlacement{},
                                          sleep_ms);
        worker->watch_interrupt(io.interrupt.get());
    }
    static ImageView view() {
        static HeapImage image;
        static const bool filled = (fill_test_router(image.image(), image.base()), true);
        return filled ? image.view() : ImageView{};
    }
    /// Or about to be.
    [[nodiscard]] bool asleep() {
        return until([&] { return io.armed(); });
    }
    bool send() {
        const Buffer bytes(100);
        const std::span<const uint8_t> whole(bytes);
        if (!queues.to_send.push({1, 0, 0, 100}, {&whole, 1})) return false;
        worker->wake();
        return true;
    }

    SignalledIo io;
    fib::Epochs epochs;
    WorkerCounters counters;
    Worker::Queues queues;
    std::unique_ptr<Worker> worker;
};

constexpr auto name_of_polling = [](const auto& test) {
    return test.param == config::Polling::busy       ? "Busy"
           : test.param == config::Polling::adaptive ? "Adaptive"
                                                     : "Interrupt";
};

class Workers : public testing::TestWithParam<config::Polling> {};
INSTANTIATE_TEST_SUITE_P(Polling, Workers,
                         testing::Values(config::Polling::busy, config::Polling::adaptive,
                                         config::Polling::interrupt),
                         name_of_polling);

TEST_P(Workers, DoesNothingBeforeResumeAndAllAfterIt) {
    WorkerRig rig(GetParam());
    rig.io.arrive(1000);
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(rig.io.not_atomic, 0u);
    rig.worker->resume();
    EXPECT_TRUE(until([&] { return rig.io.received() == 1000; }));
    rig.worker->pause();
    EXPECT_EQ(rig.counters.port(1).rx_packets, 1000u);
    EXPECT_EQ(rig.counters.port(1).verdict[PP_HOST_LOCAL], 1000u);
}

TEST_P(Workers, WhatIsForTheDaemonWakesIt) {
    WorkerRig rig(GetParam());
    rig.worker->resume();
    uint64_t popped = 0;
    for (uint64_t round = 1; round <= 200; round++) {
        rig.io.arrive(3);
        while (popped < 3 * round) {
            const int wakeup = rig.queues.for_daemon_wakeup.get();
            ASSERT_TRUE(pktpit::test::readable(wakeup)) << "frames wait and nobody says so";
            uint64_t rung = 0;
            ASSERT_EQ(::read(wakeup, &rung, sizeof rung), ssize_t{sizeof rung});
            popped += rig.queues.for_daemon.pop(100, [](const pp_punt& head, std::span<uint8_t> bytes) {
                EXPECT_EQ(head.verdict, PP_HOST_LOCAL);
                EXPECT_EQ(bytes.size(), head.frame_length);
            });
        }
    }
    EXPECT_EQ(popped, 600u);
}

// While it is paused, the test's thread may touch what is the worker's: ThreadSanitizer says if not.
TEST_P(Workers, PauseAndResumeUnderTraffic) {
    WorkerRig rig(GetParam());
    std::atomic<bool> done = false;
    std::thread traffic([&] {
        while (!done) {
            rig.io.arrive(5);
            std::this_thread::yield();
        }
    });
    rig.worker->resume();
    for (int i = 0; i < 3000; i++) {
        {
            const WorkerPause paused(*rig.worker);
            const uint64_t before = ++rig.io.not_atomic;
            if (i % 64 == 0) std::this_thread::sleep_for(100us);
            ASSERT_EQ(rig.io.not_atomic, before) << "it went on";
            if (i % 10 == 0) rig.worker->unwatch_interrupt(rig.io.interrupt.get());
            if (i % 10 == 0) rig.worker->watch_interrupt(rig.io.interrupt.get());
        }
        if (i % 8 == 0) {
            ASSERT_TRUE(rig.send());
        }
        rig.queues.for_daemon.pop(1000, [](const pp_punt&, std::span<uint8_t>) {});
    }
    const uint64_t received = rig.io.received();
    EXPECT_TRUE(until([&] { return rig.io.received() > received; })) << "it goes on after the last pause";
    EXPECT_TRUE(until([&] { return rig.io.sent() == 375; }));
    done = true;
    traffic.join();
}

TEST_P(Workers, EndsInEveryState) {
    for (int i = 0; i < 24; i++) {
        WorkerRig rig(GetParam());
        if (i % 4 != 0) rig.worker->resume();      // 0: never begun
        if (i % 4 == 1) rig.io.arrive(1'000'000);  // at work
        if (i % 4 == 2 && GetParam() != config::Polling::busy) {
            ASSERT_TRUE(rig.asleep());
        }
        if (i % 4 == 3) rig.worker->pause();
        rig.worker.reset();
    }
}

TEST_P(Workers, LinksAreLookedAtWhetherThereIsTrafficOrNot) {
    WorkerRig rig(GetParam());
    rig.worker->resume();
    const auto looked = [&](uint64_t more) {
        const uint64_t before = rig.io.looks();
        return until([&] { return rig.io.looks() >= before + more; });
    };
    EXPECT_TRUE(looked(2)) << "idle";
    rig.io.arrive(1);
    EXPECT_TRUE(looked(2)) << "after a packet";
    std::atomic<bool> done = false;
    std::thread traffic([&] {
        while (!done) {
            if (rig.io.received() % 64 == 0) rig.io.arrive(64);
            rig.queues.for_daemon.pop(1000, [](const pp_punt&, std::span<uint8_t>) {});
        }
    });
    EXPECT_TRUE(looked(2)) << "under traffic";
    done = true;
    traffic.join();
}

class SleepingWorkers : public testing::TestWithParam<config::Polling> {};
INSTANTIATE_TEST_SUITE_P(Polling, SleepingWorkers,
                         testing::Values(config::Polling::adaptive, config::Polling::interrupt),
                         name_of_polling);

// Without them it would sleep for longer than the test waits.
TEST_P(SleepingWorkers, AnInterruptAndAFrameToSendEndTheSleep) {
    WorkerRig rig(GetParam(), 10 * 60 * 1000);
    rig.worker->resume();
    for (uint64_t i = 1; i <= 40; i++) {
        ASSERT_TRUE(rig.asleep());
        rig.io.arrive(1);
        ASSERT_TRUE(until([&] { return rig.io.received() == i; }));
        ASSERT_TRUE(rig.asleep());
        ASSERT_TRUE(rig.send());
        ASSERT_TRUE(until([&] { return rig.io.sent() == i; }));
    }
}

TEST_P(SleepingWorkers, AskAgainWhileADeviceHasNotTakenAll) {
    WorkerRig rig(GetParam(), 10 * 60 * 1000);
    rig.io.waiting = true;
    rig.worker->resume();
    EXPECT_TRUE(until([&] { return rig.io.sleeps() >= 20; }));
    rig.worker->pause();
}

TEST_P(SleepingWorkers, CostNearlyNothingWhenThereIsNothingToDo) {
    WorkerRig rig(GetParam());
    rig.worker->resume();
    ASSERT_TRUE(until([&] { return rig.io.looks() >= 2; }));
    ASSERT_TRUE(until([&] { return rig.io.looks() >= 10; }));
    rig.worker->pause();
    // Each sleep lasts until links are to be looked at again; before it, an adaptive worker turns 200 times.
    EXPECT_LE(rig.io.sleeps(), rig.io.looks() + 1);
    EXPECT_LE(rig.io.turns(), rig.io.sleeps() * 210 + 210);
}

TEST(BusyWorker, NeedsNoInterrupt) {
    WorkerRig rig(config::Polling::busy);
    rig.worker->resume();
    for (uint64_t i = 1; i <= 100; i++) {
        rig.io.arrive(1);
        ASSERT_TRUE(until([&] { return rig.io.received() == i; }));
        ASSERT_FALSE(rig.io.armed());
    }
}

}  // namespace
}  // namespace pktpit::router::test
