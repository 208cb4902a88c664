// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/mrt_updates.h"

#include <gtest/gtest.h>

#include "tests/unit/tables/collect.h"
#include "tests/unit/tables/mrt_bytes.h"

namespace pktpit::fib {
namespace {

using namespace pktpit::test;  // NOLINT: the encoder's words

const TestPeer peer4 = {addr("192.0.2.1"), 64500};
const TestPeer peer6 = {addr("2001:db8::2"), 64501};

TestAttributes via(std::string_view next_hop) {
    TestAttributes attributes;
    attributes.path = {{2, {64500}}};
    attributes.next_hop = addr(next_hop);
    return attributes;
}

/// Withdrawn routes, MP_UNREACH_NLRI, NLRI and MP_REACH_NLRI in one message.
std::string everything(bool wide_as, std::optional<uint32_t> path_id = {}) {
    TestAttributes attributes = via("192.0.2.7");
    attributes.mp_reach = full_reach(2, 1, {addr("2001:db8::7"), addr("fe80::7")},
                                     prefixes({net("2001:db8::/32"), net("::/0")}, path_id));
    attributes.mp_unreach = unreach(2, 1, prefixes({net("2001:db9::/32")}, path_id));
    return bgp_update(prefixes({net("10.0.0.0/8"), net("10.1.2.3/32")}, path_id), attributes.encode(wide_as),
                      prefixes({net("11.0.0.0/8"), net("0.0.0.0/0")}, path_id));
}
Lines everything_at(const std::string& record_and_time) {
    Lines lines;
    for (const char* line : {"w 10.0.0.0/8", "w 10.1.2.3/32", "w 2001:db9::/32", "a 11.0.0.0/8 192.0.2.7",
                             "a 0.0.0.0/0 192.0.2.7", "a 2001:db8::/32 2001:db8::7", "a ::/0 2001:db8::7"})
        lines.push_back(record_and_time + " " + line);
    return lines;
}

TEST(MrtUpdates, EverySubtypeWithMessages) {
    for (const uint16_t subtype : std::initializer_list<uint16_t>{1, 4, 6, 7, 8, 9, 10, 11}) {
        const bool wide = subtype == 4 || subtype == 7 || subtype == 9 || subtype == 11;
        const std::string message = everything(wide, subtype >= 8 ? std::optional(77u) : std::nullopt);
        const ReadOutcome plain = updates_of(bgp4mp(1470009600, peer4, message, subtype));
        EXPECT_TRUE(plain.good) << plain.error.to_string();
        EXPECT_EQ(plain.lines, everything_at("1 1470009600")) << subtype;
        const ReadOutcome extended = updates_of(bgp4mp_et(1470009600, 1500, peer6, message, subtype));
        EXPECT_TRUE(extended.good) << extended.error.to_string();
        EXPECT_EQ(extended.lines, everything_at("1 1470009600.0015")) << subtype;
    }
}

TEST(MrtUpdates, TheBytesOfTheRfc) {
    const std::string bytes(
        "\x57\x9f\x40\x80"                  // 1 August 2016
        "\x00\x10\x00\x01\x00\x00\x00\x32"  // BGP4MP, BGP4MP_MESSAGE, 50 bytes
        "\xfb\xf4\xfb\xf3"                  // peer's and local AS
        "\x00\x00\x00\x01"                  // interface, IPv4
        "\xc0\x00\x02\x01\xc0\x00\x02\xfe"  // peer's and local address
        "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"
        "\x00\x22\x02"      // 34 bytes, UPDATE
        "\x00\x02\x08\x0a"  // withdrawn: 10/8
        "\x00\x07"          // attributes
        "\x40\x03\x04\xc0\x00\x02\x07"
        "\x08\xac",  // 172/8
        12 + 50);
    EXPECT_EQ(bytes, mrt(0x579f4080, 16, 1,
                         bgp4mp_body(peer4, false,
                                     bgp_update(prefixes({net("10.0.0.0/8")}),
                                                attribute(0x40, 3, Bytes().address(addr("192.0.2.7"))),
                                                prefixes({net("172.0.0.0/8")})))));
    const ReadOutcome outcome = updates_of(bytes);
    EXPECT_TRUE(outcome.good) << outcome.error.to_string();
    EXPECT_EQ(outcome.lines, (Lines{"1 1470054528 w 10.0.0.0/8", "1 1470054528 a 172.0.0.0/8 192.0.2.7"}));
}

TEST(MrtUpdates, CutAtEveryByte) {
    const std::string first = bgp4mp(1, peer4, everything(true));
    const std::string second = bgp4mp_et(2, 3, peer6, everything(false), 1);
    const std::string bytes = first + second;
    for (size_t cut = 1; cut < bytes.size(); cut++) {
        const ReadOutcome outcome = updates_of(bytes.substr(0, cut));
        ASSERT_EQ(outcome.good, cut == first.size()) << cut;
        if (outcome.good) continue;
        ASSERT_NE(outcome.error.message.find("the file ends after"), std::string::npos)
            << outcome.error.to_string();
        ASSERT_EQ(outcome.lines.size(), cut < first.size() ? 0u : 7u) << cut;
    }
}

TEST(MrtUpdates, ABodyCutAtEveryByteOrWithOneTooMany) {
    for (const uint16_t subtype : std::initializer_list<uint16_t>{1, 4, 9}) {
        const std::string body = bgp4mp_body(
            peer6, subtype != 1, everything(subtype != 1, subtype == 9 ? std::optional(5u) : std::nullopt));
        for (size_t cut = 0; cut < body.size(); cut++) {
            const ReadOutcome outcome = updates_of(mrt(1, 16, subtype, body.substr(0, cut)));
            ASSERT_FALSE(outcome.good) << cut;
            ASSERT_EQ(outcome.error.where.find("t: record 1 at byte "), 0u);
            ASSERT_FALSE(outcome.error.expected.empty());
            ASSERT_TRUE(outcome.lines.empty());
        }
        EXPECT_FALSE(updates_of(mrt(1, 16, subtype, body + "x")).good);
    }
}

/// The BGP message itself cut, its own length set right: only the lengths inside disagree.
TEST(MrtUpdates, AMessageCutAtEveryByte) {
    TestAttributes attributes;
    attributes.mp_reach = full_reach(2, 1, {addr("2001:db8::7")}, prefixes({net("2001:db8::/32")}));
    const std::string message = bgp_update(prefixes({net("10.0.0.0/8")}), attributes.encode(), "");
    for (size_t cut = 19; cut < message.size(); cut++) {
        const ReadOutcome outcome =
            updates_of(bgp4mp(1, peer4, bgp_message(2, message.substr(19, cut - 19))));
        ASSERT_FALSE(outcome.good) << cut;
    }
}

TEST(MrtUpdates, WhatIsOfNoUseIsCounted) {
    TestAttributes foreign;
    foreign.mp_reach = full_reach(1, 128, {}, "\x12\x34");
    foreign.mp_unreach = unreach(25, 65, "vpls");
    const ReadOutcome outcome = updates_of(
        mrt(1, 16, 0, "state") + mrt(1, 16, 5, "state") + mrt(1, 17, 5, "state") + mrt(1, 16, 2, "entry") +
        mrt(1, 13, 1, "table") + mrt(1, 16, 99, "") + bgp4mp(1, peer4, bgp_message(1, "open")) +
        bgp4mp(1, peer4, bgp_message(3, "notification")) + bgp4mp(1, peer4, bgp_message(4, "")) +
        bgp4mp(1, peer4, bgp_message(5, "refresh")) + bgp4mp(1, peer4, bgp_message(200, "")) +
        bgp4mp(1, peer4, bgp_update("", "", "")) +
        bgp4mp(1, peer4, bgp_update("", attribute(0x80, 15, unreach(2, 1, "")), "")) +
        bgp4mp(1, peer4, bgp_update("", foreign.encode(), "")) +
        bgp4mp(9, peer4, bgp_update(prefixes({net("10.0.0.0/8")}), "", "")));
    EXPECT_TRUE(outcome.good) << outcome.error.to_string();
    EXPECT_EQ(outcome.lines, Lines{"15 9 w 10.0.0.0/8"});
    const std::map<std::string, size_t, std::less<>> expected = {{"BGP4MP STATE_CHANGE", 1},
                                                                 {"BGP4MP STATE_CHANGE_AS4", 1},
                                                                 {"BGP4MP_ET STATE_CHANGE_AS4", 1},
                                                                 {"BGP4MP ENTRY", 1},
                                                                 {"BGP4MP subtype 99", 1},
                                                                 {"TABLE_DUMP_V2 PEER_INDEX_TABLE", 1},
                                                                 {"BGP OPEN", 1},
                                                                 {"BGP NOTIFICATION", 1},
                                                                 {"BGP KEEPALIVE", 1},
                                                                 {"BGP ROUTE-REFRESH", 1},
                                                                 {"BGP messages of other types", 1},
                                                                 {"End-of-RIB", 2},
                                                                 {"routes of address family 1/128", 1},
                                                                 {"routes of address family 25/65", 1}};
    EXPECT_EQ(outcome.summary.skipped.by_name(), expected);
}

TEST(MrtUpdates, WrongValues) {
    const auto message_of = [](std::string_view bytes) { return updates_of(bytes).error.message; };
    std::string marker = bgp4mp(1, peer4, bgp_message(4, ""));
    marker[12 + 20 + 3] = 0;
    EXPECT_NE(message_of(marker).find("marker that is not all ones"), std::string::npos);
    EXPECT_NE(
        message_of(bgp4mp(1, peer4, bgp_update("", TestAttributes().encode(), prefixes({net("10.0.0.0/8")}))))
            .find("without NEXT_HOP"),
        std::string::npos);
    EXPECT_NE(message_of(bgp4mp(1, peer4, bgp_update("\x21xxxxx", "", ""))).find("prefix length 33"),
              std::string::npos);
    std::string family = bgp4mp(1, peer4, bgp_message(4, ""));
    family[12 + 11] = 3;
    EXPECT_NE(message_of(family).find("address family 3"), std::string::npos);
    TestAttributes bad;
    bad.mp_reach = full_reach(2, 1, {addr("192.0.2.1"), addr("192.0.2.1")}, "");
    EXPECT_NE(message_of(bgp4mp(1, peer4, bgp_update("", bad.encode(), ""))).find("next hop of 8 bytes"),
              std::string::npos);
}

TEST(MrtUpdates, APeerAskedFor) {
    const std::string bytes = bgp4mp(1, peer4, bgp_update(prefixes({net("10.0.0.0/8")}), "", "")) +
                              bgp4mp(2, peer6, bgp_update(prefixes({net("11.0.0.0/8")}), "", ""));
    for (const char* peer : {"2001:db8::2", "AS64501"}) {
        const ReadOutcome outcome = updates_of(bytes, peer);
        EXPECT_EQ(outcome.lines, Lines{"2 2 w 11.0.0.0/8"});
        EXPECT_EQ(outcome.summary.skipped.of("messages of other peers"), 1u);
    }
    EXPECT_EQ(updates_of(bytes, "AS1").error.message, "nothing from a peer AS1");
    EXPECT_NE(updates_of(bytes, "1").error.message.find("do not number their peers"), std::string::npos);
}

TEST(MrtUpdates, ATableIsNoFileOfUpdates) {
    EXPECT_NE(updates_of(peer_index_table({peer4})).error.message.find("a table, not a file of updates"),
              std::string::npos);
}

}  // namespace
}  // namespace pktpit::fib
