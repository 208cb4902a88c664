// SPDX-License-Identifier: BSD-3-Clause
// Who decides about a frame when a worker stands still and goes on: the worker's side of the protocol against
// a port stage written here after bpf/heartbeat.h and bpf/hand_over.h, every step of the two interleaved at
// random.
#include "router/loop/socket_order.h"

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace pktpit::router {
namespace {

/// The port stage, and the wire that it and the worker put frames on.
class Stage {
  public:
    static constexpr uint64_t patience = 50;
    static constexpr size_t ring_entries = 16;

    Stage(pp_socket_order& shared, bool numbered) : shared_(shared), numbered_(numbered) {}

    struct Frame {
        uint64_t serial = 0;  ///< in order of arrival
        std::optional<uint32_t> number;
    };

    /// One step of what it does with one frame; true: it is through with it.
    bool step() {
        now++;
        switch (at_) {
            case At::begin:
                serial_++;
                if (shared_.standing != 0) {
                    if (shared_.settled != shared_.void_to) return decide();
                    shared_.standing = 0;
                }
                moves_ = shared_.moves;
                if (shared_.answered == shared_.sent || moves_ != shared_.seen) {
                    shared_.seen = moves_;
                    shared_.since = now;
                    return hand_over();
                }
                if (now - shared_.since < patience) return hand_over();
                at_ = At::taking_over;
                return false;
            case At::taking_over:
                shared_.void_to = shared_.sent;
                at_ = At::looking_again;
                return false;
            case At::looking_again:
                at_ = At::begin;
                if (shared_.moves != moves_) {
                    shared_.since = now;
                    return hand_over();
                }
                shared_.standing = 1;
                takeovers++;
                return decide();
        }
        return true;
    }
    /// At the end of what one interrupt brings: only then does the socket have the frames.
    void flush() {
        for (const Frame& frame : pending_)
            if (ring.size() < ring_entries) ring.push_back(frame);
        pending_.clear();
    }

    uint64_t now = 1000;
    uint64_t takeovers = 0;
    uint64_t decided = 0;
    std::deque<Frame> ring;
    std::vector<uint64_t> wire;

  private:
    enum class At { begin, taking_over, looking_again };
    bool decide() {
        wire.push_back(serial_);
        decided++;
        return true;
    }
    bool hand_over() {
        pending_.push_back({serial_, std::nullopt});
        ++shared_.sent;
        if (numbered_) pending_.back().number = shared_.sent;
        return true;
    }

    pp_socket_order& shared_;
    bool numbered_;
    uint64_t serial_ = 0;
    uint32_t moves_ = 0;
    At at_ = At::begin;
    std::vector<Frame> pending_;
};

/// The worker: what happens between two of its steps is the stage's, and time.
class SteppedWorker {
  public:
    SteppedWorker(pp_socket_order& shared, Stage& stage)
        : order_(SocketOrder::begin(shared)), stage_(stage) {}

    void step() {
        switch (at_) {
            case At::look:
                (void)order_.look();
                at_ = At::take;
                return;
            case At::take:
                take();
                return;
            case At::move:
                order_.moving();
                at_ = At::send;
                return;
            case At::send:
                // The check and the system call behind it: nothing stops a thread within.
                if (order_.overtaken())
                    dropped += batch_.size();
                else
                    for (const uint64_t serial : batch_)
                        stage_.wire.push_back(serial);
                batch_.clear();
                at_ = At::look;
                return;
        }
    }
    uint64_t dropped = 0;
    uint64_t stale = 0;

  private:
    enum class At { look, take, move, send };
    void take() {
        std::optional<uint32_t> last;
        if (stage_.ring.empty()) {
            order_.found_empty();
            at_ = At::look;
            return;
        }
        for (int i = 0; i < 4 && !stage_.ring.empty(); i++) {
            const Stage::Frame frame = stage_.ring.front();
            stage_.ring.pop_front();
            last = frame.number;
            if (order_.is_void(frame.number))
                stale++;
            else
                batch_.push_back(frame.serial);
        }
        order_.took(last);
        at_ = batch_.empty() ? At::look : At::move;
    }
    SocketOrder order_;
    Stage& stage_;
    At at_ = At::look;
    std::vector<uint64_t> batch_;
};

/// A worker that often stands still, at any step; numbers that wrap.
struct Chance {
    pp_socket_order shared{};
    std::mt19937 random;
    explicit Chance(uint32_t seed) : random(seed) {
        shared.sent = shared.answered = shared.void_to = shared.settled = UINT32_MAX - 500;
    }
    bool one_of(uint32_t many) { return random() % many == 0; }
    /// So many steps of both: it stands still once in so many of them, and waits for the stage in others.
    void run(Stage& stage, SteppedWorker& worker, int steps, uint32_t stands, uint32_t waits) {
        uint64_t stands_until = 0;
        for (int i = 0; i < steps; i++) {
            if (one_of(stands)) stands_until = stage.now + random() % (4 * Stage::patience);
            if (stage.now < stands_until || one_of(waits)) {
                stage.step();
                if (one_of(4)) stage.flush();
            } else {
                worker.step();
            }
        }
    }
};

TEST(SocketOrder, NothingIsOvertakenAndNothingComesTwice) {
    uint64_t takeovers = 0, stale = 0, dropped = 0, by_worker = 0;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        Chance chance(seed);
        Stage stage(chance.shared, true);
        SteppedWorker worker(chance.shared, stage);
        chance.run(stage, worker, 20'000, 200, 3);
        for (size_t i = 1; i < stage.wire.size(); i++)
            ASSERT_LT(stage.wire[i - 1], stage.wire[i]) << "seed " << seed;
        takeovers += stage.takeovers;
        stale += worker.stale;
        dropped += worker.dropped;
        by_worker += stage.wire.size() - stage.decided;
    }
    // All that can happen has.
    EXPECT_GT(takeovers, 1000U);
    EXPECT_GT(stale, 1000U);
    EXPECT_GT(dropped, 100U);
    EXPECT_GT(by_worker, 100'000U);
}

// Whatever happened, once both run the worker has the frames again, and none is lost for a word that never
// came.
TEST(SocketOrder, AWorkerThatMovesGetsTheFramesAgain) {
    for (const bool numbered : {true, false})
        for (uint32_t seed = 1; seed <= 200; seed++) {
            Chance chance(seed);
            Stage stage(chance.shared, numbered);
            SteppedWorker worker(chance.shared, stage);
            chance.run(stage, worker, 2000, 100, 2);
            const auto both = [&] {
                while (!stage.step()) {
                }
                stage.flush();
                for (int i = 0; i < 20; i++)
                    worker.step();
            };
            for (int i = 0; i < 20; i++)
                both();
            const uint64_t decided = stage.decided;
            const size_t before = stage.wire.size();
            for (int i = 0; i < 100; i++)
                both();
            EXPECT_EQ(stage.decided, decided) << "seed " << seed;
            EXPECT_GE(stage.wire.size(), before + 99) << "seed " << seed;
        }
}

TEST(SocketOrder, WhatTheKernelDroppedIsNotWaitedFor) {
    pp_socket_order shared{};
    SocketOrder order = SocketOrder::begin(shared);
    shared.sent = 17;
    order.expect_nothing();
    EXPECT_EQ(shared.answered, 17U);
}

TEST(SocketOrder, WhatIsVoidAndNotInTheRingIsNotWaitedFor) {
    pp_socket_order shared{};
    SocketOrder order = SocketOrder::begin(shared);
    shared.sent = 5;
    shared.void_to = 4;
    ASSERT_TRUE(order.look());
    order.found_empty();
    EXPECT_EQ(shared.settled, 4U);
    EXPECT_EQ(shared.answered, 4U);
}

// A stage that finds them taken does not stand in, whatever becomes of them.
TEST(SocketOrder, WhoTakesFramesMoves) {
    for (const std::optional<uint32_t> number : {std::optional<uint32_t>(1), std::optional<uint32_t>()}) {
        pp_socket_order shared{};
        SocketOrder order = SocketOrder::begin(shared);
        shared.sent = 3;
        order.took(number);
        EXPECT_EQ(shared.answered, number.value_or(3));
        EXPECT_EQ(shared.moves, 1U);
    }
}

TEST(SocketOrder, ANewSocketOwesNothing) {
    pp_socket_order shared{};
    shared.sent = 9;
    shared.answered = 3;
    shared.void_to = 5;
    shared.moves = 4;
    SocketOrder order = SocketOrder::begin(shared);
    EXPECT_EQ(shared.answered, 9U);
    EXPECT_EQ(shared.settled, 5U);
    EXPECT_FALSE(order.look());
    order.moving();
    EXPECT_EQ(shared.moves, 5U);
}

TEST(SocketOrder, ReadsTheNumberInFrontOfAFrame) {
    struct {
        pp_order_tag tag{PP_ORDER_MAGIC, 4711};
        uint8_t frame[64] = {};
    } memory;
    EXPECT_EQ(SocketOrder::number_of(memory.frame), 4711U);
    memory.tag.magic++;
    EXPECT_EQ(SocketOrder::number_of(memory.frame), std::nullopt);
}

}  // namespace
}  // namespace pktpit::router
