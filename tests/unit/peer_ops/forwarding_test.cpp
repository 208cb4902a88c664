// SPDX-License-Identifier: BSD-3-Clause
// A forwarding peer's programs: what the compiler makes is accepted by a device that forwards, and by no
// other; what reaches too far, or says of a packet what cannot be, is refused.
#include "offload/peer_ops/forwarding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "offload/peer_ops/codec.h"
#include "offload/peer_ops/verifier.h"
#include "tests/unit/peer_ops/test_nic.h"

namespace pktpit::offload {
namespace {

/// By a device that forwards.
Result<void> verified(const PeerProgram& program) {
    return verify(program, test::forwarding_windows(), {.forwards = true});
}

std::vector<PeerProgram> all_programs() {
    return {compile_receive(test::nic, test::image, test::image_bytes, 3, 7),
            compile_refill(test::nic, 3, 7),
            compile_transmit(test::nic, 3, 7),
            compile_sent(test::nic, 3, 7),
            compile_take(test::queue, 7),
            compile_hand_over(test::queue, 7)};
}

TEST(PeerForwarding, ItsProgramsAreAcceptedAndSurviveBeingWritten) {
    for (const PeerProgram& made : all_programs()) {
        const auto good = verified(made);
        EXPECT_TRUE(good) << good.error().to_string();
        EXPECT_EQ(decode_peer_program(encode(made)).value(), made);
        EXPECT_EQ(made.generation, 7U);
    }
}

TEST(PeerForwarding, ADeviceThatOnlyCopiesTakesNone) {
    const auto programs = all_programs();
    for (const size_t which : {0, 1, 2, 4}) {
        const auto good = verify(programs[which], test::forwarding_windows());
        ASSERT_FALSE(good) << which;
        EXPECT_NE(good.error().message.find("not for this device"), std::string::npos);
    }
}

TEST(PeerForwarding, ABatchHasOneDoorbell) {
    for (const PeerProgram& made : all_programs()) {
        const auto doorbell = [](const PeerOperation& one) { return is_peer_doorbell(one.opcode); };
        const auto commit = made.operations.begin() + made.commit_at;
        EXPECT_EQ(std::count_if(made.operations.begin(), commit, doorbell), 0);
        EXPECT_LE(std::count_if(commit, made.operations.end(), doorbell), 1);
    }
}

TEST(PeerForwarding, EachAddressBeyondItsWindowIsRefused) {
    // Every operation of every program, moved by a whole ring: no window has it then.
    for (const PeerProgram& made : all_programs())
        for (size_t i = 0; i < made.operations.size(); i++) {
            PeerProgram moved = made;
            if (moved.operations[i].address == 0) continue;
            moved.operations[i].address += 0x1000'0000;
            const auto good = verified(moved);
            ASSERT_FALSE(good) << i;
            EXPECT_EQ(good.error().where, "operation " + std::to_string(i) + ": " +
                                              std::string(to_string(moved.operations[i].opcode)));
        }
    PeerNic larger = test::nic;
    larger.rx_entries *= 2;
    EXPECT_FALSE(verified(compile_receive(larger, test::image, test::image_bytes, 0, 1)));
    EXPECT_FALSE(verified(compile_refill(larger, 0, 1)));
    larger = test::nic;
    larger.tx_pairs *= 2;
    EXPECT_FALSE(verified(compile_transmit(larger, 0, 1)));
    EXPECT_FALSE(verified(compile_receive(test::nic, test::image, test::image_bytes + 1, 0, 1)));
}

struct Change {
    const char* name;
    size_t program;
    std::function<void(PeerProgram&)> change;
    const char* says;
};
class ChangedProgram : public testing::TestWithParam<Change> {};

TEST_P(ChangedProgram, IsRefused) {
    PeerProgram made = all_programs().at(GetParam().program);
    GetParam().change(made);
    const auto good = verified(made);
    ASSERT_FALSE(good);
    EXPECT_NE(good.error().to_string().find(GetParam().says), std::string::npos) << good.error().to_string();
}

void erase(PeerProgram& program, size_t at) {
    program.operations.erase(program.operations.begin() + static_cast<std::ptrdiff_t>(at));
    program.commit_at--;
}

INSTANTIATE_TEST_SUITE_P(
    All, ChangedProgram,
    testing::Values(
        Change{"no_receive", 0, [](auto& p) { erase(p, 1); }, "of no frame"},
        Change{"no_header", 0, [](auto& p) { erase(p, 2); }, "of no header"},
        Change{"no_look_up", 0, [](auto& p) { erase(p, 4); }, "was not looked up"},
        Change{"received_twice", 0, [](auto& p) { p.operations[3] = p.operations[1]; }, "a second frame"},
        Change{"in_commit", 0, [](auto& p) { p.commit_at = 5; }, "in the commit section"},
        Change{"read_only_header", 0, [](auto& p) { p.operations[2].address = test::nic.payloads; },
               "may be written"},
        Change{"short_descriptor", 0, [](auto& p) { p.operations[1].bytes = 16; }, "16 bytes"},
        Change{"odd_header", 0, [](auto& p) { p.operations[2].address += 1; }, "not aligned"},
        Change{"image_a_packet", 0, [](auto& p) { p.operations[4].stride = 64; }, "one image"},
        Change{"rewrite_somewhere", 0, [](auto& p) { p.operations[5].address = test::nic.cells; },
               "beside its opcode"},
        Change{"relaxed_step", 0, [](auto& p) { p.operations[3].relaxed = true; }, "has a value"},
        Change{"odd_places", 0, [](auto& p) { p.operations[2].mask = 2; }, "mask 2"},
        Change{"other_template", 1, [](auto& p) { p.operations[0].value = test::nic.rx_templates + 32; },
               "is not the device's to read"},
        Change{"tail_is_no_ring", 1, [](auto& p) { p.operations[2].mask = 0; }, "no tail"},
        Change{"tail_in_ring", 1, [](auto& p) { p.operations[2].address = test::nic.rx_ring; }, "doorbells"},
        Change{"piece_in_commit", 2, [](auto& p) { p.commit_at = 3; }, "commit section"},
        Change{"piece_as_dword", 2, [](auto& p) { p.operations[1].opcode = PeerOpcode::store_dword; },
               "only that does"},
        Change{"unfenced_tail", 2,
               [](auto& p) {
                   p.operations[4].relaxed = true;
                   p.operations.erase(p.operations.begin() + p.commit_at);
               },
               "before the writes"},
        Change{"place_as_value", 2, [](auto& p) { p.operations[1].operand = PeerOperand::place; },
               "from a place"}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace pktpit::offload
