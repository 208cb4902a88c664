// SPDX-License-Identifier: BSD-3-Clause
// `pktpit check FILE`: files on disk, what people and what programs read.
#include "router/check/check.h"

#include <nlohmann/json.hpp>

#include <random>

#include "config/config.h"
#include "router/check/check_tables.h"
#include "tests/unit/config/support.h"

namespace pktpit::router::check {
namespace {

namespace test = config::test;

using config::test::places;
using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

std::string replaced(std::string text, const std::string& from, const std::string& to) {
    for (size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size()))
        text.replace(at, from.size(), to);
    return text;
}

TEST(Check, BrokenFilesGiveExactlyTheTextOnRecord) {
    int checked = 0;
    for (const auto& entry : std::filesystem::directory_iterator(TEST_DIRECTORY "/golden")) {
        if (entry.path().extension() != ".json") continue;
        CheckReport report = check_file(entry.path().string());
        std::filesystem::path wanted = entry.path();
        wanted.replace_extension(".txt");
        std::string text = replaced(report.text, TEST_DIRECTORY "/golden/", "");
        if (std::getenv("PKTPIT_WRITE_GOLDEN")) std::ofstream(wanted) << text;
        EXPECT_EQ(text, test::text_of(wanted.string())) << entry.path();
        EXPECT_EQ(report.exit_status, 1);
        json machine = json::parse(report.json);
        EXPECT_EQ(machine["valid"], false);
        EXPECT_THAT(report.text, HasSubstr(": " + std::to_string(machine["errors"].size()) + " error"));
        for (const json& error : machine["errors"]) {
            EXPECT_THAT(report.text, HasSubstr(error["message"].get<std::string>()));
            EXPECT_THAT(report.text, HasSubstr(error["where"].get<std::string>()));
        }
        checked++;
    }
    EXPECT_GE(checked, 5);
}

TEST(Check, ExamplesAreValid) {
    int checked = 0;
    for (const auto& entry : std::filesystem::directory_iterator(EXAMPLES_DIRECTORY)) {
        if (entry.path().extension() != ".json") continue;
        auto config = config::load(entry.path().string());
        ASSERT_TRUE(config) << entry.path() << "\n" << test::all_text(config.error());
        EXPECT_EQ(*config::parse(config::to_json(*config).dump(), config->base_directory), *config)
            << entry.path();
        CheckReport report = check_file(entry.path().string());
        EXPECT_EQ(report.exit_status, 0) << report.text;
        EXPECT_THAT(report.text, testing::StartsWith(entry.path().string() + ": valid\n"));
        EXPECT_EQ(json::parse(report.json)["valid"], true);
        EXPECT_EQ(json::parse(report.json)["errors"], json::array());
        checked++;
    }
    EXPECT_GE(checked, 7);
}

TEST(Check, GatewaysThatNoRouteLeadsToAreWarnedOf) {
    test::TemporaryDirectory directory;
    const auto path = directory.write("c.json", R"({
        "interfaces": {"lo": {"addresses": ["192.0.2.1/24", "2001:db8::1/64"]}},
        "routes": [
            {"prefix": "0.0.0.0/0", "via": "192.0.2.9"},
            {"prefix": "10.0.0.0/8", "via": "192.0.2.2"},
            {"prefix": "11.0.0.0/8", "via": "10.1.1.1"},
            {"prefix": "12.0.0.0/8", "next_hops": [{"via": "192.0.2.3"}, {"via": "172.16.0.1"}]},
            {"prefix": "13.0.0.0/8", "via": "13.1.1.1"},
            {"prefix": "14.0.0.0/8", "via": "14.1.1.1"},
            {"prefix": "14.1.0.0/16", "via": "192.0.2.4"},
            {"prefix": "2001:db8:1::/48", "via": "2001:db8:2::1"}
        ]})");
    const CheckReport report = check_file(path);
    EXPECT_EQ(report.exit_status, 0);
    const json machine = json::parse(report.json);
    EXPECT_EQ(machine["valid"], true);
    std::vector<std::string> where;
    for (const json& warning : machine["warnings"])
        where.push_back(warning["where"]);
    EXPECT_THAT(where, ElementsAre("/routes/3/next_hops/1", "/routes/4", "/routes/7"));
    EXPECT_EQ(machine["warnings"][0]["line"], 7);
    EXPECT_THAT(report.text, HasSubstr("warning: gateway \"172.16.0.1\" is on no connected net"));
    EXPECT_THAT(report.text, HasSubstr("gateway \"13.1.1.1\" lies within the route's own prefix 13.0.0.0/8"));
    EXPECT_THAT(report.text, HasSubstr(": valid\n"));
}

