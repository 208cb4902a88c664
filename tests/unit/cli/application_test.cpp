// SPDX-License-Identifier: BSD-3-Clause
// The commands against a fake daemon behind the real API server, with the answers that docs/api.md shows.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <future>

#include "tests/sanitized.h"
#include "tests/unit/api/server_fixture.h"
#include "tests/unit/cli/run_cli.h"

namespace pktpit::router::cli::test {
namespace {

using nlohmann::json;
using router::test::ServerTest;
using ::testing::HasSubstr;

class CliTest : public ServerTest {
  protected:
    void SetUp() override { start(); }
    [[nodiscard]] Output cli(std::vector<std::string> arguments, const Screen& screen = {}) const {
        arguments.insert(arguments.begin(), {"--socket", socket});
        return run_cli(arguments, -1, screen);
    }
};

TEST_F(CliTest, JsonIsTheAnswerUnchanged) {
    control.answer = json::parse(R"({"x": [1, {"y": null}], "z": "é"})");
    for (const char* command :
         {"show version", "show ports", "show neighbours", "show counters", "show config", "counters",
          "lookup 10.0.0.1", "reload", "route add 10.0.0.0/8 dev eth0"}) {
        auto arguments = split(command);
        arguments.emplace_back("--json");  // options of the program may stand behind its commands
        const Output output = cli(arguments);
        EXPECT_EQ(output.status, 0) << command << output.err;
        EXPECT_EQ(json::parse(output.out), control.answer) << command;
    }
}

TEST_F(CliTest, Ports) {
    control.answer = json::parse(R"({"ports": [
        {"name": "eth0", "port": 1, "ifindex": 5, "mac": "02:00:00:00:00:01", "mtu": 1500, "up": true,
         "mode": "native", "attach": "link", "forwarding": "inline", "addresses": ["192.0.2.1/24", "2001:db8::1/64"],
         "vlans": [{"name": "eth0.100", "vlan": [100, 7], "protocol": "802.1Q", "mtu": 1496, "addresses": []}],
         "rx_packets": 1200345, "rx_bytes": 76822080, "tx_packets": 7, "tx_bytes": 448, "drops": 12},
        {"name": "eth1", "port": 2, "ifindex": 0, "mac": null, "mtu": null, "up": false, "mode": null, "attach": null,
         "forwarding": "inline", "addresses": [], "vlans": [], "rx_packets": 0, "rx_bytes": 0, "tx_packets": 0,
         "tx_bytes": 0, "drops": 0}]})");
    const Output output = cli({"show", "ports"});
    EXPECT_EQ(output.status, 0);
    const std::string expected =
        R"(PORT        ID  STATE   MODE         MTU  MAC                ADDRESSES                                  RX         TX  DROPS
eth0         1  up      native      1500  02:00:00:00:00:01  192.0.2.1/24 2001:db8::1/64  1.20 M (76.8 MB)  7 (448 B)     12
  eth0.100              vlan 100.7  1496
eth1         2  absent  -              -  -                                                        0 (0 B)    0 (0 B)      0
)";
    EXPECT_EQ(output.out, expected);
    EXPECT_THAT(cli({"show", "ports"}, {.colours = true}).out, HasSubstr("\x1b[31mabsent\x1b[0m"));
}

TEST_F(CliTest, Routes) {
    control.answer = json::parse(R"({"total": 2, "next": null, "routes": [
        {"prefix": "10.0.0.0/8", "source": "config", "preference": 10, "metric": 0, "best": true, "type": "unicast",
         "next_hops": [{"via": "192.0.2.7", "interface": "eth0", "weight": 2, "state": "resolved"},
                       {"via": "198.51.100.7", "interface": "eth1", "weight": 1, "state": "failed"}]},
        {"prefix": "203.0.113.0/24", "source": "cli", "preference": 10, "metric": 5, "best": false, "type": "blackhole",
         "next_hops": []}]})");
    const Output output = cli({"show", "routes", "-4", "--source", "config", "--within", "10.0.0.0/8"});
    EXPECT_EQ(output.out,
              "   PREFIX          SOURCE  PREF  METRIC  NEXT HOPS\n"
              "*  10.0.0.0/8      config    10       0  via 192.0.2.7 dev eth0 weight 2\n"
              "                                         via 198.51.100.7 dev eth1 weight 1 (failed)\n"
              "   203.0.113.0/24  cli       10       5  blackhole\n");
    EXPECT_EQ(control.query->family, Family::ipv4);
    EXPECT_EQ(control.query->source, "config");
    EXPECT_EQ(control.query->within->to_string(), "10.0.0.0/8");
}

