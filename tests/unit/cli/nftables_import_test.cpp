// SPDX-License-Identifier: BSD-3-Clause
// nftables' rules as filters: what can be said is said alike, all else is listed with why.
#include "router/cli/nftables_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace pktpit::router::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const char* const forward_chain =
    R"({"chain": {"family": "inet", "table": "fw", "name": "fwd", "handle": 1, "type": "filter", "hook": "forward", "prio": 0, "policy": "accept"}})";

/// A rule of that chain with these statements.
std::string rule(const std::string& statements, int handle = 5) {
    return R"({"rule": {"family": "inet", "table": "fw", "chain": "fwd", "handle": )" +
           std::to_string(handle) + R"(, "expr": [)" + statements + "]}}";
}

std::string ruleset(const std::vector<std::string>& objects) {
    std::string text = R"({"nftables": [{"metainfo": {"version": "1.0.6"}})";
    for (const std::string& one : objects)
        text += ", " + one;
    return text + "]}";
}

ImportedFilters imported(const std::vector<std::string>& objects) {
    auto done = import_nftables(ruleset(objects));
    EXPECT_TRUE(done) << (done ? "" : done.error().to_string());
    return done ? std::move(*done) : ImportedFilters{std::make_unique<json>(), {}, {}};
}

/// Of one rule.
json rules_of(const std::string& statements) {
    const ImportedFilters all = imported({forward_chain, rule(statements)});
    EXPECT_THAT(all.left, IsEmpty()) << statements;
    return all.filters->at("fw-fwd");
}

std::string why_left(const std::string& statements) {
    const ImportedFilters all = imported({forward_chain, rule(statements)});
    EXPECT_THAT(all.filters->at("fw-fwd"), json::array()) << statements;
    return all.left.size() == 1 ? all.left[0] : "";
}

std::string match(const std::string& left, const std::string& right, const std::string& op = "==") {
    return R"({"match": {"op": ")" + op + R"(", "left": )" + left + R"(, "right": )" + right + "}}";
}

std::string payload(const std::string& protocol, const std::string& field) {
    return R"({"payload": {"protocol": ")" + protocol + R"(", "field": ")" + field + R"("}})";
}

constexpr const char* drop = R"({"drop": null})";

TEST(NftablesImport, MatchesAreSaidAlike) {
    EXPECT_EQ(rules_of(drop), json::parse(R"([{"action": "drop"}])"));
    EXPECT_EQ(
        rules_of(match(payload("ip", "saddr"), R"({"prefix": {"addr": "203.0.113.0", "len": 24}})") + "," +
                 match(payload("tcp", "dport"), "22") + R"(, {"counter": {"packets": 1, "bytes": 2}}, )" +
                 drop),
        json::parse(
            R"([{"action": "drop", "source": "203.0.113.0/24", "protocol": "tcp", "destination_port": "22"}])"));
    EXPECT_EQ(
        rules_of(match(payload("ip6", "daddr"), R"("2001:db8::1")") + "," +
                 match(payload("udp", "sport"), R"({"range": [1000, 2000]})") + R"(, {"accept": null})"),
        json::parse(
            R"([{"action": "accept", "destination": "2001:db8::1", "protocol": "udp", "source_port": "1000-2000"}])"));
    EXPECT_EQ(rules_of(match(R"({"meta": {"key": "l4proto"}})", "47") + "," + drop),
              json::parse(R"([{"action": "drop", "protocol": 47}])"));
    EXPECT_EQ(
        rules_of(match(payload("icmpv6", "type"), R"("echo-request")") + "," + drop),
        json::parse(R"([{"action": "drop", "protocol": "icmpv6", "icmp_type": 128, "source": "::/0"}])"));
    EXPECT_EQ(rules_of(match(R"({"meta": {"key": "nfproto"}})", R"("ipv4")") + "," + drop),
              json::parse(R"([{"action": "drop", "source": "0.0.0.0/0"}])"));
    EXPECT_EQ(
        rules_of(match(R"({"&": [)" + payload("tcp", "flags") + R"(, {"|": ["syn", "ack"]}]})", R"("syn")") +
                 "," + drop),
        json::parse(R"([{"action": "drop", "protocol": "tcp", "tcp_flags": "syn,!ack"}])"));
}

TEST(NftablesImport, FlagsMayBeNumbers) {
    const json wanted = json::parse(R"([{"action": "drop", "protocol": "tcp", "tcp_flags": "syn,!ack"}])");
    for (const char* mask : {"[2, 16]", "18"})
        EXPECT_EQ(
            rules_of(match(R"({"&": [)" + payload("tcp", "flags") + ", " + mask + "]}", "2") + "," + drop),
            wanted);
    EXPECT_EQ(rules_of(match(payload("tcp", "flags"), "2", "in") + "," + drop),
              json::parse(R"([{"action": "drop", "protocol": "tcp", "tcp_flags": "syn"}])"));
}

