// SPDX-License-Identifier: BSD-3-Clause
// No address outside registered windows, for no place in the ring; nothing malformed; no doorbell that may be
// seen before what it tells of.
#include "offload/peer_ops/verifier.h"

#include <gtest/gtest.h>

#include <functional>

#include "tests/unit/peer_ops/test_ring.h"

namespace pktpit::offload {
namespace {

using test::egress;
using test::own;

TEST(PeerVerifier, AcceptsWhatTheCompilerMakes) {
    for (const bool relaxed : {false, true})
        for (const bool each : {false, true}) {
            const auto program = compile_egress(test::ring, 0, 1, {true, relaxed, each});
            const auto good = verify(program, test::windows());
            EXPECT_TRUE(good) << good.error().to_string();
        }
}

TEST(PeerVerifier, RefusesAnEgressThatIsNotRegistered) {
    PeerRing elsewhere = test::ring;
    elsewhere.slots += 64 * 2048;
    const auto good = verify(compile_egress(elsewhere, 0, 1), test::windows());
    ASSERT_FALSE(good);
    EXPECT_EQ(good.error().where, "operation 1: copy block");
    EXPECT_NE(good.error().message.find("is in no registered window"), std::string::npos);
    EXPECT_NE(good.error().expected.find("landing from 0x20000000"), std::string::npos);
}

TEST(PeerVerifier, RefusesARingThatIsLargerThanItsWindow) {
    PeerRing larger = test::ring;
    larger.entries = 128;
    EXPECT_FALSE(verify(compile_egress(larger, 0, 1), test::windows()));
}

TEST(PeerVerifier, WantsAFenceBetweenRelaxedWritesAndTheirDoorbell) {
    const auto unfenced = compile_egress(test::ring, 0, 1, {.fence = false, .relaxed = true});
    const auto good = verify(unfenced, test::windows());
    ASSERT_FALSE(good);
    EXPECT_NE(good.error().message.find("before the writes"), std::string::npos);
    EXPECT_TRUE(verify(unfenced, test::windows(), {.need_fences = false}));
    EXPECT_TRUE(verify(compile_egress(test::ring, 0, 1, {.fence = false, .relaxed = false}), test::windows()))
        << "posted writes stay in order";
}

struct Bad {
    const char* name;
    PeerOperation operation;
    bool of_packet;
    const char* says;
};
class BadOperation : public testing::TestWithParam<Bad> {};

TEST_P(BadOperation, IsRefused) {
    PeerProgram program{1, 0, 0, {GetParam().operation}};
    if (GetParam().of_packet) program.commit_at = 1;
    const auto good = verify(program, test::windows(), {.most_copied = 2048});
    ASSERT_FALSE(good);
    EXPECT_NE(good.error().message.find(GetParam().says), std::string::npos) << good.error().to_string();
}

using Op = PeerOpcode;
using From = PeerOperand;
INSTANTIATE_TEST_SUITE_P(
    All, BadOperation,
    testing::Values(
        Bad{"unknown_window",
            {Op::store_dword, From::immediate, false, 0, 0x3000, 1},
            false,
            "no registered"},
        Bad{"across_the_end",
            {Op::copy_block, From::immediate, false, 16, egress + 64 * 2048 - 8, own},
            false,
            "no registered"},
        Bad{"last_place",
            {Op::store_qword, From::immediate, false, 0, egress + 8, 0, 2048, 63 * 2 + 1},
            true,
            "no registered"},
        Bad{"wraps",
            {Op::store_qword, From::immediate, false, 0, ~uint64_t{0} - 7, 0, 8, 1},
            false,
            "beyond the end"},
        Bad{"store_to_doorbell",
            {Op::store_qword, From::immediate, false, 0, egress + 0x50000, 1},
            false,
            "window doorbell"},
        Bad{"doorbell_in_ring", {Op::doorbell, From::sequence, false, 0, egress, 1}, false, "window landing"},
        Bad{"poll_others", {Op::poll_geq, From::immediate, false, 0, egress, 1}, false, "window landing"},
        Bad{"write_own", {Op::store_dword, From::immediate, false, 0, own, 1}, false, "window own slots"},
        Bad{"unaligned", {Op::store_dword, From::immediate, false, 0, egress + 2, 1}, false, "not aligned"},
        Bad{"unaligned_stride",
            {Op::store_qword, From::immediate, false, 0, egress, 1, 12, 1},
            false,
            "not aligned"},
        Bad{"odd_mask", {Op::store_qword, From::immediate, false, 0, egress, 1, 8, 2}, false, "mask 2"},
        Bad{"source_of_others",
            {Op::copy_block, From::immediate, false, 16, egress, egress},
            false,
            "not the device's"},
        Bad{"no_bytes", {Op::copy_block, From::packet, false, 0, egress, 0}, true, "0 bytes"},
        Bad{"too_many_bytes", {Op::copy_block, From::packet, false, 4096, egress, 0}, true, "4096 bytes"},
        Bad{"frame_in_commit", {Op::copy_block, From::packet, false, 64, egress, 0}, false, "commit section"},
        Bad{"frame_as_value", {Op::store_dword, From::packet, false, 0, egress, 0}, true, "packet's bytes"},
        Bad{"frame_and_source",
            {Op::copy_block, From::packet, false, 64, egress, own},
            true,
            "source beside"},
        Bad{"copy_of_sequence", {Op::copy_block, From::sequence, false, 64, egress, own}, true, "sequence"},
        Bad{"length_of_store", {Op::store_dword, From::immediate, false, 4, egress, 0}, false, "length"},
        Bad{"relaxed_poll", {Op::poll_and, From::immediate, true, 0, own, 1}, false, "relaxed"},
        Bad{"fence_with_address",
            {Op::fence, From::immediate, false, 0, egress, 0},
            false,
            "has an address"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(PeerVerifier, RefusesAnEmptyProgramAndALongOne) {
    EXPECT_FALSE(verify({}, test::windows()));
    PeerProgram program;
    program.operations.resize(most_peer_operations + 1);
    EXPECT_FALSE(verify(program, test::windows()));
}

TEST(PeerWindows, DoNotOverlapNorWrap) {
    PeerWindows windows;
    EXPECT_TRUE(windows.add({100, 100, true, false, false, false, "a"}));
    for (const auto& [base, bytes] :
         {std::pair<uint64_t, uint64_t>{50, 51}, {100, 1}, {199, 1}, {0, 1000}, {~uint64_t{0}, 2}, {300, 0}})
        EXPECT_FALSE(windows.add({base, bytes, true, false, false, false, "b"})) << base;
    EXPECT_TRUE(windows.add({200, 10, true, false, false, false, "c"}));
    EXPECT_TRUE(windows.add({~uint64_t{0}, 1, true, false, false, false, "last byte"}));
    EXPECT_EQ(windows.find(150, 50)->name, "a");
    EXPECT_EQ(windows.find(150, 51), nullptr) << "no access is in two windows";
    EXPECT_EQ(windows.find(0, 1), nullptr);
    EXPECT_EQ(windows.find(~uint64_t{0}, 2), nullptr);
    EXPECT_TRUE(windows.remove(100));
    EXPECT_EQ(windows.find(150, 1), nullptr);
    EXPECT_FALSE(windows.add({10, 10, false, true, true, false, "both"}));
}

}  // namespace
}  // namespace pktpit::offload