TEST_F(CliTest, RoutesSummary) {
    control.answer = json::parse(R"({"ipv4": {"prefixes": 3, "installed": 2, "unusable": 1, "refused": 0,
        "sources": {"kernel": {"routes": 4, "best": 3}, "cli": {"routes": 0, "best": 0}},
        "lengths": [{"length": 8, "prefixes": 1}, {"length": 24, "prefixes": 2}]},
        "ipv6": {"prefixes": 0, "installed": 0, "unusable": 0, "refused": 0, "sources": {}, "lengths": []}})");
    EXPECT_EQ(cli({"show", "routes", "summary"}).out,
              "IPv4: 3 prefixes, 2 installed, 1 without a next hop that can be used, 0 for which the FIB has "
              "no room\n"
              "  SOURCE  ROUTES  BEST\n"
              "  kernel       4     3\n"
              "  LENGTH  PREFIXES\n"
              "      /8         1\n"
              "     /24         2\n"
              "IPv6: 0 prefixes, 0 installed, 0 without a next hop that can be used, 0 for which the FIB has "
              "no room\n");
    EXPECT_EQ(control.calls, (std::vector<std::string>{"routes_summary"}));
    EXPECT_EQ(json::parse(cli({"show", "routes", "summary", "--json"}).out), control.answer);
}

TEST_F(CliTest, NextHopGroups) {
    control.answer = json::parse(
        R"({"groups": [{"id": 4, "group": 9, "prefixes": 70, "routes": 71, "usable": true, "type": "unicast",
        "next_hops": [{"via": "192.0.2.7", "interface": "eth0", "weight": 2, "state": "failed", "forwards": false},
                      {"via": "192.0.2.8", "interface": "eth1", "weight": 1, "state": "resolved", "forwards": true, "backup": true}]}]})");
    EXPECT_EQ(cli({"show", "next-hop-groups"}).out,
              "SET  GROUP  PREFIXES  ROUTES     NEXT HOPS\n"
              "  4      9        70      71     via 192.0.2.7 dev eth0 weight 2 (failed)\n"
              "                              >  backup via 192.0.2.8 dev eth1 weight 1\n");
}

/// Serves `count` host routes in pieces, as the daemon does.
class PagedControl final : public router::test::FakeControl {
  public:
    uint32_t count = 0;
    bool breaks_off = false;

    static std::string prefix(uint32_t number) { return Prefix::of(IpAddress::v4(number), 32).to_string(); }
    Begun all_routes(const RouteQuery& wanted) override {
        note("all_routes");
        std::vector<std::string> pieces(1);
        const auto last = static_cast<uint32_t>(std::min<size_t>(count, wanted.limit));
        for (uint32_t at = 0; at < last; at++) {
            if (at != 0 && at % 777 == 0) pieces.emplace_back();
            pieces.back() += json{{"prefix", prefix(at)},      {"source", "kernel"}, {"best", true},
                                  {"type", "blackhole"},       {"preference", 20},   {"metric", 0},
                                  {"next_hops", json::array()}}
                                 .dump() +
                             "\n";
        }
        const json next = last == count ? json() : json(prefix(last - 1));
        if (!breaks_off) pieces.back() += json{{"end", {{"total", count}, {"next", next}}}}.dump() + "\n";
        return std::make_unique<router::test::PieceAnswer>(std::move(pieces));
    }
};

class PagedTest : public CliTest {
  protected:
    void SetUp() override {
        paged_server.emplace(paged, executor());
        ASSERT_TRUE(paged_server->listen(socket));
    }
    void TearDown() override {
        paged_server.reset();
        CliTest::TearDown();
    }
    PagedControl paged;
    std::optional<ApiServer> paged_server;
};

TEST_F(PagedTest, AllPagesOfALargeTable) {
    const uint32_t count = pktpit::test::rounds_of(100'000U) + 1;
    paged.count = count;
    const Output text = cli({"show", "routes"});
    EXPECT_EQ(text.status, 0);
    EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), count + 1);  // and the header, once
    EXPECT_EQ(paged.calls, std::vector<std::string>{"all_routes"}) << "one request for all";
    const json all = json::parse(cli({"show", "routes", "--json"}).out);
    ASSERT_EQ(all["routes"].size(), count);
    EXPECT_EQ(all["routes"][count - 1]["prefix"], PagedControl::prefix(count - 1));
    EXPECT_EQ(all["total"], count);
    EXPECT_TRUE(all["next"].is_null());
}

