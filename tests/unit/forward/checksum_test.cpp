// SPDX-License-Identifier: BSD-3-Clause
#include "bpf/checksum.h"

#include <gtest/gtest.h>

#include "router/forward/frame.h"
#include "tests/unit/forward/packets.h"

namespace pktpit::router::test {
namespace {

/// The bytes of an IPv4 header whose checksum is `checksum` with this TTL and protocol: the identification is
/// what makes up for the rest.
Buffer header_with(uint16_t checksum, uint8_t ttl, uint8_t protocol) {
    Buffer header = packet(Ipv4{.ttl = ttl, .protocol = protocol, .payload = {}, .id = 0});
    header[10] = static_cast<uint8_t>(checksum >> 8);
    header[11] = static_cast<uint8_t>(checksum);
    const uint16_t rest =
        checksum_of(header.data(), header.size());  // ~(sum of all the rest) = what is missing
    header[4] = static_cast<uint8_t>(rest >> 8);
    header[5] = static_cast<uint8_t>(rest);
    return header;
}

uint16_t from_memory(uint16_t value) {
    return __builtin_bswap16(value);
}

// Every checksum that can stand in a header, with every TTL that is forwarded: the incremental result is bit
// for bit what computing it anew gives, 0x0000 (never 0xffff) included.
TEST(Checksum, BothUpdatesAreWhatRecomputingGivesForEveryChecksumAndTtl) {
    for (uint32_t checksum = 0; checksum <= 0xffff; checksum++) {
        Buffer header = header_with(static_cast<uint16_t>(checksum), 255, 17);
        ASSERT_EQ(checksum_of(header.data(), header.size()), 0) << checksum;
        uint32_t sum_without_ttl = 0;
        for (size_t at = 0; at < header.size(); at += 2)
            if (at != 8 && at != 10) sum_without_ttl += load_be16(&header[at]);
        for (uint32_t ttl = 2; ttl <= 255; ttl++) {
            // The checksum that a sender computes for this TTL (RFC 1071), and for one less.
            const auto full = [&](uint32_t of_ttl) {
                uint32_t sum = sum_without_ttl + (of_ttl << 8 | 17);
                while (sum >> 16)
                    sum = (sum >> 16) + (sum & 0xffff);
                return static_cast<uint16_t>(~sum);
            };
            const uint16_t before = full(ttl);
            const uint16_t after = full(ttl - 1);
            ASSERT_NE(after, 0xffff);
            ASSERT_EQ(updated_checksum(before, static_cast<uint16_t>(ttl << 8 | 17),
                                       static_cast<uint16_t>((ttl - 1) << 8 | 17)),
                      after)
                << "checksum " << before << " TTL " << ttl;
            ASSERT_EQ(from_memory(pp_checksum_ttl_minus_one(from_memory(before))), after)
                << "checksum " << before << " TTL " << ttl;
        }
    }
}

// RFC 1624 eqn. 3, where one carry brings about another, too.
TEST(Checksum, AnyWordIsReplaced) {
    for (const unsigned checksum : {0x0000, 0x0001, 0x8000, 0xfffe, 0xffff})
        for (const unsigned before : {0x0000, 0x0001, 0x7fff, 0xfffe, 0xffff})
            for (const unsigned after : {0x0000, 0x0001, 0x8000, 0xfffe, 0xffff}) {
                const uint64_t sum = uint64_t{0xffff} - checksum + 0xffff - before + after;
                EXPECT_EQ(updated_checksum(static_cast<uint16_t>(checksum), static_cast<uint16_t>(before),
                                           static_cast<uint16_t>(after)),
                          static_cast<uint16_t>(~pp_checksum_fold(sum)))
                    << checksum << ' ' << before << ' ' << after;
            }
}

// A checksum of 0xffff verifies as 0x0000 does; no one computes it, but it may arrive.
TEST(Checksum, AReceivedFfffEndsAsZeroWould) {
    EXPECT_EQ(updated_checksum(0xffff, 0x4011, 0x3f11), updated_checksum(0x0000, 0x4011, 0x3f11));
    EXPECT_EQ(pp_checksum_ttl_minus_one(0xffff), pp_checksum_ttl_minus_one(0x0000));
}

TEST(Checksum, FoldKeepsCarriesOfWideSums) {
    EXPECT_EQ(pp_checksum_fold(0), 0u);
    EXPECT_EQ(pp_checksum_fold(0xffff), 0xffffu);
    EXPECT_EQ(pp_checksum_fold(0x10000), 1u);
    EXPECT_EQ(pp_checksum_fold(0xffffffffull), 0xffffu);
    EXPECT_EQ(pp_checksum_fold(0x1ffffffffull), 1u);
    EXPECT_EQ(pp_checksum_fold(15 * 0xffffffffull), 0xffffu);
    // Sums of at most 15 words of 32 bits, as IPv4 headers have: the remainder mod 0xffff, 0 only for 0.
    for (uint64_t sum = 1; sum < 15 * 0xffffffffull; sum += 0x3a0f12d) {
        const uint64_t remainder = sum % 0xffff;
        ASSERT_EQ(pp_checksum_fold(sum), remainder ? remainder : 0xffff) << sum;
    }
}

}  // namespace
}  // namespace pktpit::router::test
