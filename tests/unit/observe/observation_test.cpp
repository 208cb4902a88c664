// SPDX-License-Identifier: BSD-3-Clause
#include "router/observe/observation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>

namespace pktpit::router {
namespace {

std::vector<uint8_t> numbered(size_t bytes, uint8_t first = 0) {
    std::vector<uint8_t> frame(bytes);
    std::iota(frame.begin(), frame.end(), first);
    return frame;
}

pp_observation head_of(const std::vector<uint8_t>& in, const std::vector<uint8_t>& end) {
    pp_observation head{};
    head.frame_length = static_cast<uint32_t>(in.size());
    head.end_length = head.frame_bytes = static_cast<uint32_t>(end.size());
    head.port = 1;
    head.egress_port = 2;
    head.verdict = PP_FORWARDED;
    head.by = PP_OBSERVED_BY_STAGE;
    head.slice_bytes = static_cast<uint16_t>(std::min<size_t>(in.size(), PP_SLICE_BYTES));
    std::memcpy(head.slice, in.data(), head.slice_bytes);
    return head;
}

std::vector<uint8_t> record_of(const pp_observation& head, const std::vector<uint8_t>& end) {
    std::vector<uint8_t> record(sizeof head + end.size());
    std::memcpy(record.data(), &head, sizeof head);
    std::ranges::copy(end, record.begin() + sizeof head);
    return record;
}

/// As it came in, with its first bytes rewritten and the header so much longer.
std::vector<uint8_t> rewritten(std::vector<uint8_t> frame, int longer) {
    if (longer > 0) frame.insert(frame.begin(), static_cast<size_t>(longer), 0xee);
    if (longer < 0) frame.erase(frame.begin(), frame.begin() - longer);
    std::fill_n(frame.begin(), 12, 0xee);
    return frame;
}

TEST(Observations, TheFrameAsItCameInIsPutTogetherAgainWhateverTheTagsDid) {
    for (const size_t bytes : {14u, 60u, 127u, 128u, 129u, 1500u})
        for (const int longer : {-8, -4, 0, 4, 8}) {
            if (longer < 0 && bytes < 60) continue;
            const auto in = numbered(bytes);
            const auto end = rewritten(in, longer);
            const auto record = record_of(head_of(in, end), end);
            const auto seen = parse_observation(record);
            ASSERT_TRUE(seen);
            EXPECT_EQ(seen->ingress(65535), in) << bytes << " " << longer;
            EXPECT_EQ(seen->ingress(64), numbered(std::min<size_t>(bytes, 64)));
            EXPECT_TRUE(std::ranges::equal(seen->frame, end));
        }
}

TEST(Observations, WhatWasCutIsKnownToItsCut) {
    const auto in = numbered(1000);
    auto end = rewritten(in, 4);
    pp_observation head = head_of(in, end);
    head.frame_bytes = 304;
    end.resize(304);
    const auto cut = record_of(head, end);
    EXPECT_EQ(parse_observation(cut)->ingress(65535), numbered(300));
    head.frame_bytes = 20;  // shorter than the slice
    end.resize(20);
    const auto shorter = record_of(head, end);
    EXPECT_EQ(parse_observation(shorter)->ingress(65535), numbered(128));
}

TEST(Observations, TheKernelsPaddingBehindARecordIsNotLookedAt) {
    const auto in = numbered(61);
    auto record = record_of(head_of(in, in), in);
    record.resize(record.size() + 7, 0xaa);
    EXPECT_EQ(parse_observation(record)->frame.size(), 61u);
}

TEST(Observations, RefusesWhatIsNoRecord) {
    const auto in = numbered(100);
    const auto with = [&](auto change) {
        pp_observation head = head_of(in, in);
        change(head);
        const auto record = record_of(head, in);
        return parse_observation(record).has_value();
    };
    EXPECT_TRUE(with([](pp_observation&) {}));
    EXPECT_FALSE(with([](pp_observation& head) { head.port = 0; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.port = PP_MAX_PORTS; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.egress_port = PP_MAX_PORTS; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.verdict = PP_NONE; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.verdict = PP_VERDICT_COUNT; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.by = 0; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.by = 3; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.slice_bytes = 0; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.slice_bytes = PP_SLICE_BYTES + 1; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.slice_bytes = 101; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.frame_bytes = 101; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.frame_bytes = head.end_length = 108; }));
    EXPECT_FALSE(with([](pp_observation& head) { head.frame_length = 120; }));
    auto record = record_of(head_of(in, in), in);
    for (const size_t bytes : {size_t{0}, size_t{1}, sizeof(pp_observation) - 1, record.size() - 1})
        EXPECT_FALSE(parse_observation(std::span(record).first(bytes)));
}

}  // namespace
}  // namespace pktpit::router
