// SPDX-License-Identifier: BSD-3-Clause
#include "router/observe/packet_filter.h"

#include <gtest/gtest.h>

#include "tests/unit/forward/packets.h"
#include "tests/unit/forward/vectors.h"

namespace pktpit::router::test {
namespace {

TEST(PacketFilters, MatchAsPcapDoes) {
    const Buffer packet = frame(arriving, Ipv4{.destination = "10.1.2.3", .payload = transport(100)});
    const auto matches = [&](const char* expression) {
        const auto filter = PacketFilter::compile(expression);
        EXPECT_TRUE(filter) << expression;
        return filter && filter->matches(packet, static_cast<uint32_t>(packet.size()));
    };
    EXPECT_TRUE(matches(""));
    EXPECT_TRUE(matches("ip"));
    EXPECT_TRUE(matches("dst host 10.1.2.3"));
    EXPECT_TRUE(matches("ip and dst net 10.0.0.0/8 and not arp"));
    EXPECT_FALSE(matches("ip6"));
    EXPECT_FALSE(matches("src host 10.1.2.3"));
    EXPECT_TRUE(matches("greater 100"));
    EXPECT_FALSE(matches("greater 2000"));
}

TEST(PacketFilters, LengthIsThatOfTheWholeFrameThoughOnlyItsBeginIsThere) {
    const auto filter = PacketFilter::compile("greater 1000");
    const Buffer begin(64);
    EXPECT_TRUE(filter->matches(begin, 1500));
    EXPECT_FALSE(filter->matches(begin, 64));
    const auto behind = PacketFilter::compile("ether[100] = 0");
    EXPECT_FALSE(behind->matches(begin, 1500)) << "what is not there does not match";
    EXPECT_FALSE(behind->matches({}, 0));
}

TEST(PacketFilters, RefusalsHaveLibpcapsWordsAndThePlace) {
    const auto broken = PacketFilter::compile("ip and host 10.0.0.1 andd port 5");
    ASSERT_FALSE(broken);
    EXPECT_NE(broken.error().message.find("syntax error"), std::string::npos) << broken.error().message;
    EXPECT_NE(broken.error().hint.find("\"ip and host 10.0.0.1\" is a filter"), std::string::npos)
        << broken.error().hint;
    EXPECT_NE(broken.error().hint.find("character 22"), std::string::npos) << broken.error().hint;
    const auto unknown = PacketFilter::compile("host");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(unknown.error().hint, "man pcap-filter");
    EXPECT_FALSE(PacketFilter::compile("src net 10.0.0.1/8"));
    EXPECT_FALSE(PacketFilter::compile(std::string(5000, ' ')));
    EXPECT_FALSE(PacketFilter::compile(std::string("ip\0x", 4)));
}

}  // namespace
}  // namespace pktpit::router::test
