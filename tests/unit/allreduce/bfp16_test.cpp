// SPDX-License-Identifier: BSD-3-Clause
// Block floating point: the same bits at each worker, which are those of the definition, with all numbers of
// workers and over a network that loses.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "allreduce/bfp16_message.h"
#include "allreduce/stream.h"
#include "tests/sanitized.h"
#include "tests/unit/allreduce/bfp16_reference.h"
#include "tests/unit/allreduce/naive_router.h"

namespace pktpit::allreduce::test {
namespace {

constexpr float most = std::numeric_limits<float>::max();

struct FloatJob {
    FloatJob(uint16_t workers, uint16_t slots, uint16_t elements = 16)
        : router(float_epoch_of(0, workers, slots, elements)) {
        for (uint16_t worker = 0; worker < workers; worker++)
            streams.push_back(std::make_unique<Stream>(
                float_epoch_of(static_cast<uint8_t>(worker), workers, slots, elements)));
    }
    static Epoch float_epoch_of(uint8_t worker, uint16_t workers, uint16_t slots, uint16_t elements) {
        return {.key = 77,
                .number = 3,
                .worker = worker,
                .workers = workers,
                .slots = slots,
                .elements = elements,
                .type = PA_BFP16};
    }
    /// The sums at each worker. In place.
    std::vector<std::vector<float>> run(std::vector<std::vector<float>> vectors, const Faults& faults = {},
                                        uint32_t seed = 1) {
        std::vector<Stream*> all;
        for (size_t worker = 0; worker < streams.size(); worker++) {
            const Epoch& epoch = streams[worker]->epoch();
            streams[worker]->add(std::make_unique<Bfp16Message>(vectors[worker], vectors[worker],
                                                                epoch.elements, epoch.slots, epoch.workers));
            all.push_back(streams[worker].get());
        }
        EXPECT_TRUE(LossyNetwork(all, std::ref(router), faults, seed).run());
        EXPECT_EQ(router.broken(), "");
        return vectors;
    }
    NaiveRouter router;
    std::vector<std::unique_ptr<Stream>> streams;
};

TEST(Bfp16, the_exponent_is_the_smallest_that_leaves_room) {
    const auto exponent = [](float number, uint16_t workers) {
        return Bfp16Message::exponent_for(std::array{0.0F, -number}, Bfp16Message::largest_mantissa(workers));
    };
    EXPECT_EQ(exponent(32767, 1), 0);
    EXPECT_EQ(exponent(32767.4F, 1), 0);
    EXPECT_EQ(exponent(32767.6F, 1), 1) << "it would round to 32768";
    EXPECT_EQ(exponent(16384, 1), 0);
    EXPECT_EQ(exponent(16383, 1), -1);
    EXPECT_EQ(exponent(8191, 4), 0);
    EXPECT_EQ(exponent(8192, 4), 1);
    EXPECT_EQ(exponent(511, 64), 0);
    EXPECT_EQ(exponent(512, 64), 1);
    EXPECT_EQ(exponent(0, 4), Bfp16Message::least_exponent);
    EXPECT_EQ(exponent(std::numeric_limits<float>::denorm_min(), 4), Bfp16Message::least_exponent);
    EXPECT_EQ(exponent(most, 64), 120);
    EXPECT_EQ(exponent(std::numeric_limits<float>::infinity(), 4), Bfp16Message::not_finite);
    EXPECT_EQ(exponent(std::numeric_limits<float>::quiet_NaN(), 4), Bfp16Message::not_finite);
}

TEST(Bfp16, no_sum_of_mantissas_overflows_whatever_the_number_of_workers) {
    for (uint16_t workers = 1; workers <= 64; workers++)
        EXPECT_LE(Bfp16Message::largest_mantissa(workers) * workers, INT16_MAX);
    for (const uint16_t workers : std::to_array<uint16_t>({1, 2, 3, 5, 16, 63, 64})) {
        SCOPED_TRACE(workers);
        const std::vector<float> ones(40, 1.0F), largest(40, most), negative(40, -most);
        FloatJob job(workers, 2);
        const auto sums = job.run(std::vector(workers, ones));
        EXPECT_NEAR(sums[0][0], workers, workers * 0.5 / Bfp16Message::largest_mantissa(workers));
        EXPECT_GT(job.run(std::vector(workers, largest))[0][39], most / 2);
        EXPECT_LT(job.run(std::vector(workers, negative))[0][39], -most / 2);
    }
}

TEST(Bfp16, sums_are_those_of_the_definition_and_the_same_bits_at_each_worker) {
    pktpit::test::Sparing sparing;
    for (uint32_t seed = 1; seed <= 40; seed++) {
        if (sparing.skips()) continue;
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const auto workers = static_cast<uint16_t>(seed % 10 == 0 ? 64 : 1 + random() % 8);
        const auto slots = static_cast<uint16_t>(1U << random() % 6);
        FloatJob job(workers, slots);
        for (int message = 0; message < 3; message++) {
            const size_t length = message == 0 ? random() % 20 : random() % 2000;
            std::vector<std::vector<float>> in;
            for (uint16_t worker = 0; worker < workers; worker++)
                in.push_back(any_floats(length, 16, seed % 2 == 0, random));
            const auto sum = bfp16_sum(in, 16);
            const auto got = job.run(in, {.loss = 0.01 * (seed % 20), .duplicates = 0.05, .late = 0.1}, seed);
            for (const auto& one : got)
                ASSERT_TRUE(same_bits(one, sum));
        }
    }
}

// The rounding of each worker is half of the last place of the common exponent at most.
TEST(Bfp16, the_error_is_bounded_by_the_largest_of_the_chunk) {
    std::mt19937 random(9);
    std::uniform_real_distribution<float> share(-1, 1);
    constexpr uint16_t workers = 4;
    std::vector<std::vector<float>> in(workers, std::vector<float>(4000));
    for (auto& vector : in)
        for (float& one : vector)
            one = share(random);
    const auto sums = FloatJob(workers, 8).run(in)[0];
    double worst = 0;
    for (size_t i = 0; i < sums.size(); i++) {
        double exact = 0;
        for (const auto& vector : in)
            exact += vector[i];
        worst = std::max(worst, std::abs(exact - sums[i]));
    }
    EXPECT_LE(worst, workers * 0.5 / 4095) << "12 bits below 1";
    EXPECT_GT(worst, 0.1 / 4095) << "what is rounded cannot be exact";
}

TEST(Bfp16, a_chunk_with_what_is_no_number_is_nan_at_all_workers_and_no_other) {
    std::vector<std::vector<float>> in(3, std::vector<float>(48, 1.0F));
    in[1][20] = std::numeric_limits<float>::infinity();
    for (const auto& sums : FloatJob(3, 4).run(in))
        for (size_t i = 0; i < sums.size(); i++)
            EXPECT_EQ(std::isnan(sums[i]), i >= 16 && i < 32) << i;
}

}  // namespace
}  // namespace pktpit::allreduce::test