TEST_F(PagedTest, Limit) {
    paged.count = 60'000;
    const Output text = cli({"show", "routes", "--limit", "3"});
    EXPECT_THAT(text.out, HasSubstr("3 of 60000 routes"));
    const json some = json::parse(cli({"show", "routes", "--limit", "5001", "--json"}).out);
    EXPECT_EQ(some["routes"].size(), 5'001U);
    EXPECT_EQ(some["next"], "0.0.19.136/32");
}

TEST_F(PagedTest, EmptyTable) {
    EXPECT_EQ(cli({"show", "routes"}).out, "no routes\n");
    EXPECT_EQ(json::parse(cli({"show", "routes", "--json"}).out)["routes"], json::array());
}

TEST_F(PagedTest, AnswerWithoutAnEndIsTold) {
    paged.count = 10;
    paged.breaks_off = true;
    const Output output = cli({"show", "routes"});
    EXPECT_EQ(output.status, 2);
    EXPECT_THAT(output.err, HasSubstr("in the middle of its answer"));
}

TEST_F(CliTest, RouteToAnAddress) {
    control.answer = json::parse(R"({"address": "10.1.2.3", "prefix": "10.0.0.0/8", "verdict": "forwarded",
        "candidates": [{"prefix": "10.0.0.0/8", "source": "config", "preference": 10, "metric": 0, "best": true,
          "type": "unicast", "next_hops": [{"via": "192.0.2.7", "interface": "eth0", "weight": 1, "state": "resolved"}]}],
        "group": {"id": 42, "members": [{"id": 17, "kind": "forward", "interface": "eth0", "port": "eth0",
          "via": "192.0.2.7", "src_mac": "02:00:00:00:00:01", "dst_mac": "02:00:00:00:01:07", "vlan": [], "mtu": 1500,
          "weight": 1}]}, "adjacency": {"id": 17}})");
    const Output output = cli({"show", "route", "10.1.2.3"});
    EXPECT_EQ(output.status, 0);
    EXPECT_EQ(control.addresses.at(0).to_string(), "10.1.2.3");
    for (const char* part :
         {"prefix      10.0.0.0/8\n", "verdict     forwarded\n", "via 192.0.2.7 dev eth0",
          "port eth0, MTU 1500", "02:00:00:00:00:01 → 02:00:00:00:01:07", "*  10.0.0.0/8  config"}) {
        EXPECT_THAT(output.out, HasSubstr(part));
    }
    control.answer = json::parse(R"({"address": "10.1.2.3", "prefix": null, "candidates": [], "group": null,
                                     "adjacency": null, "verdict": "no_route"})");
    EXPECT_EQ(cli({"show", "route", "10.1.2.3"}).status, 1);
    EXPECT_EQ(cli({"show", "route", "10.1.2.3", "--json"}).status, 1);
    EXPECT_EQ(cli({"show", "route", "10.1.2"}).status, 1);
}

