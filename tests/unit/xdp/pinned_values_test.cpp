// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/pinned_values.h"

#include <gtest/gtest.h>

#include <cstring>

#include "router/xdp/punt_record.h"

namespace pktpit::router {
namespace {

TEST(PinnedValues, whose_a_counter_is_is_believed_only_if_it_could_be_forgotten_again) {
    const CountedRoute route{Prefix::parse("192.0.2.0/24").value(), fib::RouteSource::cli, 7};
    const pp_counted_route key = key_of(route);
    ASSERT_EQ(route_of(key), route);
    const auto changed = [&](auto change) {
        pp_counted_route other = key;
        change(other);
        return route_of(other);
    };
    EXPECT_FALSE(changed([](auto& one) { one.family = 9; }));
    EXPECT_FALSE(changed([](auto& one) { one.length = 33; }));
    EXPECT_FALSE(changed([](auto& one) { one.length = 8; })) << "host bits";
    EXPECT_FALSE(changed([](auto& one) { one.source = fib::route_source_count; }));
    EXPECT_FALSE(changed([](auto& one) { one.address[15] = 1; })) << "behind an IPv4 address";
    EXPECT_FALSE(changed([](auto& one) { one.reserved = 1; }));
    EXPECT_TRUE(changed([](auto& one) { one.table = 8; }));
}

TEST(PinnedValues, slots_of_a_group_are_within_all_that_there_are) {
    pp_sum_group group{};
    group.first_slot = 64;
    group.slots = 128;
    EXPECT_EQ(slots_of(group).first, 64U);
    EXPECT_EQ(slots_of(group).count, 128U);
    group.slots = UINT16_MAX;
    EXPECT_EQ(slots_of(group).first, 0U);
    EXPECT_EQ(slots_of(group).count, PP_SUM_SLOTS);
    group.slots = 16;
    group.first_slot = UINT32_MAX;
    EXPECT_EQ(slots_of(group).first + slots_of(group).count, PP_SUM_SLOTS);
}

TEST(PuntRecord, is_refused_where_no_port_stage_can_have_written_it) {
    std::vector<uint8_t> record(sizeof(pp_punt) + 64);
    const auto with = [&](pp_punt head) {
        std::memcpy(record.data(), &head, sizeof head);
        return read_punt(record);
    };
    const auto good = with({3, PP_PUNT_TTL_EXPIRED, 0, 60});
    ASSERT_TRUE(good);
    EXPECT_EQ(good->head.port, 3);
    EXPECT_EQ(good->frame.size(), 60U) << "the kernel pads";
    EXPECT_EQ(good->frame.data(), record.data() + sizeof(pp_punt));
    EXPECT_TRUE(with({3, PP_PUNT_TTL_EXPIRED, 0, 64}));
    EXPECT_FALSE(with({3, PP_PUNT_TTL_EXPIRED, 0, 65}));
    EXPECT_FALSE(with({3, PP_PUNT_TTL_EXPIRED, 0, UINT32_MAX}));
    EXPECT_FALSE(with({3, PP_VERDICT_COUNT, 0, 60}));
    EXPECT_FALSE(with({PP_MAX_PORTS, PP_PUNT_TTL_EXPIRED, 0, 60}));
    EXPECT_FALSE(read_punt(std::span(record).first(sizeof(pp_punt) - 1)));
}

}  // namespace
}  // namespace pktpit::router
