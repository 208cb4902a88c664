// SPDX-License-Identifier: BSD-3-Clause
// post, commit, peek, poll in the order of the slides.
#include "offload/peer_ops/queue.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "offload/peer_ops/verifier.h"
#include "tests/unit/peer_ops/test_ring.h"

namespace pktpit::offload {
namespace {

PeerWorkRequest request(uint32_t i) {
    return {test::own + i * 2048, 128, 1, i};
}

size_t count(const PeerProgram& program, PeerOpcode opcode) {
    return static_cast<size_t>(std::ranges::count(program.operations, opcode, &PeerOperation::opcode));
}

TEST(PeerQueue, TwentyPostsTakeOneDoorbellAtCommit) {
    PeerQueue queue(test::ring, 2, {.fence = true, .relaxed = true});
    EXPECT_FALSE(queue.commit(1)) << "nothing is posted";
    for (uint32_t i = 0; i < 20; i++)
        ASSERT_TRUE(queue.post(request(i)));
    EXPECT_EQ(queue.committed(), 0U) << "posting rings nothing";
    const auto program = queue.commit(9);
    ASSERT_TRUE(program);
    EXPECT_EQ(program->generation, 9U);
    EXPECT_EQ(count(*program, PeerOpcode::copy_block), 20U);
    EXPECT_EQ(count(*program, PeerOpcode::store_qword), 40U);
    EXPECT_EQ(count(*program, PeerOpcode::doorbell), 1U);
    EXPECT_EQ(program->operations.back().opcode, PeerOpcode::doorbell);
    EXPECT_EQ(program->operations.back().value, 20U);
    EXPECT_TRUE(verify(*program, test::windows()));
    EXPECT_FALSE(queue.commit(9)) << "all is committed";

    PeerQueue eager(test::ring, 2, {.doorbell_for_each = true});
    for (uint32_t i = 0; i < 20; i++)
        ASSERT_TRUE(eager.post(request(i)));
    EXPECT_EQ(count(*eager.commit(1), PeerOpcode::doorbell), 20U);
}

TEST(PeerQueue, PeeksAtWhatIsCommittedAndConsumesWhatIsComplete) {
    PeerQueue queue(test::ring, 2);
    EXPECT_FALSE(queue.peek(1, 1)) << "nothing is committed";
    for (uint32_t lap = 0; lap < 5; lap++) {
        for (uint32_t i = 0; i < 64; i++)
            ASSERT_TRUE(queue.post(request(i)));
        EXPECT_FALSE(queue.post(request(0))) << "the ring is full";
        ASSERT_TRUE(queue.commit(1));
        const auto peek = queue.peek(64, 1);
        ASSERT_TRUE(peek);
        EXPECT_EQ(peek->operations.size(), 1U);
        EXPECT_EQ(peek->operations[0].opcode, PeerOpcode::poll_geq);
        EXPECT_EQ(peek->operations[0].value, (lap + 1) * 64U);
        EXPECT_TRUE(verify(*peek, test::windows()));
        EXPECT_FALSE(queue.peek(65, 1));
        EXPECT_EQ(queue.poll(lap * 64 + 30).value(), 30U);
        EXPECT_EQ(queue.poll(lap * 64 + 30).value(), 0U);
        EXPECT_FALSE(queue.poll(lap * 64 + 65)) << "more than there were";
        EXPECT_EQ(queue.poll((lap + 1) * 64).value(), 34U);
    }
    EXPECT_EQ(queue.consumed(), 320U);
}

TEST(PeerQueue, RefusesWhatNoSlotHolds) {
    PeerQueue queue(test::ring, 2);
    EXPECT_FALSE(queue.post({test::own, 0, 0, 0}));
    EXPECT_FALSE(queue.post({test::own, 2033, 0, 0}));
}

}  // namespace
}  // namespace pktpit::offload
