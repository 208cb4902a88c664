#include "bench/wire/options.h"

#include <CLI/CLI.hpp>

#include "bench/wire/forwarders.h"
#include "bench/wire/pktpit_daemon.h"

namespace pktpit::bench::wire {
namespace {

constexpr unsigned quick_rounds = 5;

}  // namespace

std::optional<Options> parse_options(int argc, char** argv, int& exit_code) {
    Options options;
    options.data = PKTPIT_DATA_DIRECTORY;
    options.pktpitd = built_daemon();
    for (int i = 0; i < argc; i++)
        options.command += (i ? " " : "") + std::string(argv[i]);

    CLI::App app(
        "Measures Pktpit against other forwarders over veth: source -> router -> sink, 64-byte frames.");
    std::vector<int> families{4, 6};
    std::vector<std::string> cores;
    std::vector<std::string> tables;
    std::vector<std::string> traffic{"uniform"};
    unsigned window = 400, warm_up = 100;
    bool quick = false, all = false;
    app.add_option("--families", families, "4 and 6, or one of them")
        ->delimiter(',')
        ->check(CLI::IsMember({4, 6}));
    app.add_option("--cores", cores,
                   "two-core, one-core and free-receive, or some of them (docs/benchmarks.md); the first "
                   "two, but with "
                   "--kill-restart one-core, where no ring overflows")
        ->delimiter(',')
        ->check(CLI::IsMember({"two-core", "one-core", "free-receive"}));
    app.add_option("--forwarders", options.forwarders, "which to measure, in turns")
        ->delimiter(',')
        ->check(CLI::IsMember(forwarder_names()))
        ->capture_default_str();
    app.add_option("--frames", options.frame_sizes, "bytes of a frame, without FCS: one measurement each")
        ->delimiter(',')
        ->check(CLI::Range(64, 1514))
        ->capture_default_str();
    app.add_option("--traffic", traffic, "destinations: uniform over the routes, Zipf(1.0) over them, or one")
        ->delimiter(',')
        ->check(CLI::IsMember({"uniform", "zipf", "one"}))
        ->capture_default_str();
    app.add_option("--busy-budget", options.busy_budget,
                   "of net_af_xdp: frames that a poll of the socket may take; 0: sockets are not polled")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    app.add_option(
           "--tables", tables,
           "internet: real prefixes, taken evenly; dense: consecutive ones; both, but with --kill-restart "
           "internet")
        ->delimiter(',')
        ->check(CLI::IsMember({"internet", "dense"}));
    app.add_option("--routes", options.routes,
                   "prefixes of each family; 0: the whole Internet table; several: one measurement each")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--data", options.data, "folder of the Internet tables")->capture_default_str();
    app.add_option("--rounds", options.rounds, "rounds of each panel")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--window", window, "ms measured a forwarder and round")
        ->check(CLI::Range(20, 600000))
        ->capture_default_str();
    app.add_option("--warm-up", warm_up, "ms of traffic before it")
        ->check(CLI::Range(0, 60000))
        ->capture_default_str();
    app.add_option("--batch", options.timing.batch, "frames handed over at a time")
        ->check(CLI::Range(1, 128))
        ->capture_default_str();
    app.add_option("--results", options.results, "folder for the report's files: text, JSON, plots");
    app.add_option("--json", options.json, "also write the report there");
    app.add_option("--pktpitd", options.pktpitd, "the daemon to measure")->capture_default_str();
    app.add_flag("--kill-restart", options.kill_restart,
                 "instead: kill -9 and restart the daemon under half its rate, and count what is lost");
    app.add_option("--kills", options.kills, "how often; 0: traffic alone")
        ->check(CLI::Range(0, 100))
        ->capture_default_str();
    app.add_flag("--idle", options.idle, "instead: the CPU time of an idle daemon in each way of polling");
    app.add_flag("--profile", options.profile,
                 "then, for each forwarder with a process: the share of each step (needs perf)");
    app.add_flag("--all", all,
                 "every row, both kinds of traffic and sizes that matter, 16,384 routes and the whole table; "
                 "what is also "
                 "named on the command line stays as it was named");
    app.add_flag("--quick", quick, "5 short rounds");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        exit_code = app.exit(error);
        return std::nullopt;
    }
    options.all = all && app.count("--forwarders") == 0;
    if (all) {
        const auto unnamed = [&](const char* option) { return app.count(option) == 0; };
        if (unnamed("--forwarders"))
            options.forwarders = quick ? std::vector<std::string>{"pktpit",        "pktpit-split",
                                                                  "pktpit-auto",   "kernel",
                                                                  "fib-lookup",    "lpm-trie",
                                                                  "fixed",         "pktpit-dpdk-xdp",
                                                                  "l3fwd-fib-xdp", "l3fwd-stock-lpm-xdp",
                                                                  "testpmd-xdp"}
                                       : std::vector<std::string>{"pktpit",
                                                                  "pktpit-split",
                                                                  "pktpit-auto",
                                                                  "kernel",
                                                                  "fib-lookup",
                                                                  "lpm-trie",
                                                                  "fixed",
                                                                  "pktpit-dpdk-xdp",
                                                                  "pktpit-dpdk-packet",
                                                                  "l3fwd-fib-xdp",
                                                                  "l3fwd-lpm-xdp",
                                                                  "l3fwd-stock-lpm-xdp",
                                                                  "l3fwd-fib-packet",
                                                                  "l3fwd-lpm-packet",
                                                                  "testpmd-xdp"};
        if (unnamed("--families")) families = {4};
        if (unnamed("--cores")) cores = {"two-core", "free-receive", "one-core"};
        if (unnamed("--tables")) tables = {"internet"};
        if (!quick && unnamed("--routes")) options.routes = {1, 16384, 0};
        if (!quick && unnamed("--traffic")) traffic = {"uniform", "zipf", "one"};
        if (!quick && unnamed("--frames")) options.frame_sizes = {64, 1500};
    }
    options.families.clear();
    for (const int family : families)
        options.families.push_back(family == 4 ? Family::ipv4 : Family::ipv6);
    options.cores.clear();
    if (cores.empty() && options.kill_restart) cores = {"one-core"};
    if (cores.empty()) cores = {"two-core", "one-core"};
    for (const auto& one : cores)
        options.cores.push_back(one == "two-core"   ? harness::Cores::two_core
                                : one == "one-core" ? harness::Cores::one_core
                                                    : harness::Cores::free_receive);
    options.traffic.clear();
    for (const auto& one : traffic)
        options.traffic.push_back(one == "zipf"  ? harness::Traffic::zipf
                                  : one == "one" ? harness::Traffic::one_flow
                                                 : harness::Traffic::uniform);
    if (tables.empty() && options.kill_restart) tables = {"internet"};
    if (tables.empty()) tables = {"internet", "dense"};
    options.tables.clear();
    for (const auto& one : tables)
        options.tables.push_back(one == "internet" ? harness::Table::internet : harness::Table::dense);
    if (quick) {
        options.rounds = quick_rounds;
        window = 100;
        warm_up = 50;
    }
    options.timing.window = std::chrono::milliseconds(window);
    options.timing.warm_up = std::chrono::milliseconds(warm_up);
    return options;
}

}  // namespace pktpit::bench::wire
