// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/ipv4_options.h"

#include <gtest/gtest.h>

#include "packets.h"

namespace pktpit::router::test {
namespace {

OptionsContext context() {
    return {ip("10.2.0.1"), 0x01020304, [](const IpAddress& address) { return address == ip("10.9.9.9"); }};
}

/// The options after processing.
Buffer processed(const Buffer& options, OptionsDone* done = nullptr, const OptionsContext& how = context()) {
    Buffer header = make(Ipv4Packet{.options = options, .payload = {}});
    EXPECT_EQ(malformed_option(header), std::nullopt);
    const OptionsDone result = process_options(header, how);
    if (done) *done = result;
    return cut(header, 20);
}

std::optional<int> pointer(const Buffer& options) {
    const auto found = malformed_option(make(Ipv4Packet{.options = options, .payload = {}}));
    return found ? std::optional<int>(*found) : std::nullopt;
}

TEST(RecordRoute, takes_the_egress_address) {
    OptionsDone done;
    EXPECT_EQ(processed({7, 11, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0}, &done),
              (Buffer{7, 11, 8, 10, 2, 0, 1, 0, 0, 0, 0, 0}));
    EXPECT_TRUE(done.recorded_route);
    EXPECT_EQ(processed({7, 11, 8, 1, 2, 3, 4, 0, 0, 0, 0, 0}),
              (Buffer{7, 11, 12, 1, 2, 3, 4, 10, 2, 0, 1, 0}));
    EXPECT_EQ(processed({1, 7, 7, 4, 0, 0, 0, 0}), (Buffer{1, 7, 7, 8, 10, 2, 0, 1})) << "not aligned";
}

TEST(RecordRoute, full_passes_unchanged) {
    OptionsDone done;
    const Buffer full{7, 7, 8, 1, 2, 3, 4, 0};
    EXPECT_EQ(processed(full, &done), full);
    EXPECT_FALSE(done.recorded_route);
    EXPECT_EQ(processed({7, 3, 4, 0}), (Buffer{7, 3, 4, 0})) << "no room from the start";
    EXPECT_EQ(processed({7, 7, 255, 1, 2, 3, 4, 0}), (Buffer{7, 7, 255, 1, 2, 3, 4, 0}));
}

TEST(RecordRoute, longest) {
    Buffer option{7, 39, 36};
    option.resize(40);
    Buffer expected = option;
    expected[2] = 40;
    expected[35] = 10, expected[36] = 2, expected[37] = 0, expected[38] = 1;
    EXPECT_EQ(processed(option), expected);
}

TEST(RecordRoute, without_an_address_nothing_is_recorded) {
    OptionsContext how = context();
    how.egress_address.reset();
    const Buffer option{7, 7, 4, 0, 0, 0, 0, 0};
    EXPECT_EQ(processed(option, nullptr, how), option);
}

TEST(Timestamp, alone) {
    OptionsDone done;
    EXPECT_EQ(processed({68, 12, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0}, &done),
              (Buffer{68, 12, 9, 0, 1, 2, 3, 4, 0, 0, 0, 0}));
    EXPECT_TRUE(done.timestamped);
    EXPECT_EQ(processed({68, 12, 9, 0x30, 9, 9, 9, 9, 0, 0, 0, 0}),
              (Buffer{68, 12, 13, 0x30, 9, 9, 9, 9, 1, 2, 3, 4}));
}

TEST(Timestamp, with_address) {
    EXPECT_EQ(processed({68, 12, 5, 1, 0, 0, 0, 0, 0, 0, 0, 0}),
              (Buffer{68, 12, 13, 1, 10, 2, 0, 1, 1, 2, 3, 4}));
}

TEST(Timestamp, of_prespecified_addresses_only_where_the_next_is_ours) {
    OptionsDone done;
    EXPECT_EQ(processed({68, 12, 5, 3, 10, 9, 9, 9, 0, 0, 0, 0}, &done),
              (Buffer{68, 12, 13, 3, 10, 9, 9, 9, 1, 2, 3, 4}));
    EXPECT_TRUE(done.timestamped);
    const Buffer other{68, 12, 5, 3, 10, 9, 9, 8, 0, 0, 0, 0};
    EXPECT_EQ(processed(other, &done), other);
    EXPECT_FALSE(done.timestamped);
    const Buffer full{68, 12, 13, 3, 10, 9, 9, 9, 5, 6, 7, 8};
    EXPECT_EQ(processed(full, &done), full) << "no overflow: this router may not have been asked for";
    EXPECT_FALSE(done.timestamp_overflow);
}

TEST(Timestamp, overflow_is_counted_up_to_fifteen) {
    OptionsDone done;
    EXPECT_EQ(processed({68, 8, 9, 0x10, 1, 1, 1, 1}, &done), (Buffer{68, 8, 9, 0x20, 1, 1, 1, 1}));
    EXPECT_TRUE(done.timestamp_overflow);
    EXPECT_EQ(processed({68, 12, 13, 0xe1, 1, 1, 1, 1, 2, 2, 2, 2}),
              (Buffer{68, 12, 13, 0xf1, 1, 1, 1, 1, 2, 2, 2, 2}));
    EXPECT_EQ(pointer({68, 8, 9, 0xf0, 1, 1, 1, 1}), 23);
    EXPECT_EQ(pointer({68, 12, 13, 0xf1, 1, 1, 1, 1, 2, 2, 2, 2}), 23);
    EXPECT_EQ(pointer({68, 12, 13, 0xf3, 1, 1, 1, 1, 2, 2, 2, 2}), std::nullopt);
}

TEST(Timestamp, unknown_flag_is_left_alone) {
    for (const uint8_t flag : Buffer{2, 4, 15}) {
        const Buffer option{68, 8, 5, flag, 0, 0, 0, 0};
        EXPECT_EQ(processed(option), option);
    }
}

TEST(Options, both_and_others_between) {
    EXPECT_EQ(processed({0x94, 4, 0, 0, 7, 7, 4, 0, 0, 0, 0, 1, 68, 8, 5, 0, 0, 0, 0, 0}),
              (Buffer{0x94, 4, 0, 0, 7, 7, 8, 10, 2, 0, 1, 1, 68, 8, 9, 0, 1, 2, 3, 4}));
}

TEST(Options, nothing_behind_the_end_of_the_list_counts) {
    const Buffer options{1, 0, 7, 7, 4, 0, 0, 0, 0, 0, 68, 1};
    EXPECT_EQ(processed(options), options);
}

TEST(Options, unknown_ones_pass) {
    const Buffer options{0xde, 4, 0xbe, 0xef, 0x1e, 2, 1, 1};
    EXPECT_EQ(processed(options), options);
}

TEST(MalformedOptions, point_at_the_fault) {
    EXPECT_EQ(pointer({1, 1, 1, 7}), 23) << "no length octet: the type";
    EXPECT_EQ(pointer({7, 32, 4, 0}), 21) << "longer than the header";
    EXPECT_EQ(pointer({0x1e, 9, 0, 0}), 21) << "of an unknown option too";
    EXPECT_EQ(pointer({7, 1, 4, 0}), 21);
    EXPECT_EQ(pointer({7, 0, 4, 0}), 21);
    EXPECT_EQ(pointer({7, 2, 1, 1}), 21) << "no pointer octet";
    EXPECT_EQ(pointer({1, 68, 3, 5}), 22) << "no flag octet";
    EXPECT_EQ(pointer({7, 7, 3, 0, 0, 0, 0, 0}), 22) << "pointer below 4";
    EXPECT_EQ(pointer({7, 7, 0, 0, 0, 0, 0, 0}), 22);
    EXPECT_EQ(pointer({68, 8, 4, 0, 0, 0, 0, 0}), 22) << "pointer below 5";
    EXPECT_EQ(pointer({7, 6, 4, 0, 0, 0, 0, 0}), 22) << "room, but not for an address";
    EXPECT_EQ(pointer({68, 7, 5, 0, 0, 0, 0, 0}), 22) << "room, but not for a timestamp";
    EXPECT_EQ(pointer({68, 8, 5, 1, 0, 0, 0, 0}), 22) << "room, but not for address and timestamp";
    EXPECT_EQ(pointer({68, 8, 5, 3, 0, 0, 0, 0}), 22);
    EXPECT_EQ(pointer({7, 7, 8, 1, 1, 1, 1, 7, 7, 8, 1, 1, 1, 1, 0, 0}), 27) << "a second one";
    EXPECT_EQ(pointer({68, 8, 9, 0, 1, 1, 1, 1, 68, 8, 9, 0, 1, 1, 1, 1}), 28);
}

TEST(NeutraliseOptions, keeps_a_valid_header_of_the_same_length) {
    Buffer header = make(Ipv4Packet{.options = {7, 7, 4, 0, 0, 0, 0, 0}, .payload = {}});
    const Buffer before = header;
    neutralise_options(header);
    EXPECT_EQ(naive_checksum(header), 0);
    EXPECT_EQ(cut(header, 20), Buffer(8, 1));
    EXPECT_EQ(cut(header, 0, 10), cut(before, 0, 10));
    EXPECT_EQ(cut(header, 12, 8), cut(before, 12, 8));
}

}  // namespace
}  // namespace pktpit::router::test
