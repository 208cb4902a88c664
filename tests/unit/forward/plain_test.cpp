// SPDX-License-Identifier: BSD-3-Clause
#include "router/forward/plain.h"

#include <gtest/gtest.h>

#include "tests/differential/random_traffic.h"
#include "tests/unit/forward/heap_image.h"
#include "tests/unit/forward/plain_rig.h"
#include "tests/unit/forward/vectors.h"

namespace pktpit::router::test {
namespace {

class Plain : public testing::TestWithParam<fib::CpuVariant> {
  protected:
    Plain() { fill_test_router(image.image(), image.base()); }
    /// Batches of every size, in the order given.
    static void run(PlainRig& rig, std::span<const PlainFrame> frames) {
        for (size_t begin = 0, size = 0, turn = 0; begin < frames.size(); begin += size, turn++) {
            size = std::min(1 + turn * 7 % PlainBatch::most, frames.size() - begin);
            ASSERT_EQ(rig.difference(frames.subspan(begin, size)), "") << "from frame " << begin;
        }
    }
    bool is_plain(const PlainFrame& frame) {
        PlainRig rig(image.view(), GetParam());
        EXPECT_EQ(rig.difference({&frame, 1}), "");
        return rig.plain == 1;
    }
    HeapImage image;
};

INSTANTIATE_TEST_SUITE_P(Variant, Plain, testing::ValuesIn(cpu_variants()),
                         [](const auto& variant) { return std::string(fib::to_string(variant.param)); });

TEST_P(Plain, every_vector_alone_and_among_others_is_as_the_long_way_has_it) {
    std::vector<PlainFrame> frames;
    const auto vectors = all_vectors();
    for (size_t i = 0; i < vectors.size() * 5; i++) {
        const Vector& vector = vectors[i * 7 % vectors.size()];
        frames.push_back(plain_frame(vector.port, vector.in));
        frames.back().checksum_good = i % 3 == 0;
        frames.back().vetoed = i % 11 == 0;
    }
    PlainRig rig(image.view(), GetParam());
    run(rig, frames);
    EXPECT_GE(rig.plain, 20U);
}

// Packets of one next hop are decided about together.
TEST_P(Plain, a_batch_of_one_vector_is_as_the_long_way_has_it) {
    PlainRig rig(image.view(), GetParam());
    for (const Vector& vector : all_vectors()) {
        const std::vector<PlainFrame> frames(PlainBatch::most, plain_frame(vector.port, vector.in));
        ASSERT_EQ(rig.difference(frames), "") << vector.name;
    }
    EXPECT_GE(rig.plain, 20U * PlainBatch::most);
}

TEST_P(Plain, batches_to_few_destinations_are_as_the_long_way_has_them) {
    for (uint64_t seed = 1; seed <= 4; seed++) {
        pktpit::test::Random random(seed);
        HeapImage random_image(pktpit::test::random_capacity());
        const auto fib = pktpit::test::fill_randomly(random_image.image(), random_image.base(), random);
        PlainRig rig(random_image.view(), GetParam());
        std::vector<PlainFrame> usual, others;  // plain alone, and not
        while (usual.size() < 40) {
            const auto made = pktpit::test::random_frame(fib, random);
            const PlainFrame frame = plain_frame(made.port, made.bytes);
            PlainRig alone(random_image.view(), GetParam());
            ASSERT_EQ(alone.difference({&frame, 1}), "");
            (alone.plain == 1 ? usual : others).push_back(frame);
        }
        size_t plain = 0;
        for (int batch = 0; batch < 200; batch++) {
            std::vector<std::pair<const PlainFrame*, bool>> kinds;
            for (uint32_t kind = random.below(6) + 1; kind != 0; kind--) {
                const bool is_usual = !random.one_in(8);
                kinds.emplace_back(&random.pick(is_usual ? usual : others), is_usual);
            }
            std::vector<PlainFrame> frames;
            while (frames.size() < PlainBatch::most) {
                const auto [frame, is_plain] = random.pick(kinds);
                frames.push_back(*frame);
                plain += is_plain ? 1 : 0;
            }
            std::ranges::stable_sort(frames, {}, &PlainFrame::port);
            ASSERT_EQ(rig.difference(frames), "") << "seed " << seed << ", batch " << batch;
            ASSERT_EQ(rig.plain, plain) << "seed " << seed << ", batch " << batch;
        }
    }
}

TEST_P(Plain, random_packets_of_random_tables_are_as_the_long_way_has_them) {
    size_t plain = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        pktpit::test::Random random(seed);
        HeapImage random_image(pktpit::test::random_capacity());
        const auto fib = pktpit::test::fill_randomly(random_image.image(), random_image.base(), random,
                                                     seed % 2 == 0 ? pktpit::test::random_tables : 1);
        std::vector<PlainFrame> frames;
        for (int i = 0; i < 6'000; i++) {
            const auto made = pktpit::test::random_frame(fib, random);
            frames.push_back(plain_frame(made.port, made.bytes));
            frames.back().checksum_good = random.one_in(8);
        }
        // Ports in runs, as they come.
        for (size_t begin = 0; begin + 16 < frames.size(); begin += 16)
            std::stable_sort(frames.begin() + static_cast<long>(begin),
                             frames.begin() + static_cast<long>(begin + 16),
                             [](const PlainFrame& a, const PlainFrame& b) { return a.port < b.port; });
        PlainRig rig(random_image.view(), GetParam());
        run(rig, frames);
        plain += rig.plain;
    }
    EXPECT_GE(plain, 500U);
}

// Each byte that is looked at, and all it can be: with the checksum that the sender would compute, and with
// the one that was there.
TEST_P(Plain, no_byte_of_a_plain_header_can_be_anything_else_and_be_taken_for_it) {
    const std::array bases{frame(arriving, Ipv4{}), frame(arriving, Ipv4{.payload = transport(1)}),
                           frame(arriving, Ipv6{}), frame(arriving, Ipv4{.destination = "10.14.0.1"}),
                           frame(arriving, Ipv6{.destination = "2001:db8:e::1"})};
    PlainRig rig(image.view(), GetParam());
    std::vector<PlainFrame> frames;
    for (const Buffer& base : bases) {
        ASSERT_TRUE(is_plain(plain_frame(1, base)));
        const bool ipv4 = base[14] >> 4 == 4;
        for (size_t at = 0; at < (ipv4 ? 34U : 54U); at++)
            for (unsigned value = 0; value < 256; value++)
                for (const bool anew : {true, false}) {
                    Buffer changed = base;
                    changed[at] = static_cast<uint8_t>(value);
                    if (ipv4 && anew) {
                        changed[24] = changed[25] = 0;
                        const uint16_t sum = checksum_of(&changed[14], 20);
                        changed[24] = static_cast<uint8_t>(sum >> 8);
                        changed[25] = static_cast<uint8_t>(sum);
                    }
                    frames.push_back(plain_frame(1, changed));
                }
    }
    run(rig, frames);
    EXPECT_GE(rig.plain, frames.size() / 10);
}

TEST_P(Plain, what_is_cut_short_or_has_something_behind_it_is_as_the_long_way_has_it) {
    PlainRig rig(image.view(), GetParam());
    std::vector<PlainFrame> frames;
    for (size_t payload = 0; payload < 60; payload++)
        for (const Buffer& whole : {frame(arriving, Ipv4{.payload = Buffer(payload)}),
                                    frame(arriving, Ipv6{.payload = Buffer(payload)})})
            for (size_t length = 0; length < whole.size() + 50; length++) {
                Buffer part = whole;
                part.resize(length);
                frames.push_back(plain_frame(1, part));
                // A NIC that splits headers off.
                if (length > 34) {
                    part.resize(34 + length % 21);
                    frames.push_back(
                        {1, cut(part, std::min(part.size(), length)), static_cast<uint32_t>(length)});
                }
            }
    run(rig, frames);
    EXPECT_GE(rig.plain, 500U);
}

TEST_P(Plain, a_packet_of_the_mtu_is_plain_and_one_byte_more_is_not) {
    const auto of = [](size_t packet) {
        return plain_frame(1,
                           frame(arriving, Ipv4{.destination = "10.13.0.1", .payload = Buffer(packet - 20)}));
    };
    EXPECT_TRUE(is_plain(of(600)));
    EXPECT_FALSE(is_plain(of(601)));
}

TEST_P(Plain, among_many_to_one_next_hop_those_that_are_too_long_are_found) {
    PlainRig rig(image.view(), GetParam());
    std::vector<PlainFrame> frames;
    for (size_t i = 0; i < PlainBatch::most; i++)
        frames.push_back(plain_frame(
            1, frame(arriving, Ipv4{.destination = "10.13.0.1", .payload = Buffer(580 + (i % 9 == 0))})));
    ASSERT_EQ(rig.difference(frames), "");
    EXPECT_EQ(rig.plain, PlainBatch::most - 8);
}

TEST_P(Plain, what_the_usual_router_gets_is_plain) {
    for (const Buffer& in :
         {frame(arriving, Ipv4{}), frame(arriving, Ipv4{.payload = {}}) /* padded */,
          frame(arriving, Ipv4{.ttl = 2}), frame(arriving, Ipv4{.payload = transport(1480)}),
          frame(arriving, Ipv4{.destination = "10.14.3.1"}) /* one of four next hops */,
          frame(arriving, Ipv4{.destination = "10.1.2.128"}), frame(arriving, Ipv6{}),
          frame(arriving, Ipv6{.destination = "2001:db8:e::5"}),
          frame(arriving, Ipv6{.hop_limit = 2, .flow_label = 77})})
        EXPECT_TRUE(is_plain(plain_frame(1, in)));
}

TEST_P(Plain, a_batch_reads_nothing_of_the_one_before) {
    PlainRig rig(image.view(), GetParam());
    const PlainFrame whole = plain_frame(1, frame(arriving, Ipv4{}));
    const std::vector<PlainFrame> many(64, whole);
    for (size_t size = 64; size != 0; size--)  // sanitizers see what is freed
        ASSERT_EQ(rig.difference(std::span(many).first(size)), "");
    EXPECT_EQ(rig.plain, 64U * 65 / 2);
}

// Vectors that begin with a later run end behind the batch.
TEST_P(Plain, a_batch_of_several_ports_reads_nothing_of_the_one_before) {
    PlainRig rig(image.view(), GetParam());
    for (size_t size = 64; size != 0; size--) {
        std::vector<PlainFrame> frames(size, plain_frame(1, frame(arriving, Ipv4{})));
        for (size_t i = 0; i < size; i++)
            if (i % 7 > 4) frames[i] = plain_frame(2, frame(arriving, Ipv6{}));
        ASSERT_EQ(rig.difference(frames), "") << size;
    }
    EXPECT_GE(rig.plain, 64U * 65 / 2 * 5 / 7);
}

}  // namespace
}  // namespace pktpit::router::test
