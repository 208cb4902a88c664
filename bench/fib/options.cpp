// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/options.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <thread>

namespace pktpit::bench::fib {
namespace {

constexpr size_t smoke_routes = 20'000;
const std::vector<std::string> peer_names{"rte_lpm",  "rte_fib 4B",  "rte_fib 2B",
                                          "rte_lpm6", "rte_fib6 4B", "rte_fib6 2B"};

Traffic traffic_named(const std::string& name) {
    for (const Traffic traffic : all_traffic)
        if (name_of(traffic) == name) return traffic;
    return Traffic::uniform;  // not reached: CLI11 has checked the name
}

void make_small(Options& options) {
    options.routes = smoke_routes;
    options.addresses = 1 << 14;
    options.buffers = 1 << 10;
    options.updates = 2000;
    options.rounds = 2;
    options.load_rounds = 1;
    options.min_seconds = 0.0002;
    options.hugepages = false;
}

/// Lookups go by whole batches.
std::string whole_batches(const std::string& count) {
    return std::stoull(count) % batch_size == 0 ? "" : "a multiple of 64 is expected";
}

void add_table(CLI::App& app, Options& options) {
    harness::add_families(app, "--family", options.families);
    app.add_option("--sections", options.sections, "what to measure")
        ->delimiter(',')
        ->check(CLI::IsMember({"lookup", "churn", "load"}))
        ->capture_default_str();
    app.add_option("--table", options.tables,
                   "route file instead of the Internet's (`prefix next-hop-id` a line, may be xz); again for "
                   "the other family")
        ->check(CLI::ExistingFile);
    harness::add_data(app, options, "the Internet's tables and update traces");
    app.add_option("--routes", options.routes,
                   "generate a table of so many routes with the Internet's prefix lengths instead")
        ->check(CLI::Range(16, 4'000'000));
    app.add_option("--next-hops", options.next_hops, "spread the routes over so many next hops by a hash")
        ->check(CLI::Range(1, 32'000));
    app.add_flag(
           "--table-set", options.table_set,
           "lookups alone, on each table of a set: the Internet's and generated routes, 200, 3771 and "
           "30000 next hops, 0, 1 and 10 % of the IPv4 prefixes longer than /24; the worst table's ratio "
           "stands for all")
        ->excludes("--table")
        ->excludes("--next-hops");
}

void add_workload(CLI::App& app, Options& options) {
    app.add_option("--peers", options.peers, "only these peers beside Pktpit; default: all")
        ->delimiter(',')
        ->check(CLI::IsMember(peer_names));
    app.add_option_function<std::vector<std::string>>(
           "--workloads",
           [&options](const std::vector<std::string>& names) {
               options.workloads.clear();
               for (const std::string& name : names)
                   options.workloads.push_back(traffic_named(name));
           },
           "only these; default: all")
        ->delimiter(',')
        ->check(CLI::IsMember({"uniform", "in-prefix", "zipf", "hot16", "consecutive", "buffers"}));
    app.add_option("--addresses", options.addresses, "destinations of a workload")
        ->check(CLI::Range(batch_size, size_t{1} << 26))
        ->check(whole_batches)
        ->capture_default_str();
    app.add_option("--buffers", options.buffers, "packet buffers of the workload `buffers`")
        ->check(CLI::Range(batch_size, size_t{1} << 20))
        ->check(whole_batches)
        ->capture_default_str();
    app.add_option("--updates", options.updates, "random updates a measurement")
        ->check(CLI::Range(1, 250'000))
        ->capture_default_str();
}

void add_lengths(CLI::App& app, Options& options) {
    harness::add_rounds(app, options.rounds, "--rounds", "of the lookup and churn measurements");
    harness::add_rounds(app, options.load_rounds, "--load-rounds", "of the load measurements");
    app.add_option_function<double>(
           "--min-time", [&options](double milliseconds) { options.min_seconds = milliseconds * 1e-3; },
           "ms of a lookup measurement")
        ->check(CLI::Range(0.1, 10'000.0))
        ->default_str("25");
    app.add_option("--seed", options.seed, "of destinations and updates")->capture_default_str();
}

void add_cpus(CLI::App& app, Options& options) {
    app.add_option("--cpu", options.cpu, "where lookups and the writer run")->capture_default_str();
    app.add_option("--reader-cpu", options.reader_cpu,
                   "where the churn benchmark's reader, or the neighbour, runs")
        ->capture_default_str();
    app.add_option(
           "--neighbours", options.neighbours,
           "MiB that another core writes to at random while lookups are measured, as a router's other "
           "cores do; 0: nothing; several: one measurement each")
        ->delimiter(',')
        ->check(CLI::Range(0, 4096))
        ->capture_default_str();
    app.add_flag("!--no-hugepages", options.hugepages, "take none from the kernel: DPDK is slower then");
}

}  // namespace

bool Options::wants(const std::string& section) const {
    return std::find(sections.begin(), sections.end(), section) != sections.end();
}

bool Options::wants_peer(const std::string& name) const {
    return peers.empty() || std::find(peers.begin(), peers.end(), name) != peers.end();
}

harness::Parsed<Options> parse_options(int argc, char** argv) {
    Options options;
    options.command = harness::command_of(argc, argv);
    options.cpu = std::max(std::thread::hardware_concurrency(), 1u) - 1;
    std::vector<std::string> words;
    for (int i = 1; i < argc; i++) {
        const std::string word = argv[i];
        (word.starts_with("--benchmark_") ? options.benchmark_flags : words).push_back(word);
    }
    CLI::App app(
        "Measures Pktpit's FIB against DPDK's rte_lpm, rte_fib and rte_fib6: lookups in batches of 64 on one "
        "core, updates, loading. Google Benchmark's own --benchmark_... options are passed on.");
    add_table(app, options);
    add_workload(app, options);
    add_lengths(app, options);
    add_cpus(app, options);
    harness::add_results(app, options);
    harness::add_quick(app, options, "IPv4 lookups alone, fewer rounds: less than two minutes");
    harness::add_json(app, options, "also write all samples there");
    app.add_flag("--smoke", options.smoke, "everything once, on a small table: seconds, no root, no figures");
    if (const auto exit_code = harness::parse_arguments(app, std::move(words))) return *exit_code;
    if (options.quick) {
        if (app.count("--family") == 0) options.families = {Family::ipv4};
        if (app.count("--sections") == 0) options.sections = {"lookup"};
        if (app.count("--rounds") == 0) options.rounds = 9;
    }
    if (options.table_set) options.sections = {"lookup"};
    if (options.smoke) make_small(options);
    options.buffers = std::min(options.buffers, options.addresses);
    return options;
}

}  // namespace pktpit::bench::fib