TEST_F(CliTest, RouteChanges) {
    control.answer = json::parse(R"({"prefix": "10.0.0.0/8", "changed": true, "route": {"type": "unicast",
        "next_hops": [{"via": "192.0.2.7", "interface": "eth0", "weight": 1, "state": "resolved"}]}})");
    EXPECT_EQ(cli({"route", "add", "10.0.0.0/8", "via", "192.0.2.7"}).out,
              "10.0.0.0/8 via 192.0.2.7 dev eth0\n");
    EXPECT_EQ(cli({"route", "replace", "10.0.0.0/8", "nexthop", "via", "192.0.2.7", "weight", "3", "nexthop",
                   "dev", "e1"})
                  .status,
              0);
    ASSERT_EQ(control.route->next_hops.size(), 2U);
    EXPECT_EQ(control.route->next_hops[0].weight, 3);
    EXPECT_EQ(control.route->next_hops[1].interface, "e1");
    EXPECT_EQ(cli({"route", "del", "10.0.0.0/8"}).out, "10.0.0.0/8 removed\n");
    EXPECT_EQ(cli({"route", "delete", "-6", "default"}).status, 0);
    EXPECT_EQ(control.route->prefix.to_string(), "::/0");
    EXPECT_EQ(control.calls, (std::vector<std::string>{"add", "replace", "remove", "remove"}));

    control.refuse = Error{"10.0.0.0/8", "there already", "", "replace it"};
    const Output refused = cli({"route", "add", "10.0.0.0/8", "via", "192.0.2.7"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_EQ(refused.err, "error: 10.0.0.0/8: there already\n  hint: replace it\n");
    EXPECT_EQ(refused.out, "");
    const Output usage = cli({"route", "add", "10.0.0.0/8"});
    EXPECT_EQ(usage.status, 2);
    EXPECT_EQ(json::parse(cli({"route", "add", "10.0.0.0/8", "--json"}).out)["errors"].size(), 1U);
}

TEST_F(CliTest, RoutesOfAFileAreOneRequest) {
    const std::string path = ::testing::TempDir() + "routes_of_a_file_" + std::to_string(getpid());
    const auto write = [&](const std::string& text) { std::ofstream(path) << text; };
    write("# by hand\n\n10.0.0.0/8 via 192.0.2.7   # the first\n-\n");
    const Output bad = cli({"route", "add", "--file", path});
    EXPECT_EQ(bad.status, 2);
    EXPECT_THAT(bad.err, HasSubstr(path + ":4: "));
    EXPECT_TRUE(control.calls.empty());

    write("# by hand\n\n10.0.0.0/8 via 192.0.2.7   # the first\nblackhole 11.0.0.0/8\n");
    control.answer = {{"routes", 2}, {"changed", 1}};
    const Output set = cli({"route", "add", "--file", path});
    EXPECT_EQ(set.out, "2 routes set (1 as they were)\n") << set.err;
    ASSERT_EQ(control.batch.size(), 2U);
    EXPECT_EQ(control.batch[0].next_hops.size(), 1U);
    EXPECT_EQ(control.batch[1].type, config::RouteType::blackhole);

    control.refuse = Error{"/routes/1", "there already", "", ""};
    const Output refused = cli({"route", "replace", "--file", path});
    EXPECT_EQ(refused.status, 1);
    EXPECT_EQ(refused.err, "error: " + path + ":4: there already\n");
    EXPECT_EQ(control.calls, (std::vector<std::string>{"add_all", "replace_all"}));
    control.refuse.reset();

    write("10.0.0.0/8\n");
    const int input = ::open(path.c_str(), O_RDONLY);
    control.answer = {{"routes", 1}, {"changed", 1}};
    EXPECT_EQ(run_cli({"--socket", socket, "route", "del", "--file", "-"}, input).out, "1 route removed\n");
    ::close(input);
    EXPECT_EQ(control.batch[0].prefix.to_string(), "10.0.0.0/8");
    write("# nothing\n");
    EXPECT_EQ(cli({"route", "add", "--file", path}).status, 2);
    ::unlink(path.c_str());
    EXPECT_EQ(cli({"route", "add", "--file", path}).status, 2) << "not there";
    EXPECT_EQ(cli({"route", "add"}).status, 2) << "neither words nor a file";
}

TEST_F(CliTest, LookupAsksTheDaemon) {
    control.answer = json::parse(R"({"results": [
        {"address": "10.1.2.3", "prefix": "10.0.0.0/8", "type": "unicast",
         "next_hops": [{"via": "192.0.2.7", "interface": "eth0", "weight": 2}, {"interface": "eth1", "weight": 1}]},
        {"address": "10.1.2.4", "prefix": "10.1.2.4/32", "type": "blackhole", "next_hops": []},
        {"address": "::1", "prefix": null, "type": null, "next_hops": []}]})");
    const Output output = cli({"lookup", "10.1.2.3", "10.1.2.4", "::1"});
    EXPECT_EQ(output.out,
              "10.1.2.3 10.0.0.0/8 via 192.0.2.7 dev eth0 weight 2 dev eth1 weight 1\n"
              "10.1.2.4 10.1.2.4/32 blackhole\n"
              "::1 - -\n");
    EXPECT_EQ(control.addresses.size(), 3U);
    EXPECT_EQ(cli({"lookup", "10.1.2.3", "x"}).status, 1);
    EXPECT_EQ(cli({"lookup"}).status, 2);
}

