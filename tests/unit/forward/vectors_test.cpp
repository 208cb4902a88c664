// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/forward/vectors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "router/forward/batch.h"
#include "tests/unit/fib/cpu_variants.h"
#include "tests/unit/forward/heap_image.h"

namespace pktpit::router::test {
namespace {

class Vectors : public testing::Test {
  protected:
    Vectors() { fill_test_router(image.image(), image.base()); }
    HeapImage image;
};

TEST_F(Vectors, EveryFrameGetsItsVerdictAndItsBytes) {
    for (const Vector& vector : all_vectors()) {
        SCOPED_TRACE(vector.name);
        const Decision decision = forward_frame(image.view(), vector.port, vector.in);
        EXPECT_STREQ(name_of(decision.verdict), name_of(vector.verdict));
        if (vector.verdict == PP_FORWARDED && decision.verdict == PP_FORWARDED) {
            EXPECT_EQ(egress_frame(decision, vector.in), vector.out);
            EXPECT_EQ(decision.egress_port, vector.egress_port);
        }
        if (vector.pointer != 0) {
            EXPECT_EQ(decision.parameter_pointer, vector.pointer);
        }
        // A caller may have the whole frame at hand instead of its slice: no more of it is looked at.
        const Decision whole =
            forward(image.view(), vector.port, vector.in, static_cast<uint32_t>(vector.in.size()));
        EXPECT_STREQ(name_of(whole.verdict), name_of(vector.verdict));
    }
}

TEST_F(Vectors, ABatchDecidesAsOneByOneInEveryVariant) {
    const auto vectors = all_vectors();
    std::vector<IngressFrame> frames;
    for (size_t i = 0; i < vectors.size() * 3; i++) {
        // The families mixed, and short batches among full ones.
        const Vector& vector = vectors[i * 7 % vectors.size()];
        frames.push_back({vector.port, vector.in, static_cast<uint32_t>(vector.in.size())});
    }
    for (const auto variant : pktpit::test::cpu_variants()) {
        Forwarder forwarder(image.view(), variant);
        std::array<Decision, Forwarder::batch> decisions;
        for (size_t begin = 0, size = 0; begin < frames.size(); begin += size) {
            size = std::min(1 + begin % Forwarder::batch, frames.size() - begin);
            forwarder.forward(std::span(frames).subspan(begin, size), std::span(decisions).first(size));
            for (size_t i = 0; i < size; i++) {
                const IngressFrame& in = frames[begin + i];
                const Decision alone = forward(image.view(), in.port, in.slice, in.frame_length);
                ASSERT_STREQ(name_of(decisions[i].verdict), name_of(alone.verdict));
                EXPECT_EQ(decisions[i].adjacency, alone.adjacency);
                EXPECT_EQ(decisions[i].egress_port, alone.egress_port);
                EXPECT_EQ(decisions[i].consumed, alone.consumed);
                EXPECT_EQ(decisions[i].parameter_pointer, alone.parameter_pointer);
                EXPECT_EQ(decisions[i].header_length, alone.header_length);
                EXPECT_EQ(decisions[i].trailer, alone.trailer);
                EXPECT_TRUE(std::equal(alone.header.begin(), alone.header.begin() + alone.header_length,
                                       decisions[i].header.begin()));
            }
        }
    }
}

TEST_F(Vectors, AChecksumThatThePortHasVerifiedIsNotLookedAtAgain) {
    Forwarder forwarder(image.view());
    size_t forwarded = 0;
    for (const Vector& vector : all_vectors()) {
        if (vector.verdict != PP_FORWARDED) continue;
        Buffer broken = vector.in;
        size_t ip = 14;
        while (broken[ip - 2] == 0x81 || broken[ip - 2] == 0x88)
            ip += 4;
        if (broken[ip - 2] != 0x08) continue;
        broken[ip + 10] ^= 0x55;
        for (const bool good : {true, false}) {
            const IngressFrame in{vector.port, std::span(broken).first(std::min<size_t>(broken.size(), 128)),
                                  static_cast<uint32_t>(broken.size()), good};
            Decision decision;
            forwarder.forward({&in, 1}, {&decision, 1});
            EXPECT_STREQ(name_of(decision.verdict), name_of(good ? PP_FORWARDED : PP_DROP_IPV4_CHECKSUM))
                << vector.name;
        }
        forwarded++;
    }
    EXPECT_GE(forwarded, 10U);
}

TEST_F(Vectors, NamesAreUnique) {
    std::set<std::string> names;
    for (const Vector& vector : all_vectors())
        EXPECT_TRUE(names.insert(vector.name).second) << vector.name;
    EXPECT_GE(names.size(), 80u);
}

TEST_F(Vectors, CoverEveryVerdictThatForwardCanGive) {
    std::set<int> missing;
    for (int verdict = PP_NONE + 1; verdict < PP_VERDICT_COUNT; verdict++)
        missing.insert(verdict);
    // These two happen in the port stage only: the queue to the daemon, the room in front of a frame.
    missing.erase(PP_DROP_PUNT_FULL);
    missing.erase(PP_DROP_NO_HEADROOM);
    // And these in a dataplane that holds packets in slots.
    for (const int verdict :
         {PP_DROP_RX_ERROR, PP_DROP_NO_SLOT, PP_DROP_EGRESS_FULL, PP_DROP_MEMORY_REVOKED, PP_DROP_SPLIT_FULL,
          PP_DROP_STALE, PP_HOST_DAEMON_LOST,
          // By filters, which vectors have none of (tests/unit/filter, tests/differential).
          PP_DROP_FILTER, PP_HOST_FILTER,
          // By checks and rates, likewise (rpf_test.cpp, tests/unit/guard).
          PP_DROP_RPF, PP_DROP_POLICE, PP_DROP_HOST_ARP, PP_DROP_HOST_ICMP, PP_DROP_HOST_BGP,
          PP_DROP_HOST_OTHER,
          // Where the port stage adds (tests/differential).
          PP_AGGREGATED, PP_DROP_AGGREGATION})
        missing.erase(verdict);
    for (const Vector& vector : all_vectors())
        missing.erase(vector.verdict);
    for (const int verdict : missing)
        ADD_FAILURE() << "no vector for " << name_of(static_cast<pp_verdict>(verdict));
}

// Sanitizers see a read behind the slice, since the slice's memory ends there.
TEST_F(Vectors, NoTruncationIsReadBeyondNorForwardedUnlessWhole) {
    for (const Vector& vector : all_vectors()) {
        for (size_t bytes = 0; bytes < vector.in.size() && bytes < 160; bytes++) {
            const Buffer part = cut(vector.in, bytes);
            const Decision decision = forward_frame(image.view(), vector.port, part);
            ASSERT_NE(decision.verdict, PP_NONE) << vector.name;
            if (decision.verdict != PP_FORWARDED) continue;
            // Only link-layer padding may be missing, or a trailer.
            ASSERT_EQ(vector.verdict, PP_FORWARDED) << vector.name << " cut to " << bytes;
            const Buffer out = egress_frame(decision, part);
            const uint32_t trailer = forward_frame(image.view(), vector.port, vector.in).trailer;
            if (trailer == 0) {
                ASSERT_EQ(out, cut(vector.out, vector.out.size() - (vector.in.size() - bytes)));
            } else {
                ASSERT_GE(out.size(), vector.out.size());
                ASSERT_TRUE(std::equal(vector.out.begin(), vector.out.end(), out.begin()));
            }
        }
    }
}

TEST_F(Vectors, ADecisionSaysWhatTheSlowPathNeeds) {
    const auto decide = [this](const Ethernet& ethernet, const Ipv4& fields) {
        return forward_frame(image.view(), 1, frame(ethernet, fields));
    };
    const Decision too_big =
        decide(tagged(arriving, {{0x8100, 10}}), {.destination = "10.13.0.1", .payload = transport(900)});
    EXPECT_EQ(too_big.verdict, PP_PUNT_TOO_BIG);
    EXPECT_EQ(too_big.mtu, 600u);
    EXPECT_EQ(too_big.l3_offset, 18);
    EXPECT_EQ(too_big.ingress_interface, 11);
    EXPECT_EQ(too_big.egress_interface, 2);
    EXPECT_EQ(too_big.egress_port, 2);
    EXPECT_NE(too_big.adjacency, 0u);

    const Decision waits = decide(arriving, {.destination = "10.6.0.1"});
    EXPECT_EQ(waits.verdict, PP_PUNT_NO_NEIGHBOUR);
    EXPECT_EQ(image.image().adjacency(waits.adjacency).kind, PP_ADJ_INCOMPLETE);
    EXPECT_EQ(waits.egress_interface, 2);

    const Decision lost = decide(arriving, {.destination = "10.200.0.1"});
    EXPECT_EQ(lost.verdict, PP_PUNT_NO_ROUTE);
    EXPECT_EQ(lost.adjacency, 0u);
    EXPECT_EQ(lost.l3_offset, 14);
    EXPECT_EQ(lost.ingress_interface, 1);
}

}  // namespace
}  // namespace pktpit::router::test
