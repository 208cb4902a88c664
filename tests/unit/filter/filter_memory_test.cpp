// SPDX-License-Identifier: BSD-3-Clause
// The block of filters: sets replace each other whole, interfaces have their own, and what is too large is
// told.
#include <gtest/gtest.h>

#include "tests/unit/filter/random_filters.h"

namespace pktpit::test {
namespace {

constexpr auto drop = config::FilterAction::drop;

FilteredPacket tcp_to(uint16_t port, const char* source = "192.0.2.7") {
    FilteredPacket packet;
    packet.source = IpAddress::parse(source).value();
    packet.destination = IpAddress::parse(packet.source.is_v4() ? "198.51.100.1" : "2001:db8::1").value();
    packet.protocol = config::protocol_tcp;
    packet.destination_port = port;
    return packet;
}

config::Config dropping_port(uint16_t port) {
    return config_with(
        {{{.action = drop, .protocol = config::protocol_tcp, .destination_port = {{port, port}}}}});
}

uint32_t action_at(const HeapFilters& filters, uint16_t interface, const FilteredPacket& packet) {
    return PP_FILTER_ACTION(filters.rule_of(interface, false, packet));
}

TEST(FilterMemory, ASetReplacesAnotherAtOnce) {
    HeapFilters filters(dropping_port(22));
    for (const uint16_t port : std::initializer_list<uint16_t>{23, 24, 25, 22}) {
        const uint16_t before = port == 23 ? 22 : port == 22 ? 25 : static_cast<uint16_t>(port - 1);
        EXPECT_EQ(action_at(filters, 1, tcp_to(before)), PP_FILTER_DROP);
        filters.change(dropping_port(port));
        EXPECT_EQ(action_at(filters, 1, tcp_to(before)), PP_FILTER_ACCEPT);
        EXPECT_EQ(action_at(filters, 1, tcp_to(port)), PP_FILTER_DROP);
    }
}

TEST(FilterMemory, WhatIsWrittenIsNotSeenBeforeItIsPublished) {
    HeapFilters filters(dropping_port(22));
    const router::FilterSet other = filter_set_of(dropping_port(23));
    router::write_filters(filters.block(), filters.shape(), other);
    EXPECT_EQ(action_at(filters, 1, tcp_to(22)), PP_FILTER_DROP);
    EXPECT_EQ(action_at(filters, 1, tcp_to(23)), PP_FILTER_ACCEPT);
    router::publish_filters(filters.block());
    EXPECT_EQ(action_at(filters, 1, tcp_to(23)), PP_FILTER_DROP);
}

TEST(FilterMemory, InterfacesHaveTheirOwnAndOthersNone) {
    config::Config config = config_with({{{.action = drop}}, {}});
    config.interfaces["eth1"].filter_out.clear();
    const HeapFilters filters(config);
    const FilteredPacket packet = tcp_to(1);
    EXPECT_EQ(action_at(filters, 1, packet), PP_FILTER_DROP);
    EXPECT_EQ(filters.rule_of(1, true, packet), 0u) << "it has no filter of what leaves";
    EXPECT_EQ(action_at(filters, 2, packet), PP_FILTER_ACCEPT);
    EXPECT_NE(PP_FILTER_COUNTER(filters.rule_of(2, true, packet)), 0u) << "what no rule matches is counted";
    for (const uint16_t interface : std::initializer_list<uint16_t>{0, 3, 1000, 65535})
        EXPECT_EQ(filters.rule_of(interface, false, packet), 0u) << interface;
}

TEST(FilterMemory, ARuleOfOneFamilyLeavesTheOtherAlone) {
    const HeapFilters filters(
        config_with({{{.action = drop, .source = Prefix::parse("0.0.0.0/0").value()}}}));
    EXPECT_EQ(action_at(filters, 1, tcp_to(1)), PP_FILTER_DROP);
    EXPECT_EQ(action_at(filters, 1, tcp_to(1, "2001:db8::7")), PP_FILTER_ACCEPT);
}

// Flags and types are those of a header that is seen. A byte elsewhere that is like them is another thing:
// the number of the protocol (6, 1), which stands there for a later fragment and for what is cut short.
TEST(FilterMemory, WhatShowsNoHeaderHasNoFlagsAndNoType) {
    const HeapFilters filters(config_with(
        {{{.action = drop, .protocol = config::protocol_tcp, .tcp_flags = {{2, 2}}},
          {.action = drop, .protocol = config::protocol_icmp, .icmp_type = config::protocol_icmp}}}));
    FilteredPacket packet = tcp_to(1);
    packet.tcp_flags = 2;
    packet.icmp_type = config::protocol_icmp;
    for (const uint8_t protocol : {config::protocol_tcp, config::protocol_icmp}) {
        packet.protocol = protocol;
        packet.fragment = packet.cut_short = false;
        EXPECT_EQ(action_at(filters, 1, packet), PP_FILTER_DROP) << int{protocol};
        packet.fragment = true;
        EXPECT_EQ(action_at(filters, 1, packet), PP_FILTER_ACCEPT) << int{protocol};
        packet.fragment = false;
        packet.cut_short = true;
        EXPECT_EQ(action_at(filters, 1, packet), PP_FILTER_ACCEPT) << int{protocol};
    }
}

TEST(FilterMemory, SetsThatDoNotFitAreKnown) {
    const HeapFilters filters(dropping_port(22));
    Engine engine(7);
    const auto larger = filter_set_of(config_with({random_filter(engine, 1000, 1000)}));
    EXPECT_FALSE(router::filters_fit(filters.shape(), larger));
    EXPECT_TRUE(router::filters_fit(router::plan_filters(larger), larger));
}

// 16,384 rules with as many different prefixes on both sides: rows of 2 KiB each, of four classes a rule.
TEST(FilterMemory, TooLargeOnesSayWhatTheyNeed) {
    std::vector<config::Filter> all;
    for (uint32_t number = 0; number < 5; number++) {
        config::Filter filter;
        for (uint32_t i = 0; i < config::most_filter_rules; i++) {
            const Prefix host = Prefix::of(IpAddress::v4(0x0a000000 + i * 7), 32);
            filter.push_back({.action = drop, .source = host, .destination = host});
        }
        all.push_back(std::move(filter));
    }
    const auto compiled = router::compile_filters(config_with(all));
    ASSERT_FALSE(compiled);
    EXPECT_EQ(compiled.error().where, "/filters");
    EXPECT_NE(compiled.error().message.find(" MiB"), std::string::npos) << compiled.error().message;
    EXPECT_NE(compiled.error().expected.find("256 MiB"), std::string::npos);
}

TEST(FilterMemory, OnlyFiltersThatAnInterfaceHasTakeMemory) {
    config::Config config = config_with({{{.action = drop}}});
    Engine engine(3);
    const size_t before = router::compile_filters(config)->data.size();
    config.filters["idle"] = random_filter(engine, 1000, 100);
    EXPECT_EQ(router::compile_filters(config)->data.size(), before);
}

}  // namespace
}  // namespace pktpit::test
