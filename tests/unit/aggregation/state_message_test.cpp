// SPDX-License-Identifier: BSD-3-Clause
#include "router/aggregation/state_message.h"

#include <gtest/gtest.h>

#include <cstring>

namespace pktpit::router {
namespace {

std::vector<uint8_t> message(uint8_t kind, size_t bytes = sizeof(pa_header) + sizeof(pa_join),
                             uint64_t incarnation = 7, uint8_t worker = 5) {
    pa_header header{PA_MAGIC, kind, 0, 0, 0x1122334455667788, 9, 0, 0, worker, 0};
    std::vector<uint8_t> datagram(sizeof header + sizeof incarnation);
    std::memcpy(datagram.data(), &header, sizeof header);
    std::memcpy(datagram.data() + sizeof header, &incarnation, sizeof incarnation);
    datagram.resize(bytes);
    return datagram;
}

TEST(StateMessage, joins_and_signs_of_life_are_read) {
    const auto join = read_worker_message(message(PA_JOIN));
    ASSERT_TRUE(join);
    EXPECT_EQ(join->kind, PA_JOIN);
    EXPECT_EQ(join->key, 0x1122334455667788U);
    EXPECT_EQ(join->epoch, 9);
    EXPECT_EQ(join->worker, 5);
    EXPECT_EQ(join->incarnation, 7U);
    EXPECT_TRUE(read_worker_message(message(PA_ALIVE, sizeof(pa_header))));
    EXPECT_TRUE(read_worker_message(message(PA_LEAVE, sizeof(pa_header))));
}

TEST(StateMessage, others_are_not) {
    for (size_t bytes = 0; bytes < sizeof(pa_header) + sizeof(pa_join); bytes++)
        EXPECT_FALSE(read_worker_message(message(PA_JOIN, bytes))) << bytes;
    for (const uint8_t kind : {PA_ADD, PA_RESULT, PA_STATE})
        EXPECT_FALSE(read_worker_message(message(kind)));
    EXPECT_FALSE(read_worker_message(message(0)));
    EXPECT_FALSE(read_worker_message(message(PA_JOIN, 32, 0)));
    EXPECT_FALSE(read_worker_message(message(PA_ALIVE, 32, 7, 64)));
    auto other = message(PA_ALIVE);
    other[0] ^= 1;
    EXPECT_FALSE(read_worker_message(other));
}

TEST(StateMessage, the_answer_names_whom_it_is_for) {
    pa_state state{};
    state.workers = 4;
    const auto datagram = write_state(3, 77, 2, state);
    ASSERT_EQ(datagram.size(), sizeof(pa_header) + sizeof(pa_state));
    pa_header header{};
    std::memcpy(&header, datagram.data(), sizeof header);
    EXPECT_EQ(header.kind, PA_STATE);
    EXPECT_EQ(header.key, 3U);
    EXPECT_EQ(header.epoch, 77);
    EXPECT_EQ(header.worker, 2);
}

}  // namespace
}  // namespace pktpit::router
