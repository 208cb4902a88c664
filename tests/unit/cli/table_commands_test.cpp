// SPDX-License-Identifier: BSD-3-Clause
// `pktpit table`: files as people have them, random updates and the real traces against an oracle that shares
// no code with the router.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "fib/tables/data_folder.h"
#include "tests/sanitized.h"
#include "tests/unit/cli/run_cli.h"
#include "tests/unit/tables/mrt_bytes.h"

namespace pktpit::router::cli::test {
namespace {

using namespace pktpit::test;  // NOLINT: the encoder's words
using nlohmann::json;
using ::testing::HasSubstr;

class TableCommandsTest : public ::testing::Test {
  protected:
    TableCommandsTest() { std::filesystem::create_directories(folder_); }
    ~TableCommandsTest() override { std::filesystem::remove_all(folder_); }

    std::string write(const std::string& name, std::string_view bytes) {
        const std::string path = folder_ + "/" + name;
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    static json as_json(const Output& output) {
        EXPECT_EQ(output.status, 0) << output.err;
        return json::parse(output.out, nullptr, false);
    }

    std::string folder_ = ::testing::TempDir() + "pktpit-table-commands-" + std::to_string(getpid());
};

/// A table as text says it: the oracle.
using TextTable = std::map<std::string, std::string>;

/// Applies `unixtime a|w prefix id` lines to the oracle.
struct Expected {
    TextTable table;
    size_t added = 0, replaced = 0, unchanged = 0, removed = 0, absent = 0;

