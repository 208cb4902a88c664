// SPDX-License-Identifier: BSD-3-Clause
// Workers over a network that loses, doubles and reorders, with a router that has no slots: every sum is
// right, and no worker takes a slot before it may.
#include "allreduce/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "allreduce/int32_message.h"
#include "tests/sanitized.h"
#include "tests/unit/allreduce/naive_router.h"

namespace pktpit::allreduce::test {
namespace {

using Vector = std::vector<int32_t>;

Epoch epoch_of(uint8_t worker, uint16_t workers, uint16_t slots, uint16_t elements = 16) {
    return {.key = 0x1234567890abcdef,
            .number = 7,
            .worker = worker,
            .workers = workers,
            .slots = slots,
            .elements = elements,
            .type = PA_INT32};
}

struct Job {
    Job(uint16_t workers, uint16_t slots, uint16_t elements = 16)
        : router(epoch_of(0, workers, slots, elements)) {
        for (uint16_t worker = 0; worker < workers; worker++)
            streams.push_back(
                std::make_unique<Stream>(epoch_of(static_cast<uint8_t>(worker), workers, slots, elements)));
    }
    /// A message of random elements of each worker.
    void add(size_t elements, std::mt19937& random) {
        std::vector<Vector>& in = inputs.emplace_back();
        outputs.emplace_back(streams.size(), Vector(elements));
        for (size_t worker = 0; worker < streams.size(); worker++) {
            in.emplace_back(elements);
            for (int32_t& one : in.back())
                one = static_cast<int32_t>(random());
        }
        for (size_t worker = 0; worker < streams.size(); worker++)
            numbers.push_back(streams[worker]->add(std::make_unique<Int32Message>(
                in[worker], outputs.back()[worker], streams[worker]->epoch().elements)));
    }
    LossyNetwork network(const Faults& faults, uint32_t seed) {
        std::vector<Stream*> all;
        for (const auto& one : streams)
            all.push_back(one.get());
        return {all, std::ref(router), faults, seed};
    }
    bool run(const Faults& faults, uint32_t seed) { return network(faults, seed).run(); }
    void expect_sums() const {
        for (size_t message = 0; message < inputs.size(); message++) {
            Vector sum(inputs[message][0].size());
            for (const Vector& one : inputs[message])
                std::ranges::transform(sum, one, sum.begin(), [](int32_t a, int32_t b) {
                    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
                });
            for (const Vector& out : outputs[message])
                ASSERT_EQ(out, sum) << "message " << message;
        }
    }
    NaiveRouter router;
    std::vector<std::unique_ptr<Stream>> streams;
    std::deque<std::vector<Vector>> inputs, outputs;
    std::vector<uint64_t> numbers;
};

TEST(Stream, sums_are_right_without_faults_and_nothing_is_sent_twice) {
    std::mt19937 random(1);
    Job job(4, 8);
    for (const size_t elements : {1, 2, 15, 16, 17, 1000, 0, 4096})
        job.add(elements, random);
    ASSERT_TRUE(job.run({}, 1));
    EXPECT_EQ(job.router.broken(), "");
    job.expect_sums();
    for (const auto& stream : job.streams) {
        EXPECT_EQ(stream->counts().again, 0U);
        EXPECT_EQ(stream->counts().sent, job.router.chunks());
    }
}

TEST(Stream, sums_are_right_whatever_the_network_does) {
    for (uint32_t seed = 1; seed <= pktpit::test::rounds_of(60U); seed++) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const auto workers = static_cast<uint16_t>(1 + random() % 6);
        const auto slots = static_cast<uint16_t>(1U << random() % 6);
        Job job(workers, slots);
        for (auto messages = 1 + random() % 5; messages > 0; messages--)
            job.add(random() % 2000, random);
        ASSERT_TRUE(job.run({.loss = 0.01 * (seed % 30), .duplicates = 0.05, .late = 0.1}, seed));
        EXPECT_EQ(job.router.broken(), "");
        job.expect_sums();
    }
}

TEST(Stream, a_worker_that_comes_later_is_waited_for) {
    std::mt19937 random(5);
    Job job(2, 4);
    job.add(500, random);
    std::vector<Stream*> one{job.streams[0].get()};
    EXPECT_FALSE(LossyNetwork(one, std::ref(job.router), {}, 1).run(std::chrono::seconds(2)));
    const auto asked = job.streams[0]->counts().again;
    EXPECT_GT(asked, 4U) << "it must go on asking";
    EXPECT_LT(asked, 12U) << "for one chunk alone, and more and more seldom";
    ASSERT_TRUE(job.run({}, 1));
    job.expect_sums();
}

/// Chunks sent again for each that was sent.
double again(const Job& job) {
    uint64_t sent = 0, repeated = 0;
    for (const auto& stream : job.streams) {
        sent += stream->counts().sent;
        repeated += stream->counts().again;
    }
    return static_cast<double>(repeated) / static_cast<double>(sent);
}

// A worker that does not run is no loss, however often it happens and however long it is against a round
// trip.
TEST(Stream, hardly_anything_is_sent_twice_where_workers_wait_for_processors) {
    pktpit::test::Sparing sparing;
    for (const uint16_t workers : std::to_array<uint16_t>({2, 4, 16})) {
        for (const int turn_us : {500, 4000, 20000}) {
            if (sparing.skips()) continue;
            SCOPED_TRACE(std::to_string(workers) + " workers, turns of " + std::to_string(turn_us) + " us");
            std::mt19937 random(workers);
            Job job(workers, 512);
            for (int message = 0; message < 2; message++)
                job.add(size_t{16} * 1500, random);
            ASSERT_TRUE(job.run({.turn = std::chrono::microseconds(turn_us)}, 1));
            job.expect_sums();
            EXPECT_LE(again(job), 0.05);
        }
    }
}

TEST(Stream, a_socket_with_little_room_loses_nothing_where_the_window_is_kept_to_it) {
    std::mt19937 random(2);
    Job job(4, 512);
    for (const auto& stream : job.streams)
        stream->limit_window(40);
    job.add(size_t{16} * 5000, random);
    LossyNetwork network = job.network({.turn = std::chrono::milliseconds(4), .room = 44}, 3);
    ASSERT_TRUE(network.run());
    job.expect_sums();
    EXPECT_EQ(network.lost(), 0U);
    EXPECT_LE(again(job), 0.1);
}

TEST(Stream, where_a_socket_overflows_the_window_shrinks) {
    std::mt19937 random(2);
    Job job(4, 512);
    job.add(size_t{16} * (pktpit::test::few_rounds() ? 4000 : 20000), random);
    ASSERT_TRUE(job.run({.turn = std::chrono::milliseconds(4), .room = 64}, 3));
    job.expect_sums();
    EXPECT_LE(again(job), 0.3);
}

// Of a chunk each of the workers may lose its own packet, and then all send again; and each its result.
TEST(Stream, what_is_lost_is_sent_again_soon_and_little_else) {
    std::mt19937 random(4);
    Job job(4, 64);
    job.add(size_t{16} * (pktpit::test::few_rounds() ? 4000 : 20000), random);
    LossyNetwork network = job.network({.loss = 0.01, .duplicates = 0.01, .late = 0.05}, 9);
    const Time begun = network.now();
    ASSERT_TRUE(network.run());
    job.expect_sums();
    EXPECT_LT(again(job), 0.10);
    EXPECT_GT(again(job), 0.03) << "the network lost too little";
    // 313 windows of 64 chunks, a round trip of 0.1 to 0.6 ms each, and a gap that is closed in less than 2
    // ms.
    EXPECT_LT(network.now() - begun, std::chrono::seconds(1));
}

TEST(Stream, the_last_chunk_is_asked_for_after_a_time_out) {
    std::mt19937 random(6);
    Job job(1, 4);
    job.add(16, random);
    Stream& stream = *job.streams[0];
    Datagram datagram(2048);
    const Time begun{std::chrono::seconds(1)};
    ASSERT_GT(stream.next(begun, datagram), 0U);
    EXPECT_EQ(stream.next(begun, datagram), 0U);
    const Time due = stream.wake_at(begun);
    EXPECT_LE(due - begun, std::chrono::milliseconds(20));
    EXPECT_EQ(stream.next(due - std::chrono::microseconds(1), datagram), 0U);
    const Time after = due + std::chrono::milliseconds(1);
    datagram.resize(stream.next(after, datagram));
    ASSERT_GT(datagram.size(), 0U);
    EXPECT_TRUE(stream.receive(job.router(0, datagram).at(0).datagram, after));
    EXPECT_EQ(stream.counts().again, 1U);
}

// Everything of a window is lost on its way back: the first time-out asks for one, the next for more.
TEST(Stream, a_lost_window_comes_back_in_few_time_outs) {
    std::mt19937 random(7);
    Job job(1, 32);
    job.add(size_t{16} * 32, random);
    Stream& stream = *job.streams[0];
    Time now{std::chrono::seconds(1)};
    Datagram buffer(2048);
    while (stream.next(now, buffer) != 0) {
    }
    unsigned time_outs = 0;
    for (; !stream.idle() && time_outs < 100; time_outs++) {
        now = stream.wake_at(now);
        std::vector<Datagram> answers;
        while (const size_t length = stream.next(now, buffer))
            answers.push_back(
                job.router(0, {buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(length)})
                    .at(0)
                    .datagram);
        for (const Datagram& one : answers)
            stream.receive(one, now);
    }
    EXPECT_LE(time_outs, 8U);
    job.expect_sums();
}

TEST(Stream, what_is_no_result_of_this_epoch_is_ignored) {
    std::mt19937 random(3);
    Job job(1, 4);
    job.add(16, random);
    Stream& stream = *job.streams[0];
    Datagram datagram(2048);
    datagram.resize(stream.next(Time(std::chrono::seconds(1)), datagram));
    const Time later(std::chrono::milliseconds(1001));
    Datagram result = job.router(0, datagram).at(0).datagram;
    const auto wrong = [&](auto change) {
        Datagram other = result;
        pa_header header = *read_header(other);
        change(header, other);
        std::memcpy(other.data(), &header, std::min(sizeof header, other.size()));
        return stream.receive(other, later);
    };
    EXPECT_FALSE(wrong([](pa_header& header, Datagram&) { header.magic ^= 1; }));
    EXPECT_FALSE(wrong([](pa_header& header, Datagram&) { header.key ^= 1; }));
    EXPECT_FALSE(wrong([](pa_header& header, Datagram&) { header.epoch ^= 1; }));
    EXPECT_FALSE(wrong([](pa_header& header, Datagram&) { header.worker ^= 1; }));
    EXPECT_FALSE(wrong([](pa_header& header, Datagram&) { header.kind = PA_ADD; }));
    EXPECT_FALSE(wrong([](pa_header& header, Datagram&) { header.chunk += 4; }));
    EXPECT_FALSE(wrong([](pa_header& header, Datagram&) { header.count -= 2; }));
    EXPECT_FALSE(wrong([](pa_header&, Datagram& bytes) { bytes.resize(bytes.size() - 4); }));
    EXPECT_FALSE(wrong([](pa_header&, Datagram& bytes) { bytes.resize(10); }));
    EXPECT_FALSE(stream.idle());
    EXPECT_TRUE(stream.receive(result, later));
    EXPECT_TRUE(stream.idle());
    EXPECT_FALSE(stream.receive(result, later));
    job.expect_sums();
}

}  // namespace
}  // namespace pktpit::allreduce::test
