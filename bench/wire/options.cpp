// SPDX-License-Identifier: BSD-3-Clause
#include "bench/wire/options.h"

#include <CLI/CLI.hpp>

#include "bench/wire/forwarders.h"

namespace pktpit::bench::wire {
namespace {

using harness::Cores;
using harness::Table;
using harness::Traffic;

const std::vector<std::string> all_forwarders{"pktpit",
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
const std::vector<std::string> all_forwarders_quickly{
    "pktpit",     "pktpit-split", "pktpit-auto",     "kernel",        "fib-lookup",
    "lpm-trie",   "fixed",        "pktpit-dpdk-xdp", "l3fwd-fib-xdp", "l3fwd-stock-lpm-xdp",
    "testpmd-xdp"};

void add_conditions(CLI::App& app, Options& options) {
    harness::add_families(app, "--families", options.families);
    harness::add_cores(app, options.cores,
                       "two-core, one-core and free-receive, or some of them (docs/benchmarks.md); the first "
                       "two, but with --kill-restart one-core, where no ring overflows");
    harness::add_forwarders(app, options.forwarders, forwarder_names());
    app.add_option("--frames", options.frame_sizes, "bytes of a frame, without FCS: one measurement each")
        ->delimiter(',')
        ->check(CLI::Range(64, 1514))
        ->capture_default_str();
    harness::add_traffic(app, options.traffic);
    app.add_option("--busy-budget", options.busy_budget,
                   "of net_af_xdp: frames that a poll of the socket may take; 0: sockets are not polled")
        ->check(CLI::Range(0, 1024))
        ->capture_default_str();
    app.add_option_function<std::vector<std::string>>(
           "--tables",
           [&options](const std::vector<std::string>& names) {
               options.tables.clear();
               for (const std::string& name : names)
                   options.tables.push_back(name == "internet" ? Table::internet : Table::dense);
           },
           "internet: real prefixes, taken evenly; dense: consecutive ones; both, but with --kill-restart "
           "internet")
        ->delimiter(',')
        ->check(CLI::IsMember({"internet", "dense"}));
    harness::add_routes(
        app, options.routes,
        "prefixes of each family; 0: the whole Internet table; several: one measurement each");
    harness::add_data(app, options);
}

void add_kinds(CLI::App& app, Options& options) {
    app.add_flag("--kill-restart", options.kill_restart,
                 "instead: kill -9 and restart the daemon under half its rate, and count what is lost");
    app.add_option("--kills", options.kills, "how often; 0: traffic alone")
        ->check(CLI::Range(0, 100))
        ->capture_default_str();
    app.add_flag("--idle", options.idle, "instead: the CPU time of an idle daemon in each way of polling");
    app.add_flag("--profile", options.profile,
                 "then, for each forwarder with a process: the share of each step (needs perf)");
    app.add_flag("--all", options.all,
                 "every row, both kinds of traffic and sizes that matter, 16,384 routes and the whole table; "
                 "what is also named on the command line stays as it was named");
}

/// --all, for what was not named.
void measure_all(const CLI::App& app, Options& options) {
    const auto unnamed = [&](const char* option) { return app.count(option) == 0; };
    if (unnamed("--forwarders")) options.forwarders = options.quick ? all_forwarders_quickly : all_forwarders;
    if (unnamed("--families")) options.families = {Family::ipv4};
    if (unnamed("--cores")) options.cores = {Cores::two_core, Cores::free_receive, Cores::one_core};
    if (unnamed("--tables")) options.tables = {Table::internet};
    if (options.quick) return;
    if (unnamed("--routes")) options.routes = {1, 16384, 0};
    if (unnamed("--traffic")) options.traffic = {Traffic::uniform, Traffic::zipf, Traffic::one_flow};
    if (unnamed("--frames")) options.frame_sizes = {64, 1500};
}

}  // namespace

harness::Parsed<Options> parse_options(int argc, char** argv) {
    Options options;
    options.command = harness::command_of(argc, argv);
    options.pktpitd = harness::built_daemon();
    CLI::App app(
        "Measures Pktpit against other forwarders over veth: source -> router -> sink, 64-byte frames.");
    add_conditions(app, options);
    harness::add_round_options(app, options, "forwarder", "ms of traffic");
    app.add_option("--batch", options.timing.batch, "frames handed over at a time")
        ->check(CLI::Range(1, 128))
        ->capture_default_str();
    harness::add_results(app, options);
    harness::add_json(app, options);
    harness::add_daemon(app, options.pktpitd);
    app.add_option("--before", options.before,
                   "another build's pktpitd, for rows that compare with it in the same run: before-pktpit, "
                   "before-pktpit-split, …")
        ->check(CLI::ExistingFile);
    add_kinds(app, options);
    harness::add_quick(app, options);
    if (const auto exit_code = harness::parse_arguments(app, argc, argv)) return *exit_code;
    if (options.all) measure_all(app, options);
    options.all = options.all && app.count("--forwarders") == 0;
    if (options.cores.empty())
        options.cores = options.kill_restart ? std::vector{Cores::one_core}
                                             : std::vector{Cores::two_core, Cores::one_core};
    if (options.tables.empty())
        options.tables =
            options.kill_restart ? std::vector{Table::internet} : std::vector{Table::internet, Table::dense};
    if (options.quick) options.shorten();
    return options;
}

}  // namespace pktpit::bench::wire
