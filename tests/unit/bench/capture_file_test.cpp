// SPDX-License-Identifier: BSD-3-Clause
#include "bench/cpu/capture_file.h"

#include <gtest/gtest.h>

namespace pktpit::bench::cpu {
namespace {

constexpr MacAddress mac{{2, 0, 0, 0, 0, 7}};

unsigned at16(const std::string& text, size_t place) {
    return static_cast<unsigned>(static_cast<uint8_t>(text[place]) << 8 |
                                 static_cast<uint8_t>(text[place + 1]));
}

TEST(CaptureFile, FramesAreOfTheSizeAskedForAndSayIt) {
    for (const unsigned bytes : {64u, 1500u}) {
        const std::string v4 = make_frame(*IpAddress::parse("20.0.1.2"), {mac, bytes});
        EXPECT_EQ(v4.size(), bytes);
        EXPECT_EQ(at16(v4, 16), bytes - 14);
        EXPECT_EQ(at16(v4, 38), bytes - 34);  // UDP
        const std::string v6 = make_frame(*IpAddress::parse("2400::1"), {mac, bytes});
        EXPECT_EQ(v6.size(), bytes);
        EXPECT_EQ(at16(v6, 18), bytes - 54);
        EXPECT_EQ(at16(v6, 58), bytes - 54);
    }
}

TEST(CaptureFile, ATrailerIsBehindThePacketAndNotOfIt) {
    const std::string v4 = make_frame(*IpAddress::parse("20.0.1.2"), {mac}, trailer_bytes);
    EXPECT_EQ(v4.size(), 64U);
    EXPECT_EQ(at16(v4, 16), 64U - 14 - trailer_bytes);
    const std::string v6 = make_frame(*IpAddress::parse("2400::1"), {mac}, trailer_bytes);
    EXPECT_EQ(v6.size(), 64U);
    EXPECT_EQ(at16(v6, 18), 64U - 54 - trailer_bytes);
}

TEST(CaptureFile, TheIpv4ChecksumIsRight) {
    const std::string frame = make_frame(*IpAddress::parse("203.0.113.77"), {mac, 64});
    uint32_t sum = 0;
    for (size_t i = 14; i < 34; i += 2)
        sum += at16(frame, i);
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    EXPECT_EQ(sum, 0xffffu);
    EXPECT_EQ(frame.substr(0, 6), std::string("\x02\0\0\0\0\x07", 6));
    EXPECT_EQ(at16(frame, 30) << 16 | at16(frame, 32), 0xcb00714du);
}

}  // namespace
}  // namespace pktpit::bench::cpu
