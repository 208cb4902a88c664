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

}  // namespace

bool Options::wants(const std::string& section) const {
    return std::find(sections.begin(), sections.end(), section) != sections.end();
}

bool Options::wants_peer(const std::string& name) const {
    return peers.empty() || std::find(peers.begin(), peers.end(), name) != peers.end();
}

std::optional<Options> parse_options(int argc, char** argv, int& exit_code) {
    Options options;
    options.data = PKTPIT_DATA_DIRECTORY;
    options.cpu = std::max(std::thread::hardware_concurrency(), 1u) - 1;
    std::vector<std::string> words;
    for (int i = 0; i < argc; i++) {
        const std::string word = argv[i];
        options.command += (i ? " " : "") + word;
        if (i == 0) continue;
        (word.starts_with("--benchmark_") ? options.benchmark_flags : words).push_back(word);
    }
    std::reverse(words.begin(), words.end());  // as CLI11 takes a vector

    CLI::App app(
        "Measures Pktpit's FIB against DPDK's rte_lpm, rte_fib and rte_fib6: lookups in batches of 64 on one "
        "core, updates, loading. Google Benchmark's own --benchmark_... options are passed on.");
    std::vector<int> families{4, 6};
    std::vector<std::string> workloads;
    bool quick = false;
    double min_milliseconds = options.min_seconds * 1e3;
    app.add_option("--family", families, "4 and 6, or one of them")
        ->delimiter(',')
        ->check(CLI::IsMember({4, 6}));
    app.add_option("--sections", options.sections, "what to measure")
        ->delimiter(',')
        ->check(CLI::IsMember({"lookup", "churn", "load"}))
        ->capture_default_str();
    app.add_option("--table", options.tables,
                   "route file instead of the Internet's (`prefix next-hop-id` a line, may be xz); again for "
                   "the other "
                   "family")
        ->check(CLI::ExistingFile);
    app.add_option("--data", options.data, "folder of the Internet's tables and update traces")
        ->capture_default_str();
    app.add_option("--routes", options.routes,
                   "generate a table of so many routes with the Internet's prefix lengths instead")
        ->check(CLI::Range(16, 4'000'000));
    app.add_option("--next-hops", options.next_hops, "spread the routes over so many next hops by a hash")
        ->check(CLI::Range(1, 32'000));
    app.add_option("--peers", options.peers, "only these peers beside Pktpit; default: all")
        ->delimiter(',')
        ->check(CLI::IsMember(peer_names));
    app.add_option("--workloads", workloads, "only these; default: all")
        ->delimiter(',')
        ->check(CLI::IsMember({"uniform", "in-prefix", "zipf", "hot16", "consecutive", "buffers"}));
    auto* addresses = app.add_option("--addresses", options.addresses, "destinations of a workload")
                          ->check(CLI::Range(batch_size, size_t{1} << 26))
                          ->capture_default_str();
    auto* buffers = app.add_option("--buffers", options.buffers, "packet buffers of the workload `buffers`")
                        ->check(CLI::Range(batch_size, size_t{1} << 20))
                        ->capture_default_str();
    app.add_option("--updates", options.updates, "random updates a measurement")
        ->check(CLI::Range(1, 250'000))
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "of the lookup and churn measurements")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--load-rounds", options.load_rounds, "of the load measurements")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--min-time", min_milliseconds, "ms of a lookup measurement")
        ->check(CLI::Range(0.1, 10'000.0))
        ->capture_default_str();
    app.add_option("--seed", options.seed, "of destinations and updates")->capture_default_str();
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
    app.add_option("--results", options.results, "folder for the report's files: text, JSON, plots");
    app.add_flag("--quick", quick, "IPv4 lookups alone, fewer rounds: less than two minutes");
    app.add_option("--json", options.json, "also write all samples there");
    app.add_flag("--smoke", options.smoke, "everything once, on a small table: seconds, no root, no figures");
    try {
        app.parse(words);
        if (addresses->count() > 0 && options.addresses % batch_size != 0)
            throw CLI::ValidationError("--addresses", "a multiple of 64 is expected");
        if (buffers->count() > 0 && options.buffers % batch_size != 0)
            throw CLI::ValidationError("--buffers", "a multiple of 64 is expected");
    } catch (const CLI::ParseError& error) {
        exit_code = app.exit(error);
        return std::nullopt;
    }
    options.families.clear();
    for (const int family : families)
        options.families.push_back(family == 4 ? Family::ipv4 : Family::ipv6);
    if (!workloads.empty()) options.workloads.clear();
    for (const std::string& name : workloads)
        options.workloads.push_back(traffic_named(name));
    options.min_seconds = min_milliseconds * 1e-3;
    if (quick) {
        if (app.count("--family") == 0) options.families = {Family::ipv4};
        if (app.count("--sections") == 0) options.sections = {"lookup"};
        if (app.count("--rounds") == 0) options.rounds = 9;
    }
    if (options.smoke) make_small(options);
    options.buffers = std::min(options.buffers, options.addresses);
    return options;
}

}  // namespace pktpit::bench::fib
