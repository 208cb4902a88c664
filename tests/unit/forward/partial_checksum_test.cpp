// SPDX-License-Identifier: BSD-3-Clause
#include "router/forward/partial_checksum.h"

#include <gtest/gtest.h>

#include "router/forward/bytes.h"
#include "tests/unit/forward/packets.h"

namespace pktpit::router::test {
namespace {

constexpr uint8_t tcp = 6;
constexpr uint8_t udp = 17;

/// What the checksum is computed over: the pseudo header, then the segment.
Buffer summed(const Buffer& addresses, uint8_t protocol, const Buffer& segment) {
    const auto length = static_cast<uint16_t>(segment.size());
    return addresses + Buffer{0, protocol, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length)} +
           segment;
}

/// A frame in two forms: as its sender leaves it to the NIC, and as it has to be.
struct Frames {
    Buffer partial, whole;
};

Frames frames(bool v4, uint8_t protocol, Buffer segment, const std::vector<Tag>& tags = {},
              uint16_t fragment = 0) {
    const size_t place = protocol == udp ? 6 : 16;
    store_be16(&segment[place], 0);
    const Ethernet ethernet{.tags = tags};
    const auto framed = [&](uint16_t checksum) {
        store_be16(&segment[place], checksum);
        return v4 ? frame(ethernet, Ipv4{.protocol = protocol, .payload = segment, .fragment = fragment})
                  : frame(ethernet, Ipv6{.next = protocol, .payload = segment});
    };
    const Buffer empty = framed(0);
    const size_t at = 14 + tags.size() * 4;
    const auto begin = empty.begin() + static_cast<ptrdiff_t>(at + (v4 ? 12 : 8));
    const Buffer addresses(begin, begin + (v4 ? 8 : 32));
    store_be16(&segment[place], 0);
    const Buffer header = summed(addresses, protocol, segment);
    const size_t pseudo = addresses.size() + 4;
    const auto sum = static_cast<uint16_t>(~checksum_of(header.data(), pseudo));
    uint16_t right = checksum_of(header.data(), header.size());
    if (protocol == udp && right == 0) right = 0xffff;
    return {framed(sum), framed(right)};
}

Buffer segment_of(uint8_t protocol, size_t bytes) {
    Buffer segment = transport(bytes);
    if (protocol == tcp) segment[12] = 0x50;
    return segment;
}

TEST(PartialChecksum, IsCompleted) {
    for (const bool v4 : {true, false})
        for (const uint8_t protocol : {tcp, udp})
            for (const size_t bytes : {20, 21, 100, 1459, 1460})
                for (const auto& tags : {std::vector<Tag>{}, std::vector<Tag>{{.tci = 7}},
                                         std::vector<Tag>{{.tpid = 0x88a8, .tci = 7}, {.tci = 8}}}) {
                    auto [partial, whole] = frames(v4, protocol, segment_of(protocol, bytes), tags);
                    EXPECT_TRUE(complete_checksum(partial));
                    EXPECT_EQ(partial, whole)
                        << (v4 ? "IPv4 " : "IPv6 ") << int{protocol} << ' ' << bytes << ' ' << tags.size();
                    EXPECT_FALSE(complete_checksum(whole)) << "one that is complete";
                }
}

TEST(PartialChecksum, PaddingIsNotOfThePacket) {
    auto [partial, whole] = frames(true, udp, segment_of(udp, 8));
    const Buffer padding(18, 0xa5);
    Buffer padded = partial + padding;
    EXPECT_TRUE(complete_checksum(padded));
    EXPECT_EQ(padded, whole + padding);
}

// RFC 768: a checksum of 0 says that there is none.
TEST(PartialChecksum, OfUdpIsNeverZero) {
    Buffer segment = segment_of(udp, 12);
    Frames made = frames(true, udp, segment);
    const uint16_t right = load_be16(&made.whole[14 + 20 + 6]);
    // One word of the payload takes the whole sum to 0xffff.
    const uint32_t sum = load_be16(&segment[8]) + uint32_t{right};
    store_be16(&segment[8], static_cast<uint16_t>((sum & 0xffff) + (sum >> 16)));
    made = frames(true, udp, segment);
    ASSERT_EQ(load_be16(&made.whole[14 + 20 + 6]), 0xffff);
    EXPECT_TRUE(complete_checksum(made.partial));
    EXPECT_EQ(made.partial, made.whole);
}

TEST(PartialChecksum, IsLeftWhereNobodyLeavesIt) {
    for (const uint16_t fragment : {uint16_t{0x2000}, uint16_t{0x0010}}) {
        Buffer first = frames(true, udp, segment_of(udp, 100), {}, fragment).partial;
        const Buffer before = first;
        EXPECT_FALSE(complete_checksum(first)) << "a fragment";
        EXPECT_EQ(first, before);
    }
    Buffer none = frames(true, udp, segment_of(udp, 100)).whole;
    store_be16(&none[14 + 20 + 6], 0);
    EXPECT_FALSE(complete_checksum(none)) << "UDP without a checksum";
    Buffer icmp = frame({}, Ipv4{.protocol = 1});
    EXPECT_FALSE(complete_checksum(icmp));
    Buffer arp = frame({}, Buffer(28), 0x0806);
    EXPECT_FALSE(complete_checksum(arp));
}

TEST(PartialChecksum, NoFrameIsTooShort) {
    for (const bool v4 : {true, false})
        for (const uint8_t protocol : {tcp, udp}) {
            const Buffer whole = frames(v4, protocol, segment_of(protocol, 20), {{.tci = 7}}).partial;
            for (size_t bytes = 0; bytes < whole.size(); bytes++) {
                Buffer part = cut(whole, bytes);
                part.shrink_to_fit();
                EXPECT_FALSE(complete_checksum(part)) << bytes;
            }
        }
}

}  // namespace
}  // namespace pktpit::router::test
