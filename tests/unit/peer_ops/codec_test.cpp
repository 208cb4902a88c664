// SPDX-License-Identifier: BSD-3-Clause
// Programs as bytes: what was written is what is read, and nothing else is read at all.
#include "offload/peer_ops/codec.h"

#include <gtest/gtest.h>

#include "tests/unit/peer_ops/test_ring.h"

namespace pktpit::offload {
namespace {

const PeerProgram program = compile_egress(test::ring, 3, 7, {.fence = true, .relaxed = true});

TEST(PeerCodec, ReadsWhatItWrote) {
    const auto bytes = encode(program);
    EXPECT_EQ(bytes.size(), peer_header_bytes + 4 * peer_operation_bytes);
    const auto read = decode_peer_program(bytes);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(*read, program);
}

TEST(PeerCodec, RefusesEveryLengthButTheRightOne) {
    auto bytes = encode(program);
    for (size_t length = 0; length < bytes.size(); length++)
        EXPECT_FALSE(decode_peer_program(std::span(bytes).first(length))) << length;
    bytes.push_back(std::byte{0});
    EXPECT_FALSE(decode_peer_program(bytes));
}

struct Damage {
    size_t offset;
    unsigned value;
    const char* where;
};
class DamagedProgram : public testing::TestWithParam<Damage> {};

TEST_P(DamagedProgram, IsRefusedAndSaysWhere) {
    auto bytes = encode(program);
    bytes[GetParam().offset] = static_cast<std::byte>(GetParam().value);
    const auto read = decode_peer_program(bytes);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().where, GetParam().where);
    EXPECT_FALSE(read.error().message.empty());
}

INSTANTIATE_TEST_SUITE_P(All, DamagedProgram,
                         testing::Values(Damage{0, 0, "header"}, Damage{4, 2, "header"},
                                         Damage{6, 0, "header"}, Damage{7, 2, "header"},
                                         Damage{18, 5, "header"}, Damage{20, 1, "header"},
                                         Damage{24, 0, "operation 0"}, Damage{24, 16, "operation 0"},
                                         Damage{25, 8, "operation 0"}, Damage{26, 2, "operation 0"},
                                         Damage{27, 1, "operation 0"}, Damage{24 + 32, 99, "operation 1"}));

}  // namespace
}  // namespace pktpit::offload
