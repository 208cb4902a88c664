// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/mrt_table.h"

#include <gtest/gtest.h>

#include "tests/unit/tables/collect.h"
#include "tests/unit/tables/mrt_bytes.h"

namespace pktpit::fib {
namespace {

using namespace pktpit::test;  // NOLINT: the encoder's words

const std::vector<TestPeer> peers = {
    {addr("192.0.2.1"), 64500}, {addr("2001:db8::2"), 64501}, {addr("192.0.2.3"), 4200000000}};

TestAttributes via(std::string_view next_hop, const std::vector<uint32_t>& path = {64500}) {
    TestAttributes attributes;
    attributes.path = {{2, path}};
    attributes.next_hop = addr(next_hop);
    return attributes;
}
TestAttributes via6(const std::vector<IpAddress>& hops, const std::vector<uint32_t>& path = {64500}) {
    TestAttributes attributes;
    attributes.path = {{2, path}};
    attributes.mp_reach = abbreviated_reach(hops);
    return attributes;
}

/// One record of every kind that is looked into.
std::string small_table() {
    return peer_index_table(peers, "view") +
           rib(net("10.0.0.0/8"), {{0, 0, via("192.0.2.1")}, {2, 0, via("192.0.2.3", {1, 2})}}) +
           rib(net("2001:db8::/32"), {{1, 0, via6({addr("2001:db8::2")})}}) +
           rib(net("10.1.0.0/16"), {{0, 5, via("192.0.2.9")}, {0, 4, via("192.0.2.8")}}, true) +
           rib(net("2001:db8:1::/48"), {{1, 1, via6({addr("2001:db8::2"), addr("fe80::2")})}}, true);
}
const Lines small_routes = {"2 10.0.0.0/8 192.0.2.1", "3 2001:db8::/32 2001:db8::2",
                            "4 10.1.0.0/16 192.0.2.8", "5 2001:db8:1::/48 2001:db8::2"};

// Byte by byte after the figures of RFC 6396 sections 2, 4.3.1 and 4.3.2; the encoder is held against it too.
TEST(MrtTable, TheBytesOfTheRfc) {
    const std::string bytes(
        "\x57\x9f\x40\x80"  // 1 August 2016
        "\x00\x0d\x00\x01"  // TABLE_DUMP_V2, PEER_INDEX_TABLE
        "\x00\x00\x00\x17"  // 23 bytes
        "\xc0\x00\x02\x01"  // collector
        "\x00\x02v1"        // view name
        "\x00\x01"          // one peer
        "\x02"              // IPv4, 4-byte AS
        "\x00\x00\x00\x01"  // its identifier
        "\xc0\x00\x02\x07"  // 192.0.2.7
        "\x00\x00\xfb\xf4"  // 64500
        "\x57\x9f\x40\x80\x00\x0d\x00\x02"
        "\x00\x00\x00\x25"                          // 37 bytes
        "\x00\x00\x00\x00"                          // sequence number
        "\x16\xc6\x33\x64"                          // 198.51.100.0/22
        "\x00\x01"                                  // one entry
        "\x00\x00"                                  // peer 0
        "\x57\x9f\x40\x00"                          // originated
        "\x00\x13"                                  // 19 bytes of attributes
        "\x40\x01\x01\x00"                          // ORIGIN IGP
        "\x50\x02\x00\x06\x02\x01\x00\x00\xfb\xf4"  // AS_PATH 64500, extended length
        "\x40\x03\x04\xc0\x00"
        "\x02\x07",  // NEXT_HOP, two bytes too long for the length above
        12 + 23 + 12 + 39);
    std::string right = bytes;
    right[12 + 23 + 11] = 39;
    right[12 + 23 + 12 + 17] = 21;
    const ReadOutcome outcome = table_of(right);
    EXPECT_TRUE(outcome.good) << outcome.error.to_string();
    EXPECT_EQ(outcome.lines, Lines{"2 198.51.100.0/22 192.0.2.7"});
    EXPECT_EQ(outcome.summary.format, Format::mrt);
    EXPECT_EQ(outcome.summary.records, 2u);
    ASSERT_EQ(outcome.summary.peers.size(), 1u);
    EXPECT_EQ(outcome.summary.peers[0].to_string(), "192.0.2.7 AS64500");

    const ReadOutcome wrong = table_of(bytes);
    EXPECT_EQ(wrong.error.to_string(),
              "t: record 2 at byte 82: TABLE_DUMP_V2 RIB_IPV4_UNICAST: path attribute ends too early "
              "(expected 4 bytes, found 2)");
}

TEST(MrtTable, EveryKindOfRecord) {
    const ReadOutcome outcome = table_of(small_table());
    EXPECT_TRUE(outcome.good) << outcome.error.to_string();
    EXPECT_EQ(outcome.lines, small_routes);
    EXPECT_TRUE(outcome.summary.skipped.by_name().empty());
    EXPECT_EQ(outcome.summary.visited, 4u);
}

TEST(MrtTable, PiecesOfAnySize) {
    const std::string bytes = small_table();
    for (size_t size = 1; size <= bytes.size(); size++) {
        Lines lines;
        const std::string name = "t";
        const ReadOptions options;
        const TableVisitor visit = collector(lines);
        ReadSummary summary;
        MrtTableReader reader(name, options, visit, summary);
        for (size_t at = 0; at < bytes.size(); at += size)
            ASSERT_TRUE(reader.feed(std::string_view(bytes).substr(at, size)));
        ASSERT_TRUE(reader.finish());
        ASSERT_EQ(lines, small_routes) << size;
    }
}

TEST(MrtTable, CutAtEveryByte) {
    const std::string bytes = small_table();
    size_t whole = 0;
    // The first four bytes alone could as well be text.
    for (size_t cut = 5; cut < bytes.size(); cut++) {
        const ReadOutcome outcome = table_of(bytes.substr(0, cut));
        if (outcome.good) {
            whole++;
            continue;
        }
        ASSERT_NE(outcome.error.where.find("record "), std::string::npos) << cut;
        ASSERT_NE(outcome.error.message.find("the file ends after"), std::string::npos)
            << cut << outcome.error.to_string();
        ASSERT_TRUE(std::equal(outcome.lines.begin(), outcome.lines.end(), small_routes.begin())) << cut;
    }
    EXPECT_EQ(whole, 4u);  // between two records
}

TEST(MrtTable, ABodyCutAtEveryByteOrWithOneTooMany) {
    const std::string list = peer_index_table(peers);
    for (const std::string& record :
         {list, rib(net("10.0.0.0/8"), {{0, 0, via("192.0.2.1")}, {1, 0, via("192.0.2.3")}}),
          rib(net("2001:db8::/32"), {{1, 9, via6({addr("2001:db8::2")})}}, true)}) {
        const auto subtype = static_cast<uint16_t>(static_cast<uint8_t>(record[7]));
        for (size_t cut = 12; cut < record.size(); cut++) {
            const ReadOutcome outcome = table_of(list + mrt(1, 13, subtype, record.substr(12, cut - 12)));
            ASSERT_FALSE(outcome.good) << subtype << " " << cut;
            ASSERT_EQ(outcome.error.where.find("t: record 2 at byte "), 0u) << outcome.error.to_string();
            ASSERT_FALSE(outcome.error.expected.empty());
        }
        const ReadOutcome longer = table_of(list + mrt(1, 13, subtype, record.substr(12) + "x"));
        EXPECT_NE(longer.error.message.find("1 bytes behind the last "), std::string::npos)
            << longer.error.to_string();
    }
}

TEST(MrtTable, LengthsThatLieDoNotAllocate) {
    // 65,535 peers and entries, 4 GiB records: announced, not there.
    const std::string list = peer_index_table(peers);
    EXPECT_FALSE(table_of(mrt(1, 13, 1, Bytes().u32(1).u16(0).u16(65535))).good);
    EXPECT_FALSE(table_of(list + mrt(1, 13, 2, Bytes().u32(1).u8(0).u16(65535))).good);
    EXPECT_FALSE(table_of(mrt(1, 13, 1, Bytes().u32(1).u16(65535).raw("view"))).good);
    const ReadOutcome huge = table_of(Bytes().u32(1).u16(13).u16(1).u32(0xffffffff).raw("...."));
    EXPECT_EQ(huge.error.to_string(),
              "t: record 1 at byte 8: TABLE_DUMP_V2 PEER_INDEX_TABLE of 4294967295 bytes (expected at most "
              "16 MiB; is "
              "the file damaged?)");
    const ReadOutcome skipped = table_of(Bytes().u32(1).u16(99).u16(1).u32(0xffffffff).raw("...."));
    EXPECT_NE(skipped.error.message.find("MRT type 99 subtype 1: the file ends after 4 bytes"),
              std::string::npos)
        << skipped.error.to_string();
}

TEST(MrtTable, WrongValues) {
    TestAttributes origin = via("192.0.2.1"), segment = origin;
    origin.origin = 3;
    segment.path = {{5, {1}}};
    TestAttributes hop = via6({addr("2001:db8::1")}), twice = hop;
    hop.mp_reach[0] = 15;
    hop.mp_reach.pop_back();
    twice.others = attribute(0x80, 14, twice.mp_reach);
    const std::pair<std::string, const char*> cases[] = {
        {rib(net("10.0.0.0/8"), {{3, 0, via("192.0.2.1")}}), "peer index 3"},
        {mrt(1, 13, 2, Bytes().u32(1).u8(33).raw("12345").u16(0)), "prefix length 33"},
        {mrt(1, 13, 4, Bytes().u32(1).u8(129).raw(std::string(17, 'x')).u16(0)), "prefix length 129"},
        {rib(net("10.0.0.0/8"), {{0, 0, origin}}), "ORIGIN 3"},
        {rib(net("10.0.0.0/8"), {{0, 0, segment}}), "segment of type 5"},
        {rib(net("2001::/16"), {{0, 0, hop}}), "next hop of 15 bytes"},
        {rib(net("2001::/16"), {{0, 0, twice}}), "second attribute of type 14"},
    };
    for (const auto& [record, message] : cases) {
        const ReadOutcome outcome = table_of(peer_index_table(peers) + record);
        EXPECT_NE(outcome.error.message.find(message), std::string::npos) << message;
    }
    EXPECT_EQ(table_of(rib(net("10.0.0.0/8"), {{0, 0, via("192.0.2.1")}})).error.message,
              "TABLE_DUMP_V2 RIB_IPV4_UNICAST: a table's record before the list of its peers");
}

TEST(MrtTable, WhatIsOfNoUseIsCounted) {
    TestAttributes without = via("192.0.2.1");
    without.next_hop.reset();
    const ReadOutcome outcome =
        table_of(mrt(1, 16, 0, "state") + peer_index_table(peers) + mrt(1, 13, 6, "generic") +
                 mrt(1, 13, 3, "multicast") + mrt(1, 13, 7, "geo") + mrt(1, 13, 77, "x") + mrt(1, 99, 1, "") +
                 mrt(1, 99, 1, "x") + mrt(1, 12, 1, "old") +
                 rib(net("10.0.0.0/8"), {{0, 0, without}, {1, 0, via("192.0.2.3")}}) +
                 rib(net("11.0.0.0/8"), {{0, 0, without}}) + rib(net("12.0.0.0/8"), {}));
    EXPECT_TRUE(outcome.good) << outcome.error.to_string();
    EXPECT_EQ(outcome.lines, Lines{"10 10.0.0.0/8 192.0.2.3"});
    const std::map<std::string, size_t, std::less<>> expected = {{"BGP4MP STATE_CHANGE", 1},
                                                                 {"TABLE_DUMP_V2 RIB_GENERIC", 1},
                                                                 {"TABLE_DUMP_V2 RIB_IPV4_MULTICAST", 1},
                                                                 {"TABLE_DUMP_V2 GEO_PEER_TABLE", 1},
                                                                 {"TABLE_DUMP_V2 subtype 77", 1},
                                                                 {"MRT type 99 subtype 1", 2},
                                                                 {"TABLE_DUMP subtype 1", 1},
                                                                 {"entries without a next hop", 2},
                                                                 {"prefixes without a usable entry", 2}};
    EXPECT_EQ(outcome.summary.skipped.by_name(), expected);
}

TEST(MrtTable, KindsBeyondAHundredAreCountedTogether) {
    std::string bytes = small_table();
    for (uint16_t type = 1000; type < 1300; type++)
        bytes += mrt(1, type, 0, "");
    const ReadOutcome outcome = table_of(bytes);
    EXPECT_EQ(outcome.summary.skipped.by_name().size(), 101u);
    EXPECT_EQ(outcome.summary.skipped.of("other kinds"), 200u);
}

TEST(MrtTable, AFileWithoutATable) {
    const ReadOutcome updates = table_of(bgp4mp(1, peers[0], bgp_message(4, "")));
    EXPECT_NE(updates.error.message.find("BGP updates"), std::string::npos) << updates.error.to_string();
    const ReadOutcome old = table_of(mrt(1, 12, 1, "old"));
    EXPECT_NE(old.error.message.find("no table in 1 MRT records"), std::string::npos)
        << old.error.to_string();
}

TEST(MrtTable, NextHopsInEveryForm) {
    TestAttributes full;
    full.mp_reach =
        full_reach(2, 1, {addr("2001:db8::7"), addr("fe80::7")}, prefixes({net("2001:db8::/32")}));
    TestAttributes ipv4_over_ipv6 = via6({addr("2001:db8::8")});  // RFC 8950
    TestAttributes both = via6({addr("2001:db8::9")});
    both.next_hop = addr("192.0.2.9");
    const ReadOutcome outcome =
        table_of(peer_index_table(peers) + rib(net("2001:db8::/32"), {{0, 0, full}}) +
                 rib(net("10.0.0.0/8"), {{0, 0, ipv4_over_ipv6}}) + rib(net("11.0.0.0/8"), {{0, 0, both}}) +
                 rib(net("2001:db9::/32"), {{0, 0, both}}));
    EXPECT_TRUE(outcome.good) << outcome.error.to_string();
    EXPECT_EQ(outcome.lines, (Lines{"2 2001:db8::/32 2001:db8::7", "3 10.0.0.0/8 2001:db8::8",
                                    "4 11.0.0.0/8 192.0.2.9", "5 2001:db9::/32 2001:db8::9"}));
}

TEST(MrtTable, BitsBehindAPrefixDoNotMatter) {
    const std::string body = rib_body(net("10.0.0.0/8"), {{0, 0, via("192.0.2.1")}});
    std::string bytes = body;
    bytes[4] = 6;  // 10.0.0.0/8 becomes 8.0.0.0/6
    const ReadOutcome outcome = table_of(peer_index_table(peers) + mrt(1, 13, 2, bytes));
    EXPECT_EQ(outcome.lines, Lines{"2 8.0.0.0/6 192.0.2.1"});
}

TEST(MrtTable, APeerAskedFor) {
    const std::string bytes =
        peer_index_table(peers) +
        rib(net("10.0.0.0/8"), {{0, 0, via("192.0.2.1")}, {2, 0, via("192.0.2.3", {1, 2, 3})}}) +
        rib(net("11.0.0.0/8"), {{0, 0, via("192.0.2.1")}});
    EXPECT_EQ(table_of(bytes).lines, (Lines{"2 10.0.0.0/8 192.0.2.1", "3 11.0.0.0/8 192.0.2.1"}));
    for (const char* peer : {"2", "192.0.2.3", "AS4200000000", "as4200000000"}) {
        const ReadOutcome outcome = table_of(bytes, peer);
        EXPECT_EQ(outcome.lines, Lines{"2 10.0.0.0/8 192.0.2.3"}) << peer;
        EXPECT_EQ(outcome.summary.skipped.of("prefixes without a usable entry"), 1u);
    }
    for (const char* peer : {"3", "192.0.2.2", "AS1"}) {
        const ReadOutcome outcome = table_of(bytes, peer);
        EXPECT_EQ(outcome.error.message, "no peer " + std::string(peer));
        EXPECT_EQ(outcome.error.expected,
                  "0: 192.0.2.1 AS64500, 1: 2001:db8::2 AS64501, 2: 192.0.2.3 AS4200000000");
    }
    for (const char* text : {"", "AS", "ASx", "192.0.2", "-1", "1x", "4294967296"})
        EXPECT_FALSE(PeerSelector::parse(text)) << text;
    EXPECT_NE(table_of("10.0.0.0/8 1\n", "0").error.message.find("which says nothing about peers"),
              std::string::npos);
}

TEST(MrtTable, TheVisitorCanRefuse) {
    const auto result = read_table_bytes(small_table(), "t", {},
                                         [](const Prefix&, std::string_view, size_t record) -> Result<void> {
                                             if (record == 3) return pktpit::fail({}, "no more");
                                             return {};
                                         });
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().where.find("t: record 3 at byte "), 0u) << result.error().to_string();
}

}  // namespace
}  // namespace pktpit::fib