TEST(NftablesImport, SetsBecomeRules) {
    const std::string set =
        R"({"set": {"family": "inet", "table": "fw", "name": "bad", "type": "ipv4_addr", "elem": ["192.0.2.1", {"elem": {"val": {"prefix": {"addr": "198.51.100.0", "len": 24}}, "timeout": 5}}]}})";
    const ImportedFilters all = imported(
        {forward_chain,
         rule(match(payload("ip", "saddr"), R"("@bad")") + "," +
              match(payload("tcp", "dport"), R"({"set": [22, {"range": [8000, 8080]}]})") + "," + drop),
         set});
    EXPECT_THAT(all.left, IsEmpty());
    EXPECT_EQ(all.filters->at("fw-fwd").size(), 4u);
    EXPECT_THAT(all.filters->dump(), HasSubstr("198.51.100.0/24"));
    EXPECT_THAT(all.filters->dump(), HasSubstr("8000-8080"));
}

TEST(NftablesImport, APolicyIsTheLastRule) {
    std::string chain = forward_chain;
    chain.replace(chain.find("\"accept\""), 8, "\"drop\"");
    const ImportedFilters all = imported({chain, rule(R"({"accept": null})")});
    EXPECT_EQ(all.filters->at("fw-fwd"), json::parse(R"([{"action": "accept"}, {"action": "drop"}])"));
}

TEST(NftablesImport, WhatCannotBeSaidIsListedWithWhy) {
    EXPECT_THAT(why_left(match(R"({"ct": {"key": "state"}})", R"(["established", "related"])", "in") +
                         R"(, {"accept": null})"),
                HasSubstr("rule 5 of inet fw fwd: connection tracking"));
    EXPECT_THAT(why_left(match(R"({"meta": {"key": "iifname"}})", R"("eth0")") + "," + drop),
                HasSubstr("filter_in"));
    EXPECT_THAT(why_left(match(payload("ip", "saddr"), R"("192.0.2.1")", "!=") + "," + drop),
                HasSubstr("!="));
    EXPECT_THAT(why_left(match(payload("ip", "ttl"), "1") + "," + drop), HasSubstr("ip ttl"));
    EXPECT_THAT(why_left(R"({"jump": {"target": "x"}})"), HasSubstr("\"jump\" has no equal"));
    EXPECT_THAT(
        why_left(match(payload("ip", "saddr"), R"({"range": ["192.0.2.1", "192.0.2.9"]})") + "," + drop),
        HasSubstr("range of addresses"));
    EXPECT_THAT(why_left(match(payload("th", "dport"), "53") + "," + drop), HasSubstr("port"));
    EXPECT_THAT(why_left(match(payload("ip", "saddr"), R"("@none")") + "," + drop),
                HasSubstr("set is not there"));
    EXPECT_THAT(why_left(match(payload("ip", "saddr"), R"("192.0.2.1")") + "," +
                         match(payload("ip6", "daddr"), R"("2001:db8::1")") + "," + drop),
                HasSubstr("no family"));
}

TEST(NftablesImport, NotesSayWhatIsNotQuiteTheSame) {
    const ImportedFilters all = imported(
        {forward_chain, rule(R"({"log": null}, {"reject": {"type": "icmpx", "expr": "port-unreachable"}})")});
    EXPECT_EQ(all.filters->at("fw-fwd"), json::parse(R"([{"action": "drop"}])"));
    EXPECT_THAT(all.notes, ElementsAre(HasSubstr("log"), HasSubstr("reject")));
}

TEST(NftablesImport, OtherChainsAreListed) {
    std::string input = forward_chain;
    input.replace(input.find("\"forward\""), 9, "\"input\"");
    const ImportedFilters all = imported({input, rule(drop), rule(drop, 6)});
    EXPECT_TRUE(all.filters->empty());
    EXPECT_THAT(all.left, ElementsAre(HasSubstr("hook input"), HasSubstr("rules of inet fw fwd")));
}

TEST(NftablesImport, OtherTextsAreRefused) {
    for (const char* text :
         {"", "{", "[]", "{}", R"({"nftables": 5})", R"({"nftables": [5]})", "table inet fw {}"})
        EXPECT_FALSE(import_nftables(text)) << text;
    EXPECT_TRUE(import_nftables(R"({"nftables": []})"));
}

}  // namespace
}  // namespace pktpit::router::cli