TEST(Check, ADefaultRouteLeadsToGatewaysOnlyWhereThatIsAllowed) {
    test::TemporaryDirectory directory;
    const std::string text = R"({
        "interfaces": {"lo": {"addresses": ["192.0.2.1/24"]}},
        "routes": [{"prefix": "0.0.0.0/0", "via": "192.0.2.9"}],
        "routes_files": [{"path": "t.txt", "next_hops": {"*": "10.0.0.1"}}])";
    directory.write("t.txt", "203.0.113.0/24 1\n");
    const auto warned = [&](const std::string& rest) {
        return json::parse(check_file(directory.write("c.json", text + rest)).json)["warnings"].size();
    };
    EXPECT_EQ(warned("}"), 1U);
    EXPECT_EQ(warned(R"(, "routing": {"resolve_via_default": true}})"), 0U);
}

TEST(Check, a_file_that_cannot_be_read) {
    test::TemporaryDirectory directory;
    const CheckReport report = check_file(directory.path() + "/missing.json");
    EXPECT_EQ(report.exit_status, 1);
    EXPECT_EQ(report.text.find(directory.path()), 0U);
    EXPECT_EQ(json::parse(report.json)["errors"][0]["line"], nullptr);
}

/// A configuration with one table of this text.
class TableOf {
  public:
    explicit TableOf(const std::string& text,
                     const std::string& next_hops = R"({"1": "192.0.2.2", "6": "2001:db8::2"})",
                     const std::string& rest = "") {
        directory_.write("t.txt", text);
        path_ = directory_.write(
            "a.json", R"({"interfaces": {"eth0": {"addresses": ["192.0.2.1/24", "2001:db8::1/64"]}},
            "routes_files": [{"path": "t.txt", "next_hops": )" +
                          next_hops + "}]" + rest + "}");
    }
    [[nodiscard]] CheckReport report() const { return check_file(path_); }
    [[nodiscard]] TableCheck tables() const { return check_tables(*config::load(path_)); }
    [[nodiscard]] std::string table() const { return directory_.path() + "/t.txt"; }

  private:
    test::TemporaryDirectory directory_;
    std::string path_;
};

TEST(CheckTables, CountsWhatIsThere) {
    TableOf table("# comment\n10.0.0.0/8 1\n\n10.1.0.0/16 1\n10.0.0.0/8 1\n2001:db8:5::/48 6\n");
    TableCheck found = table.tables();
    EXPECT_THAT(found.in_files, testing::IsEmpty());
    ASSERT_EQ(found.tables.size(), 1U);
    EXPECT_EQ(found.tables[0].path, table.table());
    EXPECT_EQ(found.tables[0].ipv4_routes, 3U);
    EXPECT_EQ(found.tables[0].ipv6_routes, 1U);
    EXPECT_EQ(found.tables[0].repeated, 1U);
    EXPECT_EQ(found.tables[0].ids, 2U);
    EXPECT_EQ(table.report().exit_status, 0);
    EXPECT_THAT(table.report().text, HasSubstr("3 IPv4 routes, 1 IPv6 route, 2 next-hop ids\n"
                                               "        1 prefix is there more than once"));
}

TEST(CheckTables, EveryBadLineAndEveryUnknownIdIsNamed) {
    TableOf table(
        "10.0.0.0/8 1\nnonsense\n10.1.0.1/16 1\n10.2.0.0/16 1\n10.3.0.0/16 7\n10.4.0.0/16\n"
        "2001:db8:5::/48 1\n2001:db8:6::/48 6\n10.5.0.0/16 7\n10.6.0.0/16 6\n10.7.0.0/16 1 extra");
    TableCheck found = table.tables();
    std::vector<std::string> lines;
    for (int line : {2, 3, 5, 6, 7, 11})
        lines.push_back(table.table() + ":" + std::to_string(line));
    EXPECT_EQ(places(found.in_files), lines) << test::all_text(found.in_files);
    EXPECT_EQ(found.in_files[2].message, "next-hop id \"7\" has no next hops (2 lines)");
    EXPECT_EQ(found.in_files[4].message, "next-hop id \"1\" has IPv4 gateways, but the prefix is IPv6");
    EXPECT_EQ(found.tables[0].ipv4_routes + found.tables[0].ipv6_routes, 7U);
    CheckReport report = table.report();
    EXPECT_EQ(report.exit_status, 1);
    EXPECT_EQ(report.text.find(table.table() + ":2\n"), 0U) << report.text;
}

TEST(CheckTables, Ipv4PrefixesMayHaveGatewaysOfBothFamilies) {
    const char* table = "10.0.0.0/8 1\n10.1.0.0/16 6\n10.2.0.0/16 46\n2001:db8:5::/48 6\n";
    const char* ids =
        R"({"1": "192.0.2.2", "6": "2001:db8:0:1::2", "46": [{"via": "192.0.2.2"}, {"via": "2001:db8:0:1::2"}]})";
    EXPECT_THAT(TableOf(table, ids).tables().in_files, testing::IsEmpty());
    TableCheck found = TableOf("2001:db8:5::/48 46\n", ids).tables();
    ASSERT_EQ(found.in_files.size(), 1U);
    EXPECT_THAT(found.in_files[0].message, HasSubstr("has IPv4 gateways, but the prefix is IPv6"));
}

TEST(CheckTables, ABackupIsAGatewayLikeOthers) {
    TableOf table("2001:db8:5::/48 6\n2001:db8:6::/48 7\n",
                  R"({"6": "2001:db8:0:1::2", "7": "2001:db8:0:1::3"}, "backup": {"7": "192.0.2.2"})");
    TableCheck found = table.tables();
    ASSERT_EQ(found.in_files.size(), 1U);
    EXPECT_EQ(found.in_files[0].where, table.table() + ":2");
    EXPECT_EQ(found.in_files[0].message, "next-hop id \"7\" has IPv4 gateways, but the prefix is IPv6");
}

TEST(CheckTables, StarStandsForAllOtherIds) {
    TableOf table("10.0.0.0/8 1\n10.1.0.0/16 99\n", R"({"1": "192.0.2.2", "*": "192.0.2.3"})");
    EXPECT_THAT(table.tables().in_files, testing::IsEmpty());
}

TEST(CheckTables, TwentyErrorsAFileAndACountOfTheRest) {
    std::string text;
    for (int i = 0; i < 50; i++)
        text += "10." + std::to_string(i) + ".0.0/16 id" + std::to_string(i) + "\nbad line\n";
    TableOf table(text);
    TableCheck found = table.tables();
    ASSERT_EQ(found.in_files.size(), 21U);
    for (size_t i = 0; i < 20; i++)
        EXPECT_EQ(found.in_files[i].where, table.table() + ":" + std::to_string(i + 1));
    EXPECT_EQ(found.in_files[20].message, "and 80 more errors");
}

TEST(CheckTables, WhatIsNoTableAtAll) {
    EXPECT_GE(TableOf(std::string(1 << 20, '\0')).tables().in_files.size(), 1U);
    EXPECT_GE(TableOf(std::string(1 << 20, 'x')).tables().in_files.size(), 1U);
    const std::string cut_off("\xfd\x37zXZ\0 truncated", 16);
    EXPECT_GE(TableOf(cut_off).tables().in_files.size(), 1U);
}

TEST(CheckTables, ATableThatTheFibCannotHold) {
    // 256 bytes for the /24s of each /16.
    std::string text;
    for (int i = 0; i < 10000; i++)
        text += std::to_string(1 + i / 256) + "." + std::to_string(i % 256) + ".1.0/24 1\n";
    std::string ids = R"({"1": "192.0.2.2"})";
    EXPECT_THAT(TableOf(text, ids, R"(, "fib": {"table_memory_mib": 3})").tables().in_configuration,
                testing::IsEmpty())
        << "3 is rounded up to 4";
    config::Errors errors =
        TableOf(text, ids, R"(, "fib": {"table_memory_mib": 2})").tables().in_configuration;
    test::expect_one(errors, "/fib/table_memory_mib",
                     "the 10000 routes do not fit into 2 MiB of table memory");
    EXPECT_EQ(errors[0].expected, "at least 4");
}

}  // namespace
}  // namespace pktpit::router::check
