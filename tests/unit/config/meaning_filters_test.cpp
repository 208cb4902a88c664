// SPDX-License-Identifier: BSD-3-Clause
// Filters: what their rules say, rules that can never match, and who names them.
#include <nlohmann/json.hpp>

#include "config/warnings.h"
#include "meaning_cases.h"

namespace pktpit::config {
namespace {

using test::errors_of;
using test::expect_cases;
using testing::HasSubstr;

/// Filter "f" on eth0 with one rule that drops what `rule` says.
std::string with_filter_rule(const std::string& rule) {
    return R"({"interfaces": {"eth0": {"filter_in": "f"}}, "filters": {"f": [{"action": "drop")" +
           (rule.empty() ? "" : ", " + rule) + "}]}}";
}

std::string with_filters_on_eth0(const std::string& settings) {
    return R"({"interfaces": {"eth0": {)" + settings + R"(}}, "filters": {"wan-in": [], "lan": []}})";
}

std::string with_filter_rules(const std::string& rules) {
    return R"({"interfaces": {"eth0": {"filter_out": "f"}}, "filters": {"f": [)" + rules + "]}}";
}

Config parsed_filters(const std::string& text) {
    auto config = parse(text, "/etc");
    EXPECT_TRUE(config) << (config ? "" : test::all_text(config.error()));
    return config ? *config : Config{};
}

FilterRule rule_of(const std::string& rule) {
    return parsed_filters(with_filter_rule(rule)).filters.at("f").at(0);
}

TEST(Filters, RulesAreReadAsTheyAreWritten) {
    EXPECT_EQ(rule_of(""), (FilterRule{.action = FilterAction::drop}));
    EXPECT_EQ(rule_of(R"("source": "192.0.2.7")").source, Prefix::parse("192.0.2.7/32").value());
    EXPECT_EQ(rule_of(R"("destination": "2001:db8::/32")").destination,
              Prefix::parse("2001:db8::/32").value());
    const FilterRule ports = rule_of(
        R"("protocol": "tcp", "source_port": "1000-2000", "destination_port": 22, "tcp_flags": "syn,!ack")");
    EXPECT_EQ(ports.source_port, (PortRange{1000, 2000}));
    EXPECT_EQ(ports.destination_port, (PortRange{22, 22}));
    EXPECT_EQ(ports.tcp_flags, (TcpFlags{0x12, 0x02}));
    EXPECT_EQ(ports.protocol, 6);
    EXPECT_EQ(rule_of(R"("protocol": 47)").protocol, 47);
    EXPECT_EQ(rule_of(R"("protocol": "icmpv6", "icmp_type": 128)").icmp_type, 128);
    EXPECT_EQ(rule_of(R"("fragment": true)").fragment, true);
}

TEST(Filters, WhatARuleCannotBe) {
    expect_cases(with_filter_rule,
                 {
                     {R"("protocol": "udp", "destination_port": "0-65535")"},
                     {R"("source": "192.0.2.1/24")", "/filters/f/0/source"},
                     {R"("source": "x")", "/filters/f/0/source"},
                     {R"("protocol": "tpc")", "/filters/f/0/protocol", "no protocol", "tcp, udp"},
                     {R"("protocol": "tcp", "source_port": "22-")", "/filters/f/0/source_port", "", "range"},
                     {R"("protocol": "tcp", "source_port": "-22")", "/filters/f/0/source_port", "", "range"},
                     {R"("protocol": "tcp", "source_port": "1-2-3")", "/filters/f/0/source_port", "no range"},
                     {R"("protocol": "tcp", "source_port": "65536")", "/filters/f/0/source_port", "no port"},
                     {R"("protocol": "tcp", "source_port": 65536)", "/filters/f/0/source_port"},
                     {R"("protocol": "tcp", "source_port": "2000-1000")", "/filters/f/0/source_port",
                      "ends before it begins"},
                     {R"("protocol": "tcp", "tcp_flags": "sny")", "/filters/f/0/tcp_flags", "no flag"},
                     {R"("protocol": "tcp", "tcp_flags": "")", "/filters/f/0/tcp_flags", "no flag"},
                     {R"("protocol": "tcp", "tcp_flags": "syn,!syn")", "/filters/f/0/tcp_flags", "twice"},
                     {R"("source_port": 22)", "/filters/f/0/source_port", "without a protocol", "tcp"},
                     {R"("tcp_flags": "syn")", "/filters/f/0/tcp_flags", "not TCP's alone"},
                     {R"("icmp_type": 8)", "/filters/f/0/icmp_type", "not ICMP's alone", "icmp"},
                     {R"("protocol": "tcp", "icmp_type": 8)", "/filters/f/0/icmp_type", "not ICMP's alone"},
                 });
}

TEST(Filters, RulesThatCanNeverMatchAreTold) {
    expect_cases(with_filter_rule,
                 {
                     {R"("source": "192.0.2.0/24", "destination": "2001:db8::/32")",
                      "/filters/f/0/destination", "can never match", "two of IPv4"},
                     {R"("protocol": "gre", "destination_port": 22)", "/filters/f/0/destination_port",
                      "can never match: protocol \"gre\" has no ports"},
                     {R"("protocol": "tcp", "destination_port": 22, "fragment": true)",
                      "/filters/f/0/destination_port", "can never match"},
                     {R"("protocol": "tcp", "tcp_flags": "syn", "fragment": true)", "/filters/f/0/tcp_flags",
                      "can never match"},
                     {R"("protocol": "icmp", "icmp_type": 8, "fragment": true)", "/filters/f/0/icmp_type",
                      "can never match"},
                     {R"("protocol": "icmp", "icmp_type": 8, "source": "2001:db8::/32")",
                      "/filters/f/0/icmp_type", "can never match", "icmpv6"},
                     {R"("protocol": "icmpv6", "destination": "192.0.2.0/24")", "/filters/f/0/protocol",
                      "can never match", "\"icmp\""},
                 });
}

TEST(Filters, InterfacesNameThem) {
    expect_cases(
        with_filters_on_eth0,
        {
            {R"("filter_in": "wan-in", "filter_out": "lan")"},
            {R"("filter_in": "wan_in")", "/interfaces/eth0/filter_in", "no filter", "", "\"wan-in\""},
            {R"("filter_out": "x")", "/interfaces/eth0/filter_out", "no filter", "", "/filters"},
            {R"("filter_out": "no name")", "/interfaces/eth0/filter_out"},
        });
}

TEST(Filters, ATooLargeOneSaysWhatItHasAndWhatItMayHave) {
    std::string rules;
    for (size_t i = 0; i <= most_filter_rules; i++)
        rules += (i ? "," : "") + std::string(R"({"action":"drop"})");
    const Errors errors = errors_of(with_filter_rules(rules));
    test::expect_one(errors, "/filters/f", "16385 rules");
    EXPECT_THAT(errors[0].expected, HasSubstr("16384"));
}

TEST(Filters, ARuleBehindOneThatTakesAllOfItIsWarnedOf) {
    const auto warned = [](const std::string& rules) {
        const Errors all = warnings_of(parsed_filters(with_filter_rules(rules)));
        return all.empty() ? std::string() : all[0].where + " " + all[0].message;
    };
    const std::string wide = R"({"action": "drop", "source": "192.0.2.0/24"},)";
    EXPECT_THAT(warned(wide + R"({"action": "accept", "source": "192.0.2.7"})"),
                testing::AllOf(HasSubstr("/filters/f/1"), HasSubstr("rule 0")));
    EXPECT_EQ(warned(wide + R"({"action": "accept", "source": "192.0.3.0/24"})"), "");
    EXPECT_EQ(warned(wide + R"({"action": "accept"})"), "");
    const std::string tcp = R"({"action": "drop", "protocol": "tcp"},)";
    EXPECT_NE(warned(tcp + R"({"action": "accept", "protocol": "tcp", "tcp_flags": "syn"})"), "");
    EXPECT_EQ(warned(tcp + R"({"action": "accept", "protocol": "udp"})"), "");
    const std::string whole = R"({"action": "drop", "fragment": false},)";
    EXPECT_NE(warned(whole + R"({"action": "accept", "protocol": "tcp", "source_port": 22})"), "");
    EXPECT_EQ(warned(whole + R"({"action": "accept", "protocol": "tcp"})"), "");
    const std::string v6 = R"({"action": "drop", "source": "::/0"},)";
    EXPECT_EQ(warned(v6 + R"({"action": "accept", "protocol": "tcp"})"), "");
    EXPECT_NE(warned(v6 + R"({"action": "accept", "source": "2001:db8::1"})"), "");
}

// Frames in a socket cannot be given back to the kernel.
TEST(Filters, ToKernelIsForInlinePorts) {
    const auto with = [](const std::string& forwarding, const std::string& key) {
        return R"({"interfaces": {"eth0": {")" + key + R"(": "f"}, "eth1": {"forwarding": ")" + forwarding +
               R"("}}, "filters": {"f": [{"action": "to_kernel"}]}})";
    };
    for (const std::string key : {"filter_in", "filter_out"}) {
        EXPECT_TRUE(parse(with("inline", key), "/")) << key;
        for (const std::string forwarding : {"split", "auto"}) {
            const auto refused = parse(with(forwarding, key), "/");
            ASSERT_FALSE(refused) << forwarding;
            EXPECT_EQ(refused.error()[0].where, "/interfaces/eth0/" + key);
        }
    }
}

