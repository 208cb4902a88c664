// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/fragment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "packets.h"
#include "tests/sanitized.h"

namespace pktpit::router::test {
namespace {

constexpr uint16_t more_fragments = 0x2000;

struct Pieces {
    size_t count = 0;
    std::vector<Buffer> pieces;
};

Pieces run(const Buffer& packet, size_t mtu) {
    OwnedHeader header;
    header.length = (packet.at(0) & 15U) * 4U;
    std::copy_n(packet.begin(), header.length, header.bytes.begin());
    Pieces result;
    result.count =
        fragment(header, Bytes(packet).subspan(header.length), mtu, [&](Bytes head, Bytes payload) {
            result.pieces.push_back(
                join({Buffer(head.begin(), head.end()), Buffer(payload.begin(), payload.end())}));
        });
    return result;
}

size_t header_length(const Buffer& packet) {
    return (packet.at(0) & 15U) * 4U;
}
Buffer payload(const Buffer& packet) {
    return cut(packet, header_length(packet));
}
Buffer options(const Buffer& packet) {
    return cut(packet, 20, header_length(packet) - 20);
}

/// RFC 791 reassembly, of fragments in any order, into the payload bytes from `base` on.
Buffer reassemble(std::vector<Buffer> pieces, size_t base) {
    std::ranges::sort(pieces, {}, [](const Buffer& piece) { return get16(piece, 6) & 0x1fff; });
    Buffer data;
    for (const Buffer& piece : pieces) {
        EXPECT_EQ((get16(piece, 6) & 0x1fffU) * 8U, base + data.size()) << "neither gap nor overlap";
        const Buffer part = payload(piece);
        data.insert(data.end(), part.begin(), part.end());
    }
    return data;
}

TEST(Fragment, options_without_copy_flag_stay_in_the_first) {
    // Record route (7), stream id (136, copied), end. The rest of the last word is zero.
    const Buffer given{7, 7, 8, 1, 2, 3, 4, 136, 4, 0xab, 0xcd, 1, 0x94, 4, 0, 0};
    const Pieces result = run(make(Ipv4Packet{.options = given, .payload = pattern(200)}), 100);
    ASSERT_GE(result.pieces.size(), 3U);
    EXPECT_EQ(options(result.pieces[0]), given);
    for (size_t i = 1; i < result.pieces.size(); i++)
        EXPECT_EQ(options(result.pieces[i]), (Buffer{136, 4, 0xab, 0xcd, 0x94, 4, 0, 0}));
    EXPECT_EQ(payload(result.pieces[0]).size(), 64U) << "100 - 36";
    EXPECT_EQ(payload(result.pieces[1]).size(), 72U) << "100 - 28: the shorter header leaves room for more";
}

TEST(Fragment, copied_options_are_padded_to_a_word) {
    const Pieces result =
        run(make(Ipv4Packet{.options = {0x82, 5, 1, 2, 3, 7, 3, 4}, .payload = pattern(200)}), 100);
    ASSERT_GE(result.pieces.size(), 2U);
    EXPECT_EQ(options(result.pieces[1]), (Buffer{0x82, 5, 1, 2, 3, 0, 0, 0}));
}

TEST(Fragment, no_room_for_eight_bytes) {
    EXPECT_EQ(run(make(Ipv4Packet{.payload = pattern(100)}), 27).count, 0U);
    EXPECT_EQ(run(make(Ipv4Packet{.payload = pattern(100)}), 0).count, 0U);
    EXPECT_EQ(run(make(Ipv4Packet{.payload = pattern(100)}), 28).count, 13U);
    EXPECT_EQ(run(make(Ipv4Packet{.options = Buffer(40, 1), .payload = pattern(100)}), 67).count, 0U);
    EXPECT_EQ(run(make(Ipv4Packet{.options = Buffer(40, 1), .payload = pattern(100)}), 68).pieces.size(), 3U)
        << "8 beside the first header, then 48 and 44";
}

TEST(Fragment, nothing_that_ends_beyond_the_largest_datagram) {
    EXPECT_GT(run(make(Ipv4Packet{.fragment = 0x1fff - 20, .payload = pattern(100)}), 68).count, 0U);
    EXPECT_EQ(run(make(Ipv4Packet{.fragment = 0x1fff, .payload = pattern(100)}), 68).count, 0U);
}

TEST(Fragment, what_fits_is_one_piece) {
    const Buffer packet = make(Ipv4Packet{.payload = pattern(80)});
    const Pieces result = run(packet, 100);
    ASSERT_EQ(result.pieces.size(), 1U);
    EXPECT_EQ(result.pieces[0], packet);
    EXPECT_EQ(run(make(Ipv4Packet{.payload = {}}), 100).pieces.size(), 1U);
}

Buffer random_options(std::mt19937& random) {
    Buffer result;
    while (result.size() < 30 && random() % 4) {
        const size_t length = 2 + random() % 9;
        if (random() % 3 == 0) result.push_back(1);
        // Types that mean nothing to anybody, with and without the copy flag.
        result.push_back(static_cast<uint8_t>(random() % 2 ? 0x9e : 0x1e));
        result.push_back(static_cast<uint8_t>(length));
        for (size_t i = 2; i < length; i++)
            result.push_back(static_cast<uint8_t>(random()));
    }
    if (result.size() > 40) result.clear();
    result.resize((result.size() + 3) / 4 * 4);
    return result;
}

TEST(FragmentProperty, pieces_are_valid_and_reassemble_to_the_original) {
    std::mt19937 random(20260620);
    for (int i = 0; i < pktpit::test::rounds_of(20000); i++) {
        const bool is_fragment = random() % 3 == 0;
        const uint16_t offset = is_fragment ? static_cast<uint16_t>(random() % 1000) : uint16_t{0};
        const uint16_t more = is_fragment && random() % 2 ? more_fragments : uint16_t{0};
        const Buffer given = random_options(random);
        // All but the last piece of a datagram are multiples of 8 long.
        size_t size = 1 + random() % (i % 100 ? 3000 : 50000);
        if (more) size = (size + 7) / 8 * 8;
        const Buffer packet = make(Ipv4Packet{.tos = static_cast<uint8_t>(random()),
                                              .id = static_cast<uint16_t>(random()),
                                              .fragment = static_cast<uint16_t>(offset | more),
                                              .options = given,
                                              .payload = pattern(size, static_cast<uint8_t>(i))});
        const size_t mtu = 20 + given.size() + 8 + random() % 1500;
        const Pieces result = run(packet, mtu);
        ASSERT_EQ(result.count, result.pieces.size());
        ASSERT_GE(result.count, 1U);
        ASSERT_EQ(reassemble(result.pieces, offset * 8U), payload(packet));
        for (size_t piece = 0; piece < result.count; piece++) {
            const Buffer& bytes = result.pieces[piece];
            const bool last = piece + 1 == result.count;
            ASSERT_LE(bytes.size(), mtu);
            ASSERT_EQ(get16(bytes, 2), bytes.size());
            ASSERT_EQ(naive_checksum(cut(bytes, 0, header_length(bytes))), 0);
            ASSERT_EQ(get16(bytes, 6) & 0xe000, last ? more : more_fragments);
            if (!last) {
                ASSERT_EQ(payload(bytes).size() % 8, 0U);
                ASSERT_GT(bytes.size() + 8, mtu) << "no smaller than needed";
            }
            // Version, TOS, identification, TTL, protocol and both addresses are the packet's.
            ASSERT_EQ(bytes[0] >> 4, 4);
            ASSERT_EQ(bytes[1], packet[1]);
            ASSERT_EQ(cut(bytes, 4, 2), cut(packet, 4, 2));
            ASSERT_EQ(cut(bytes, 8, 2), cut(packet, 8, 2));
            ASSERT_EQ(cut(bytes, 12, 8), cut(packet, 12, 8));
        }
        ASSERT_EQ(options(result.pieces[0]), given);
    }
}

}  // namespace
}  // namespace pktpit::router::test
