// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/forward/heap_image.h"

namespace pktpit::router::test {
namespace {

class FlowHash : public testing::Test {
  protected:
    FlowHash() { fill_test_router(image.image(), image.base()); }

    /// Which of the four next hops of 10.14.0.0/16 and 2001:db8:e::/48 the packet takes.
    template <class Fields>
    int member(const Fields& fields, const Ethernet& ethernet = arriving4) {
        const Decision decision = forward_frame(image.view(), 1, frame(ethernet, fields));
        EXPECT_EQ(decision.verdict, PP_FORWARDED);
        EXPECT_EQ(decision.header[4], 0xcc);
        return decision.header[5];
    }
    /// Packets, each made by make(i), take the next hops alike.
    template <class Make>
    void expect_even_spread(Make make) {
        constexpr int flows = 2000;
        std::map<int, int> counts;
        for (int i = 0; i < flows; i++)
            counts[member(make(i))]++;
        ASSERT_EQ(counts.size(), 4u);
        for (const auto& [hop, count] : counts)
            EXPECT_NEAR(count, flows / 4.0, flows * 0.04) << "next hop " << hop;
    }

    inline static const Ethernet arriving4{.to = port1, .from = peer};
    HeapImage image;
};

Ipv4 ipv4(int source_port, uint8_t protocol = 17) {
    return {.destination = "10.14.0.1",
            .protocol = protocol,
            .payload = transport(26, static_cast<uint16_t>(source_port), 443)};
}
Ipv6 ipv6(int source_port) {
    return {.destination = "2001:db8:e::1",
            .payload = transport(26, static_cast<uint16_t>(source_port), 443)};
}

// The hardest kind of flows to spread: they differ in a few low bits of one field.
TEST_F(FlowHash, SpreadsFlowsThatDifferInOneFieldAlone) {
    for (const uint8_t protocol : std::to_array<uint8_t>({6, 17, 33, 132, 136})) {
        SCOPED_TRACE(int{protocol});
        expect_even_spread([&](int i) { return ipv4(10000 + i, protocol); });
    }
    expect_even_spread([&](int i) { return ipv6(10000 + i); });
    std::string text;
    const auto host = [&](const char* net, int i) {
        text = net + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1);
        return std::string_view(text);
    };
    expect_even_spread([&](int i) { return Ipv4{.source = host("10.99.", i), .destination = "10.14.0.1"}; });
    expect_even_spread([&](int i) { return Ipv4{.destination = host("10.14.", i)}; });
    expect_even_spread([](int i) {
        return Ipv6{.destination = "2001:db8:e::1", .flow_label = static_cast<uint32_t>(i + 1)};
    });
}

TEST_F(FlowHash, IgnoresWhatIsNotTheFlow) {
    for (int port = 1; port < 200; port++) {
        Ipv4 fields = ipv4(port);
        const int hop = member(fields);
        fields.ttl = 9;
        fields.tos = 0xff;
        fields.id = 1;
        fields.payload.resize(900);
        EXPECT_EQ(member(fields), hop);
        fields.options = {1, 1, 1, 0};
        EXPECT_EQ(member(fields), hop) << "ports lie behind the options";
        EXPECT_EQ(member(fields, {.to = port1, .from = peer, .tags = {{0x8100, 300}, {0x8100, 20}}}), hop);
    }
}

TEST_F(FlowHash, AllFragmentsOfAPacketTakeOnePath) {
    for (int port = 1; port < 200; port++) {
        Ipv4 first = ipv4(port);
        first.fragment = 0x2000;
        const int hop = member(first);
        for (const uint16_t later : std::to_array<uint16_t>({0x2010, 0x0020})) {
            Ipv4 fragment = ipv4(port * 7);  // other bytes where a first fragment has its ports
            fragment.fragment = later;
            EXPECT_EQ(member(fragment), hop);
        }
        Ipv6 first6 = ipv6(port);
        first6.payload = Buffer{17, 0, 0, 1, 0, 0, 0, 9} + first6.payload;
        first6.next = 44;
        Ipv6 last6 = first6;
        last6.payload = Buffer{17, 0, 1, 0, 0, 0, 0, 9} + transport(26, 7, 7);
        EXPECT_EQ(member(first6), member(last6));
    }
}

// Of the flows that a router sends to one next hop, the next router must use all of its own.
TEST_F(FlowHash, RoutersInARowWithSeedsOfTheirOwnChooseIndependently) {
    constexpr int flows = 4000;
    std::mt19937_64 random(20261122);
    const auto members_of = [&](uint64_t seed, bool ipv6_too) {
        image.image().set_hash_seed(seed);
        std::vector<int> members;
        for (int i = 0; i < flows; i++)
            members.push_back(ipv6_too ? member(ipv6(10000 + i)) : member(ipv4(10000 + i)));
        return members;
    };
    for (int pair = 0; pair < 12; pair++) {
        // Drawn, and as alike as can be.
        const uint64_t one = random();
        const uint64_t other = pair % 2 == 0 ? random() : one ^ uint64_t { 1 } << (5 * pair);
        const auto first = members_of(one, pair % 4 > 1);
        const auto second = members_of(other, pair % 4 > 1);
        std::map<std::pair<int, int>, int> together;
        for (int i = 0; i < flows; i++)
            together[{first[static_cast<size_t>(i)], second[static_cast<size_t>(i)]}]++;
        ASSERT_EQ(together.size(), 16U) << "seeds " << one << ", " << other;
        for (const auto& [choice, count] : together)
            EXPECT_NEAR(count, flows / 16.0, flows * 0.02) << choice.first << ", " << choice.second;
        EXPECT_EQ(members_of(one, pair % 4 > 1), first) << "the same seed, the same members";
    }
}

TEST_F(FlowHash, PortsAreFoundBehindExtensionHeaders) {
    // Hop-by-hop, destination options, routing, authentication (its length counts in fours), then UDP.
    const Buffer chain = Buffer{60, 0, 1, 4, 0, 0, 0, 0} + Buffer{43, 0, 1, 4, 0, 0, 0, 0} +
                         Buffer{51, 0, 4, 0, 0, 0, 0, 0} + Buffer{17, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    std::map<int, int> hops;
    for (int port = 1; port <= 400; port++) {
        Ipv6 fields = ipv6(port);
        const int hop = member(fields);
        fields.payload = chain + fields.payload;
        fields.next = 0;
        EXPECT_EQ(member(fields), hop) << "same flow with and without extension headers";
        hops[hop]++;
    }
    EXPECT_EQ(hops.size(), 4u);
}

TEST_F(FlowHash, FlowLabelStandsForThePorts) {
    for (uint32_t label = 1; label < 100; label++) {
        Ipv6 one = ipv6(1);
        Ipv6 other = ipv6(2);
        one.flow_label = other.flow_label = label;
        EXPECT_EQ(member(one), member(other));
    }
}

// Padding of a short frame must not pass for ports.
TEST_F(FlowHash, PaddingIsNotPorts) {
    Ipv4 fields{.destination = "10.14.0.1", .payload = {}};
    for (uint8_t noise = 0; noise < 100; noise++) {
        const Buffer in = frame(arriving4, fields) + Buffer(26, noise);
        EXPECT_EQ(forward_frame(image.view(), 1, in).header[5], member(fields));
    }
}

}  // namespace
}  // namespace pktpit::router::test