TEST(Filters, OneThatNoInterfaceHasIsWarnedOf) {
    const Errors all = warnings_of(parsed_filters(R"({"interfaces": {"eth0": {}}, "filters": {"f": []}})"));
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].where, "/filters/f");
}

TEST(Filters, RulesInWords) {
    EXPECT_EQ(
        to_string(rule_of(
            R"("protocol": "tcp", "source": "192.0.2.0/24", "destination_port": "1-9", "tcp_flags": "syn,!ack")")),
        "drop tcp from 192.0.2.0/24 to any port 1-9 flags syn,!ack");
    EXPECT_EQ(to_string(rule_of(R"("protocol": 200, "fragment": true)")), "drop 200 fragment");
}

TEST(Filters, ADifferenceIsTold) {
    const Config one = parsed_filters(with_filter_rules(R"({"action": "drop"})"));
    Config other = parsed_filters(with_filter_rules(R"({"action": "accept"}, {"action": "drop"})"));
    EXPECT_THAT(describe_difference(one, other),
                testing::ElementsAre("filter f: rules: 1 → 2", "filter f: rule 0 becomes accept"));
    other.filters.clear();
    other.interfaces.at("eth0").filter_out.clear();
    EXPECT_THAT(
        describe_difference(one, other),
        testing::UnorderedElementsAre("filter f: remove", "interface eth0: filter of what leaves: f → none"));
}

}  // namespace
}  // namespace pktpit::config