TEST_F(CliTest, Reload) {
    control.answer = json::parse(R"({"applied": true, "generation": 4, "changes": ["port eth1: removed"]})");
    EXPECT_EQ(cli({"reload"}).out, "port eth1: removed\n1 change made; configuration 4\n");
    EXPECT_FALSE(control.ordered->path);
    EXPECT_EQ(cli({"reload", "some/../x.json", "--dry-run"}).status, 0);
    EXPECT_EQ(control.ordered->path, (std::filesystem::current_path() / "x.json").string());
    EXPECT_TRUE(control.ordered->dry_run);
    control.refuse_reload = {{"/routes/3", "one", "", ""}, {"/routes/4", "two", "", ""}};
    const Output refused = cli({"reload"});
    EXPECT_EQ(refused.status, 1);
    EXPECT_EQ(refused.err, "error: /routes/3: one\nerror: /routes/4: two\nnothing was changed\n");
    control.reload_unchanged = false;
    const Output half_undone = cli({"reload"});
    EXPECT_NE(half_undone.status, 0);
    EXPECT_EQ(half_undone.err, "error: /routes/3: one\nerror: /routes/4: two\n");
}

json counters_at(double time, uint64_t packets) {
    const json port = {{"rx_packets", packets},
                       {"rx_bytes", packets * 64},
                       {"tx_packets", 0},
                       {"tx_bytes", 0},
                       {"verdicts", {{"forwarded", packets}, {"drop_ipv4_checksum", 0}}}};
    return {{"time", time}, {"ports", {{"eth0", port}}}, {"totals", port}, {"slow_path", json::object()}};
}

TEST_F(CliTest, Counters) {
    control.answer = counters_at(1, 12345);
    const Output output = cli({"show", "counters"});
    EXPECT_EQ(output.out,
              "PORT  RX PACKETS   BYTES  TX PACKETS  BYTES\n"
              "eth0      12.3 k  790 kB           0    0 B\n"
              "\n"
              "PORT  VERDICT    COUNT\n"
              "eth0  forwarded  12345  rewritten and redirected to the egress port\n");
    EXPECT_EQ(cli({"counters"}).out, output.out);
}

TEST_F(CliTest, WatchPrintsLinesWhenPiped) {
    control.answer = counters_at(1, 1000);
    const Output output = cli({"counters", "--watch", "--interval", "0.05", "--count", "2"});
    EXPECT_EQ(output.status, 0);
    EXPECT_EQ(std::count(output.out.begin(), output.out.end(), '\n'), 2);
    EXPECT_THAT(output.out, HasSubstr(" eth0 rx 0 pps 0 bit/s tx 0 pps 0 bit/s\n"));
    EXPECT_EQ(output.out.find('\x1b'), std::string::npos);
    EXPECT_EQ(control.calls.size(), 3U);
    const Output as_json = cli({"counters", "--watch", "--interval", "0.05", "--count", "1", "--json"});
    EXPECT_EQ(json::parse(as_json.out)["ports"]["eth0"]["rx_packets"], 0.0);
}

TEST_F(CliTest, WatchRedrawsOnATerminal) {
    control.answer = counters_at(1, 1000);
    const Output output =
        cli({"counters", "--watch", "--interval", "0.05", "--count", "2"}, {.interactive = true, .rows = 24});
    const size_t redraw = output.out.find("\x1b[3A\r\x1b[J");  // the time, the header, one port
    EXPECT_NE(redraw, std::string::npos) << output.out;
    const Output small =
        cli({"counters", "--watch", "--interval", "0.05", "--count", "2"}, {.interactive = true, .rows = 3});
    EXPECT_THAT(small.out, HasSubstr("\x1b[2A\r\x1b[J"));
}

TEST_F(CliTest, WatchOutlivesTheDaemon) {
    control.answer = counters_at(1, 1000);
    std::promise<void> third;
    control.at_call = [&] {
        if (control.calls.size() != 3) return;
        loop.pause(true);  // no other one is answered, however late it is stopped
        third.set_value();
    };
    std::thread stopper([&] {
        third.get_future().wait();
        server->stop();
    });
    const Output output = cli({"counters", "--watch", "--interval", "0.1", "--count", "8"});
    stopper.join();
    EXPECT_EQ(output.status, 2);  // it ended without a daemon
    EXPECT_THAT(output.out, HasSubstr("eth0 rx"));
    EXPECT_THAT(output.err, HasSubstr("asking again"));
}

