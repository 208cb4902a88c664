// SPDX-License-Identifier: BSD-3-Clause
#include "base/address.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace pktpit {
namespace {

TEST(IpAddress, ReadsAndWritesIpv4) {
    for (const char* text : {"0.0.0.0", "192.0.2.1", "255.255.255.255", "10.0.0.255"})
        EXPECT_EQ(IpAddress::parse(text).value().to_string(), text);
    const IpAddress address = IpAddress::parse("192.0.2.1").value();
    EXPECT_EQ(address.v4_host_order(), 0xc0000201u);
    EXPECT_EQ(address.bytes[0], 192);
    EXPECT_EQ(address, IpAddress::v4(0xc0000201u));
    EXPECT_EQ(address.bits(), 32u);
}

// RFC 5952 section 4: lower case, no leading zeros, longest run shortened, the first of equals, never one
// group.
TEST(IpAddress, WritesIpv6AfterRfc5952) {
    const std::pair<const char*, const char*> cases[] = {
        {"2001:0DB8:0000:0000:0000:0000:0002:0001", "2001:db8::2:1"},
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
        {"::", "::"},
        {"0:0:0:0:0:0:0:1", "::1"},
        {"::ffff:192.0.2.1", "::ffff:192.0.2.1"},
        {"fe80::AbCd", "fe80::abcd"},
        {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
    };
    for (const auto& [text, canonical] : cases)
        EXPECT_EQ(IpAddress::parse(text).value().to_string(), canonical);
}

TEST(IpAddress, RefusesWhatIsNone) {
    for (const char* text : {"",
                             "1",
                             "1.2.3",
                             "1.2.3.4.5",
                             "256.0.0.1",
                             "1.2.3.04",
                             "01.2.3.4",
                             " 1.2.3.4",
                             "1.2.3.4 ",
                             "1.2.3.4/24",
                             "0x1.2.3.4",
                             "1..2.3",
                             ":",
                             ":::",
                             "1::2::3",
                             "1:2:3:4:5:6:7",
                             "1:2:3:4:5:6:7:8:9",
                             "12345::",
                             "g::",
                             "fe80::1%eth0",
                             "::1.2.3.256",
                             "[::1]",
                             "-1.2.3.4",
                             "1111111111111111111111111111111111111111111111111111111111111111111"}) {
        const auto parsed = IpAddress::parse(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_NE(parsed.error().message.find("is not an IP address"), std::string::npos);
        EXPECT_FALSE(parsed.error().expected.empty());
    }
    EXPECT_FALSE(IpAddress::parse(std::string_view("1.2.3.4\0", 8)));
}

TEST(IpAddress, KnowsItsKind) {
    const auto is = [](const char* text) { return IpAddress::parse(text).value(); };
    EXPECT_TRUE(is("0.0.0.0").is_unspecified());
    EXPECT_TRUE(is("::").is_unspecified());
    EXPECT_FALSE(is("::1").is_unspecified());
    EXPECT_TRUE(is("127.255.0.1").is_loopback());
    EXPECT_FALSE(is("128.0.0.1").is_loopback());
    EXPECT_TRUE(is("::1").is_loopback());
    EXPECT_FALSE(is("1::1").is_loopback());
    EXPECT_TRUE(is("224.0.0.0").is_multicast());
    EXPECT_TRUE(is("239.255.255.255").is_multicast());
    EXPECT_FALSE(is("240.0.0.0").is_multicast());
    EXPECT_FALSE(is("223.255.255.255").is_multicast());
    EXPECT_TRUE(is("ff02::1").is_multicast());
    EXPECT_FALSE(is("fe02::1").is_multicast());
    EXPECT_TRUE(is("169.254.0.0").is_link_local());
    EXPECT_FALSE(is("169.253.255.255").is_link_local());
    EXPECT_TRUE(is("fe80::").is_link_local());
    EXPECT_TRUE(is("febf:ffff::").is_link_local());
    EXPECT_FALSE(is("fec0::").is_link_local());
}

TEST(IpAddress, FamiliesNeverMix) {
    const IpAddress v4 = IpAddress::parse("0.0.0.0").value();
    const IpAddress v6 = IpAddress::parse("::").value();
    EXPECT_NE(v4, v6);
    EXPECT_NE(std::hash<IpAddress>{}(v4), std::hash<IpAddress>{}(v6));
    EXPECT_FALSE((Prefix{v4, 0}.contains(v6)));
    EXPECT_FALSE((Prefix{v6, 0}.overlaps(Prefix{v4, 0})));
}

TEST(MacAddress, ReadsAndWrites) {
    const MacAddress mac = MacAddress::parse("02:00:5E:10:00:fF").value();
    EXPECT_EQ(mac.to_string(), "02:00:5e:10:00:ff");
    EXPECT_FALSE(mac.is_multicast());
    EXPECT_TRUE(MacAddress::parse("01:00:5e:00:00:01").value().is_multicast());
    EXPECT_TRUE(MacAddress::parse("00:00:00:00:00:00").value().is_zero());
    EXPECT_FALSE(mac.is_zero());
    for (const char* text : {"", "02:00:00:00:00", "02:00:00:00:00:01:02", "02-00-00-00-00-01", "2:0:0:0:0:1",
                             "02:00:00:00:00:0g", "02:00:00:00:00:01 ", "0200.0000.0001"})
        EXPECT_FALSE(MacAddress::parse(text)) << text;
}

TEST(Prefix, ReadsAndWrites) {
    for (const char* text : {"0.0.0.0/0", "192.0.2.0/24", "192.0.2.1/32", "128.0.0.0/1", "::/0",
                             "2001:db8::/32", "2001:db8::1/128", "8000::/1"})
        EXPECT_EQ(Prefix::parse(text).value().to_string(), text);
}

TEST(Prefix, SaysWhatIsWrong) {
    const std::tuple<const char*, const char*, const char*> cases[] = {
        {"192.0.2.0", "has no prefix length", "such as"},
        {"", "has no prefix length", "such as"},
        {"192.0.2.0/33", "prefix length \"33\"", "0 to 32"},
        {"2001:db8::/129", "prefix length \"129\"", "0 to 128"},
        {"192.0.2.0/", "prefix length \"\"", "0 to 32"},
        {"192.0.2.0/024", "prefix length \"024\"", "0 to 32"},
        {"192.0.2.0/-1", "prefix length \"-1\"", "0 to 32"},
        {"192.0.2.0/+1", "prefix length \"+1\"", "0 to 32"},
        {"192.0.2.0/2 ", "prefix length \"2 \"", "0 to 32"},
        {"192.0.2.0/24/24", "prefix length \"24/24\"", "0 to 32"},
        {"192.0.2.0/99999999999999999999", "prefix length", "0 to 32"},
        {"/24", "does not start with an IP address", "such as"},
        {"192.0.2.0/255.255.255.0", "prefix length", "0 to 32"},
        {"192.0.2.1/24", "bits set behind its prefix length", "192.0.2.0/24"},
        {"2001:db8::1/127", "bits set behind its prefix length", "2001:db8::/127"},
    };
    for (const auto& [text, message, expected] : cases) {
        const auto parsed = Prefix::parse(text);
        ASSERT_FALSE(parsed) << text;
        EXPECT_NE(parsed.error().message.find(message), std::string::npos) << parsed.error().to_string();
        EXPECT_NE(parsed.error().expected.find(expected), std::string::npos) << parsed.error().to_string();
    }
}

TEST(Prefix, CutsAndEnds) {
    const IpAddress all = IpAddress::parse("255.255.255.255").value();
    EXPECT_EQ(Prefix::of(all, 0).to_string(), "0.0.0.0/0");
    EXPECT_EQ(Prefix::of(all, 9).to_string(), "255.128.0.0/9");
    EXPECT_EQ(Prefix::of(all, 32).to_string(), "255.255.255.255/32");
    EXPECT_EQ(Prefix::parse("10.0.0.0/9").value().last().to_string(), "10.127.255.255");
    EXPECT_EQ(Prefix::parse("10.0.0.4/32").value().last().to_string(), "10.0.0.4");
    EXPECT_EQ(Prefix::parse("0.0.0.0/0").value().last(), all);
    EXPECT_EQ(Prefix::parse("2001:db8::/33").value().last().to_string(),
              "2001:db8:7fff:ffff:ffff:ffff:ffff:ffff");
    EXPECT_EQ(Prefix::parse("::/0").value().last().to_string(), "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff");
    // An IPv4 address stays one: nothing behind its four bytes is set.
    EXPECT_EQ(Prefix::parse("0.0.0.0/0").value().last().bytes[4], 0);
}

TEST(Prefix, Contains) {
    const Prefix net = Prefix::parse("10.64.0.0/10").value();
    EXPECT_TRUE(net.contains(IpAddress::parse("10.64.0.0").value()));
    EXPECT_TRUE(net.contains(IpAddress::parse("10.127.255.255").value()));
    EXPECT_FALSE(net.contains(IpAddress::parse("10.128.0.0").value()));
    EXPECT_FALSE(net.contains(IpAddress::parse("10.63.255.255").value()));
    EXPECT_TRUE(net.contains(net));
    EXPECT_TRUE(net.contains(Prefix::parse("10.64.1.0/24").value()));
    EXPECT_FALSE(net.contains(Prefix::parse("10.0.0.0/8").value()));
    EXPECT_TRUE(net.overlaps(Prefix::parse("10.0.0.0/8").value()));
    EXPECT_FALSE(net.overlaps(Prefix::parse("11.0.0.0/8").value()));
}

TEST(Prefix, OrdersByAddressThenLength) {
    const auto of = [](const char* text) { return Prefix::parse(text).value(); };
    EXPECT_LT(of("10.0.0.0/8"), of("10.0.0.0/9"));
    EXPECT_LT(of("10.0.0.0/9"), of("10.1.0.0/16"));
    EXPECT_LT(of("2001::/16"), of("2001:0:0:1::/64"));
}

TEST(Prefix, HashesDifferEvenWhereAddressesAreEqual) {
    std::unordered_set<size_t> hashes;
    for (unsigned length = 0; length <= 32; length++)
        hashes.insert(std::hash<Prefix>{}(Prefix::of(IpAddress{}, length)));
    EXPECT_EQ(hashes.size(), 33u);
}

TEST(InterfaceAddress, KeepsItsHostBits) {
    const InterfaceAddress address = InterfaceAddress::parse("192.0.2.1/24").value();
    EXPECT_EQ(address.to_string(), "192.0.2.1/24");
    EXPECT_EQ(address.net().to_string(), "192.0.2.0/24");
    const auto missing = InterfaceAddress::parse("192.0.2.1");
    ASSERT_FALSE(missing);
    EXPECT_NE(missing.error().expected.find("192.0.2.1/24"), std::string::npos);
}

TEST(Error, IsToldOnOneLine) {
    EXPECT_EQ((Error{"", "broken", "", ""}.to_string()), "broken");
    EXPECT_EQ((Error{"a:1", "broken", "", ""}.to_string()), "a:1: broken");
    EXPECT_EQ((Error{"a:1", "broken", "whole", ""}.to_string()), "a:1: broken (expected whole)");
    EXPECT_EQ((Error{"a:1", "broken", "", "mend it"}.to_string()), "a:1: broken (mend it)");
    EXPECT_EQ((Error{"a:1", "broken", "whole", "mend it"}.to_string()),
              "a:1: broken (expected whole; mend it)");
}

TEST(Error, QuotesWhatWouldSpoilTheLine) {
    const auto message = IpAddress::parse("a\nb\x1b\xff" + std::string(500, 'x')).error().message;
    EXPECT_EQ(message.find("\"a?b??xxx"), 0u);
    EXPECT_LT(message.size(), 150u);
}

}  // namespace
}  // namespace pktpit