    void apply(std::istream& updates) {
        std::string time, kind, prefix, id;
        for (std::string line; std::getline(updates, line);) {
            std::istringstream words(line);
            id.clear();
            words >> time >> kind >> prefix >> id;
            const auto found = table.find(prefix);
            if (kind == "w") {
                (found == table.end() ? absent : removed)++;
                table.erase(prefix);
            } else {
                if (found == table.end())
                    added++;
                else
                    (found->second == id ? unchanged : replaced)++;
                table[prefix] = id;
            }
        }
    }
    /// As a table's file.
    [[nodiscard]] std::string text() const {
        std::string text;
        for (const auto& [prefix, id] : table)
            text.append(prefix).append(" ").append(id).append("\n");
        return text;
    }
};

const std::string small_table =
    "10.0.0.0/8 a\n"
    "2001:db8::/32 b\n"
    "10.1.0.0/16 b\n"
    "10.0.0.0/8 c\n";

TEST_F(TableCommandsTest, Stats) {
    const std::string path = write("t", small_table);
    const json stats = as_json(run_cli({"table", "stats", path, "--json", "--check"}));
    EXPECT_EQ(stats["routes"], (json{{"ipv4", 2}, {"ipv6", 1}}));
    EXPECT_EQ(stats["duplicates"], 1);
    EXPECT_EQ(stats["next_hops"], 2);  // a is used by nobody in the end
    EXPECT_EQ(stats["lengths"], json::parse(R"([{"length": 8, "ipv4": 1, "ipv6": 0},
        {"length": 16, "ipv4": 1, "ipv6": 0}, {"length": 32, "ipv4": 0, "ipv6": 1}])"));
    EXPECT_EQ(stats["format"], "text");
    EXPECT_EQ(stats["records"], 4);
    EXPECT_EQ(stats["lookups"], (json{{"addresses", 12}, {"wrong", 0}}));
    EXPECT_GT(stats["image"]["reserved_bytes"], 0);
    const json& first = stats["image"]["parts"][0];
    EXPECT_EQ(first["name"], "IPv4 prefixes");
    EXPECT_EQ(first["used"], 2);
    const Output text = run_cli({"table", "stats", path});
    EXPECT_EQ(text.status, 0);
    for (const char* part : {"form           text: 4 lines\n", "IPv4 routes    2\n", "duplicates     1\n",
                             "lookups        3 addresses, 0 wrong\n", "    /8     1     0\n"})
        EXPECT_THAT(text.out, HasSubstr(part));
    EXPECT_EQ(run_cli({"table", "stats", path}).out.find('\x1b'), std::string::npos);
}

// The digest is CRC-64/XZ of the sorted table; the value is what `xz -C crc64` and `xz -lvv` say of these
// lines.
TEST_F(TableCommandsTest, TheDigestIsThatOfTheSortedTable) {
    const std::string path = write("t", small_table);
    const Output sorted = run_cli({"table", "convert", "--sorted", path});
    EXPECT_EQ(sorted.out, "10.0.0.0/8 c\n10.1.0.0/16 b\n2001:db8::/32 b\n");
    const std::string expected = as_json(run_cli({"table", "stats", path, "--json"}))["digest"];
    EXPECT_EQ(as_json(run_cli({"table", "stats", write("s", sorted.out), "--json"}))["digest"], expected);
    EXPECT_EQ(expected, "crc64:d6d5395bfc929c9d");
    EXPECT_NE(as_json(run_cli({"table", "stats", write("o", "10.0.0.0/8 a\n"), "--json"}))["digest"],
              expected);
}

TEST_F(TableCommandsTest, ConvertsTablesThereAndBack) {
    const std::string text =
        "10.0.0.0/8 192.0.2.1\n10.0.0.0/8 192.0.2.2\n2001:db8::/32 2001:db8::1\n0.0.0.0/0 ::2\n";
    const std::string path = write("t", text);
    EXPECT_EQ(run_cli({"table", "convert", path}).out, text);
    const Output lines = run_cli({"table", "convert", path, "--to", "json"});
    EXPECT_EQ(lines.out.substr(0, lines.out.find('\n') + 1),
              "{\"prefix\": \"10.0.0.0/8\", \"next_hop\": \"192.0.2.1\"}\n");
    EXPECT_EQ(run_cli({"--json", "table", "convert", path}).out, lines.out);
    const Output mrt = run_cli({"table", "convert", path, "--to", "mrt"});
    EXPECT_EQ(mrt.status, 0) << mrt.err;
    EXPECT_EQ(run_cli({"table", "convert", write("j", lines.out)}).out, text);
    EXPECT_EQ(run_cli({"table", "convert", write("m", mrt.out)}).out, text);
    EXPECT_EQ(as_json(run_cli({"table", "stats", "--json", write("m", mrt.out)}))["peers"],
              json::parse(R"([{"address": "0.0.0.0", "as": 0}])"));

    const Output refused = run_cli({"table", "convert", "--to", "mrt", write("n", "10.0.0.0/8 x\n")});
    EXPECT_EQ(refused.status, 1);
    EXPECT_THAT(refused.err, HasSubstr("next-hop id \"x\" of 10.0.0.0/8"));
}

TEST_F(TableCommandsTest, IdsOfAnyKindSurviveJson) {
    const std::string text = "10.0.0.0/8 a\"b\\c\n11.0.0.0/8 \xc3\xa9\n12.0.0.0/8 7\n";
    const Output lines = run_cli({"table", "convert", "--to", "json", write("t", text)});
    EXPECT_EQ(run_cli({"table", "convert", write("j", lines.out)}).out, text);
}

TEST_F(TableCommandsTest, ConvertsUpdatesThereAndBack) {
    const std::string text = "1470009600 a 10.0.0.0/8 192.0.2.1\n1470009600.25 w 10.0.0.0/8\n";
    const Output lines = run_cli({"table", "convert", "--updates", "--json", write("u", text)});
    EXPECT_EQ(lines.out,
              "{\"time\": 1470009600, \"announce\": \"10.0.0.0/8\", \"next_hop\": \"192.0.2.1\"}\n"
              "{\"time\": 1470009600.25, \"withdraw\": \"10.0.0.0/8\"}\n");
    EXPECT_EQ(run_cli({"table", "convert", "--updates", write("j", lines.out)}).out, text);
    for (const char* option : {"--sorted", "--to=mrt"})
        EXPECT_EQ(run_cli({"table", "convert", "--updates", option, write("u", text)}).status, 1) << option;
}

TEST_F(TableCommandsTest, LookupReadsEveryForm) {
    TestAttributes attributes;
    attributes.next_hop = addr("192.0.2.7");
    const std::string mrt = peer_index_table({{addr("192.0.2.1"), 64500}, {addr("192.0.2.2"), 64501}}) +
                            rib(net("10.0.0.0/8"), {{0, 0, attributes}});
    EXPECT_EQ(run_cli({"lookup", "--table", write("m", mrt), "10.2.3.4"}).out,
              "10.2.3.4 10.0.0.0/8 192.0.2.7\n");
    EXPECT_EQ(run_cli({"lookup", "--table", write("m", mrt), "--peer", "AS64501", "10.2.3.4"}).out,
              "10.2.3.4 - -\n");
    EXPECT_EQ(
        run_cli({"lookup", "--table", write("j", R"({"prefix": "10.0.0.0/8", "next_hop": 7})"), "10.2.3.4"})
            .out,
        "10.2.3.4 10.0.0.0/8 7\n");
}

TEST_F(TableCommandsTest, ReplayCounts) {
    const std::string table = write("t", "10.0.0.0/8 a\n11.0.0.0/8 b\n");
    const std::string updates = write("u",
                                      "1 a 10.0.0.0/8 a\n"      // unchanged
                                      "2 a 10.0.0.0/8 b\n"      // replaced
                                      "3 w 12.0.0.0/8\n"        // absent
                                      "4 a 2001:db8::/32 c\n"   // added
                                      "5 w 11.0.0.0/8 0\n"      // removed
                                      "6.5 w 11.0.0.0/8 0\n");  // absent
    const json answer = as_json(run_cli({"table", "replay", updates, "--table", table, "--json", "--check"}));
    EXPECT_EQ(answer["updates"], 6);
    EXPECT_EQ(answer["time"], (json{{"first", 1.0}, {"last", 6.5}}));
    EXPECT_EQ(answer["announcements"], (json{{"added", 1}, {"replaced", 1}, {"unchanged", 1}}));
    EXPECT_EQ(answer["withdrawals"], (json{{"removed", 1}, {"absent", 2}}));
    EXPECT_EQ(answer["changes"]["count"], 3);
    EXPECT_EQ(answer["routes"], (json{{"ipv4", 1}, {"ipv6", 1}}));
    EXPECT_EQ(answer["check"], (json{{"prefixes", 2}, {"addresses", 8}, {"wrong", 0}}));
    EXPECT_EQ(answer["digest"], as_json(run_cli({"table", "stats", "--json",
                                                 write("e", "10.0.0.0/8 b\n2001:db8::/32 c\n")}))["digest"]);
    const json& latency = answer["latency_ns"];
    EXPECT_LE(latency["p50"], latency["p99"]);
    EXPECT_LE(latency["p99"], latency["p99.9"]);
    EXPECT_LE(latency["p99.9"], latency["max"]);
    const Output text = run_cli({"table", "replay", updates, "--table", table, "--check"});
    for (const char* part : {"announced  1 new, 1 with another next hop, 1 unchanged\n",
                             "withdrawn  1, and 2 that were not there\n", "time       1 to 6.5\n",
                             "check      2 prefixes and 8 addresses compared, 0 wrong\n"})
        EXPECT_THAT(text.out, HasSubstr(part));
}

TEST_F(TableCommandsTest, ReplayOfAPeer) {
    const TestPeer first{addr("192.0.2.1"), 64500}, second{addr("192.0.2.2"), 64501};
    TestAttributes attributes;
    attributes.next_hop = addr("192.0.2.7");
    const std::string updates =
        write("u", bgp4mp(1, first, bgp_update("", attributes.encode(), prefixes({net("10.0.0.0/8")}))) +
                       bgp4mp(2, second, bgp_update(prefixes({net("10.0.0.0/8")}), "", "")));
    EXPECT_EQ(as_json(run_cli({"table", "replay", "--json", updates}))["routes"]["ipv4"], 0);
    const std::string table = write("t", "11.0.0.0/8 192.0.2.7\n");  // of which peer, text does not say
    EXPECT_EQ(as_json(run_cli({"table", "replay", "--json", updates, "--table", table, "--peer",
                               "192.0.2.1"}))["routes"]["ipv4"],
              2);
    EXPECT_EQ(run_cli({"table", "replay", updates, "--peer", "0"}).status, 1);

    // By its number, which the table knows.
    const std::string dump = write("d", peer_index_table({second, first}) +
                                            rib(net("11.0.0.0/8"), {{0, 0, attributes}, {1, 0, attributes}}) +
                                            rib(net("12.0.0.0/8"), {{0, 0, attributes}}));
    for (const auto& [peer, routes] : {std::pair("0", 2), std::pair("1", 2)}) {
        const json answer =
            as_json(run_cli({"table", "replay", "--json", updates, "--table", dump, "--peer", peer}));
        EXPECT_EQ(answer["routes"]["ipv4"], routes);
        EXPECT_EQ(answer["announcements"]["added"], std::string(peer) == "1" ? 1 : 0);
        EXPECT_EQ(answer["withdrawals"]["absent"], std::string(peer) == "1" ? 0 : 1);
    }
    EXPECT_EQ(run_cli({"table", "replay", updates, "--table", dump, "--peer", "2"}).status, 1);
}

TEST_F(TableCommandsTest, RandomUpdatesEndInTheOraclesTable) {
    std::mt19937 random(5);
    Expected expected;
    std::string table, updates;
    const auto random_prefix = [&] {
        // Crowded, so that prefixes nest, are withdrawn and come again.
        const auto length = static_cast<unsigned>(4 + random() % 29);
        return Prefix::of(
                   IpAddress::v4(static_cast<uint32_t>(0x0a000000 + (random() % 64 << 18) + random() % 16)),
                   length)
            .to_string();
    };
    for (int i = 0; i < 3000; i++) {
        const std::string prefix = random_prefix(), id = "h" + std::to_string(random() % 9);
        table.append(prefix).append(" ").append(id).append("\n");
        expected.table[prefix] = id;
    }
    for (int i = 0; i < 20000; i++)
        updates.append(std::to_string(i))
            .append(random() % 3 ? " a " : " w ")
            .append(random_prefix())
            .append(" h")
            .append(std::to_string(random() % 9))
            .append("\n");
    std::istringstream lines(updates);
    expected.apply(lines);
    const json answer = as_json(
        run_cli({"table", "replay", write("u", updates), "--table", write("t", table), "--json", "--check"}));
    EXPECT_EQ(answer["announcements"], (json{{"added", expected.added},
                                             {"replaced", expected.replaced},
                                             {"unchanged", expected.unchanged}}));
    EXPECT_EQ(answer["withdrawals"], (json{{"removed", expected.removed}, {"absent", expected.absent}}));
    EXPECT_EQ(answer["routes"]["ipv4"], expected.table.size());
    EXPECT_EQ(answer["check"]["wrong"], 0);
    EXPECT_EQ(answer["digest"],
              as_json(run_cli({"table", "stats", "--json", write("e", expected.text())}))["digest"]);
}

class RealTraceTest : public TableCommandsTest, public ::testing::WithParamInterface<const char*> {};

// On the whole Internet table, in the text of the trace and converted to JSON lines.
TEST_P(RealTraceTest, EndsInTheOraclesTable) {
    const std::string family = GetParam();
    const auto real_table = fib::data_file("internet-" + family + "-2026-06.txt.xz");
    const auto real_updates = fib::data_file("bgp-updates-" + family + "-2016-08.txt.xz");
    if (!real_table || !real_updates)
        GTEST_SKIP() << "read where PKTPIT_DATA names their folder; RandomUpdatesEndInTheOraclesTable ran";
    const std::string &table = *real_table, &updates = *real_updates;
    // Unpacked by the xz program and not by us.
    const auto unpack = [](const std::string& path) {
        std::string text;
        std::FILE* unpacked = ::popen(("xz -dc '" + path + "'").c_str(), "r");
        char piece[65536];
        for (size_t count; (count = std::fread(piece, 1, sizeof(piece), unpacked)) > 0;)
            text.append(piece, count);
        ::pclose(unpacked);
        return std::istringstream(text);
    };
    Expected expected;
    std::istringstream routes = unpack(table);
    for (std::string prefix, id; routes >> prefix >> id;)
        expected.table[prefix] = id;
    ASSERT_GT(expected.table.size(), 100'000u);
    std::istringstream lines = unpack(updates);
    expected.apply(lines);

    const std::string converted =
        write("json", run_cli({"table", "convert", "--updates", "--to", "json", updates}).out);
    const std::string digest =
        as_json(run_cli({"table", "stats", "--json", write("e", expected.text())}))["digest"];
    for (const std::string& file : {updates, converted}) {
        const json answer = as_json(run_cli({"table", "replay", file, "--table", table, "--json"}));
        EXPECT_EQ(answer["announcements"], (json{{"added", expected.added},
                                                 {"replaced", expected.replaced},
                                                 {"unchanged", expected.unchanged}}));
        EXPECT_EQ(answer["withdrawals"], (json{{"removed", expected.removed}, {"absent", expected.absent}}));
        EXPECT_EQ(answer["routes"][GetParam()], expected.table.size());
        EXPECT_EQ(answer["digest"], digest);
    }
    EXPECT_GT(expected.added + expected.replaced, 1000u);
    EXPECT_GT(expected.removed, 100u);
}

INSTANTIATE_TEST_SUITE_P(Internet, RealTraceTest,
                         ::testing::ValuesIn(pktpit::test::few_rounds() ? std::vector{"ipv6"}
                                                                        : std::vector{"ipv4", "ipv6"}),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(TableCommandsTest, Errors) {
    const std::string table = write("t", small_table);
    const auto said = [&](const std::vector<std::string>& arguments, int status) {
        const Output output = run_cli(arguments);
        EXPECT_EQ(output.status, status) << output.out << output.err;
        return output.err;
    };
    EXPECT_THAT(said({"table", "stats", folder_ + "/absent"}, 1), HasSubstr("cannot open"));
    EXPECT_THAT(said({"table", "stats", write("x", "10.0.0.0/8\n")}, 1), HasSubstr(":1: no next-hop id"));
    EXPECT_THAT(said({"table", "replay", table}, 1), HasSubstr("is no time"));
    EXPECT_THAT(said({"table", "stats", table, "--peer", "AS1"}, 1), HasSubstr("says nothing about peers"));
    EXPECT_THAT(said({"table", "stats", table, "--peer", "nobody"}, 2), HasSubstr("\"nobody\" is no peer"));
    EXPECT_THAT(said({"table", "convert", table, "--to", "xml"}, 2), HasSubstr("xml"));
    const Output refused = run_cli({"table", "stats", "--json", folder_ + "/absent"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_EQ(json::parse(refused.out)["errors"][0]["where"], folder_ + "/absent");
}

TEST_F(TableCommandsTest, AMistypedCommandIsAnsweredWithTheNearest) {
    const Output output = run_cli({"table", "stat", "x"});
    EXPECT_EQ(output.status, 2);
    EXPECT_THAT(output.err, HasSubstr("unknown command \"stat\""));
    EXPECT_THAT(output.err, HasSubstr("did you mean \"stats\"?"));
    EXPECT_THAT(run_cli({"shwo", "ports"}).err, HasSubstr("did you mean \"show\"?"));
    EXPECT_EQ(run_cli({"xyzzy"}).err.find("did you mean"), std::string::npos);
}

}  // namespace
}  // namespace pktpit::router::cli::test