TEST_F(CliTest, WithoutADaemon) {
    server->stop();
    const Output output = cli({"show", "ports"});
    EXPECT_EQ(output.status, 2);
    EXPECT_THAT(output.err, HasSubstr(socket));
    EXPECT_THAT(output.err, HasSubstr("pktpitd --config FILE"));
    EXPECT_EQ(json::parse(cli({"show", "ports", "--json"}).out)["errors"][0]["where"], socket);
    EXPECT_EQ(run_cli({"--socket", std::string(200, 'x'), "show", "ports"}).status, 2);
}

TEST_F(CliTest, WhichSocket) {
    const auto tried = [](const std::vector<std::string>& arguments) { return run_cli(arguments).err; };
    EXPECT_THAT(tried({"show", "ports", "--instance", "no-such"}), HasSubstr("/run/pktpit/no-such.sock"));
    ::setenv("PKTPIT_SOCKET", "/nowhere/env.sock", 1);
    EXPECT_THAT(tried({"show", "ports"}), HasSubstr("/nowhere/env.sock"));
    EXPECT_THAT(tried({"show", "ports", "--instance", "no-such"}), HasSubstr("/run/pktpit/no-such.sock"));
    EXPECT_THAT(tried({"show", "ports", "--socket", "/nowhere/arg.sock"}), HasSubstr("/nowhere/arg.sock"));
    ::unsetenv("PKTPIT_SOCKET");
}

TEST_F(CliTest, AnswersOfAnotherShapeDoNotCrash) {
    for (const char* text :
         {"null", "7", "[]", "{}", R"({"ports": 7, "neighbours": [null, 7], "counters": []})",
          R"({"ports": [7, {"vlans": [7], "addresses": "x"}], "routes": [{"next_hops": [null]}],
                                 "results": [[]], "changes": [7], "candidates": [7], "prefix": "x", "group": {"members": [7]}})"}) {
        control.answer = json::parse(text);
        for (const char* command : {"show version", "show ports", "show routes", "show route ::1",
                                    "show neighbours", "show counters", "lookup ::1", "reload",
                                    "counters --watch --interval 0.05 --count 1", "route del ::/0"}) {
            EXPECT_LE(cli(split(command)).status, 2) << text;
        }
    }
}

TEST(Usage, MistakesAreStatus2) {
    for (const char* arguments :
         {"", "nonsense", "show", "show portz", "show ports extra", "--nonsense show ports", "check", "route",
          "route add", "counters --interval 1", "counters --watch --interval 0",
          "counters --watch --count -1", "show routes -4 -6", "show routes --limit 0",
          "show routes --source bgp"}) {
        const Output output = run_cli(split(arguments));
        EXPECT_EQ(output.status, 2) << arguments;
        EXPECT_FALSE(output.err.empty());
        EXPECT_EQ(output.out, "");
    }
}

TEST(Usage, HelpAndVersionAreStatus0) {
    EXPECT_EQ(run_cli({"--help"}).status, 0);
    EXPECT_THAT(run_cli({"route", "add", "--help"}).out, HasSubstr("nexthop"));
    const Output version = run_cli({"--version"});
    EXPECT_EQ(version.status, 0);
    EXPECT_TRUE(version.out.starts_with("pktpit ")) << version.out;
}

TEST(Check, GoodAndBadFiles) {
    const router::test::TemporaryDirectory directory;
    std::ofstream(directory.file("good.json")) << R"({"interfaces": {"lo": {}}})";
    std::ofstream(directory.file("bad.json"))
        << R"({"interfaces": {"lo": {}}, "routes": [{"prefix": "10.0.0.1/8", "via": 7}]})";
    std::ofstream(directory.file("elsewhere.json")) << R"({"interfaces": {"no-such-dev0": {}}})";
    EXPECT_EQ(run_cli({"check", directory.file("good.json")}).status, 0);
    const Output bad = run_cli({"check", directory.file("bad.json")});
    EXPECT_EQ(bad.status, 1);
    EXPECT_THAT(bad.out, HasSubstr("/routes/0/"));
    const Output as_json = run_cli({"check", "--json", directory.file("bad.json")});
    EXPECT_EQ(as_json.status, 1);
    EXPECT_FALSE(json::parse(as_json.out)["errors"].empty());
    EXPECT_EQ(run_cli({"check", directory.file("absent.json")}).status, 1);
    EXPECT_EQ(run_cli({"check", directory.file("elsewhere.json")}).status, 1);
    EXPECT_EQ(run_cli({"check", "--any-interface", directory.file("elsewhere.json")}).status, 0);
}

}  // namespace
}  // namespace pktpit::router::cli::test
