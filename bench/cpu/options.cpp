#include "bench/cpu/options.h"

#include <CLI/CLI.hpp>

#include <filesystem>

#include "bench/cpu/rows.h"

namespace pktpit::bench::cpu {

std::optional<Options> parse_options(int argc, char** argv, int& exit_code) {
    Options options;
    options.data = PKTPIT_DATA_DIRECTORY;
    options.pktpitd =
        std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path() / "router/pktpitd";
    for (int i = 0; i < argc; i++)
        options.command += (i ? " " : "") + std::string(argv[i]);
    std::vector<std::string> names;
    for (const CpuRowKind& row : cpu_rows(options.pktpitd, options.core, options.frame_bytes)) {
        names.push_back(row.option);
        if (row.in_all) options.rows.push_back(row.option);
    }

    CLI::App app(
        "Measures what a packet costs one core: DPDK's forwarders and Pktpit's on net_pcap -> net_null, "
        "frames from "
        "memory, no kernel I/O. Costs are told above testpmd's, which does nothing but receive and send.");
    std::vector<int> families{4};
    std::vector<std::string> traffic{"uniform"};
    unsigned window = 400, warm_up = 100;
    bool quick = false;
    app.add_option("--families", families, "4 and 6, or one of them")
        ->delimiter(',')
        ->check(CLI::IsMember({4, 6}));
    app.add_option("--forwarders", options.rows, "which to measure, in turns")
        ->delimiter(',')
        ->check(CLI::IsMember(names))
        ->capture_default_str();
    app.add_option("--routes", options.routes,
                   "taken evenly from the Internet's table; 0: all; several: one measurement each. l3fwd lpm "
                   "takes 6.5 "
                   "minutes to load all")
        ->delimiter(',')
        ->capture_default_str();
    app.add_option("--traffic", traffic, "destinations: uniform over the routes, Zipf(1.0) over them, or one")
        ->delimiter(',')
        ->check(CLI::IsMember({"uniform", "zipf", "one"}));
    app.add_option("--frame", options.frame_bytes, "bytes of a frame, without FCS")
        ->check(CLI::Range(64, 1514))
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "rounds of each panel")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--window", window, "ms measured a row and round")
        ->check(CLI::Range(20, 600000))
        ->capture_default_str();
    app.add_option("--warm-up", warm_up, "ms before it")->check(CLI::Range(0, 60000))->capture_default_str();
    app.add_option("--core", options.core, "which forwards")->capture_default_str();
    app.add_option("--data", options.data, "folder of the Internet tables")->capture_default_str();
    app.add_option("--results", options.results, "folder for the report's files: text, JSON, plots");
    app.add_option("--json", options.json, "also write the report there");
    app.add_option("--pktpitd", options.pktpitd, "the daemon to measure")->capture_default_str();
    app.add_flag("--quick", quick, "5 short rounds");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        exit_code = app.exit(error);
        return std::nullopt;
    }
    if (quick) {
        options.rounds = 5;
        window = 100;
        warm_up = 50;
    }
    options.families.clear();
    for (const int family : families)
        options.families.push_back(family == 4 ? Family::ipv4 : Family::ipv6);
    options.traffic.clear();
    for (const auto& one : traffic)
        options.traffic.push_back(one == "zipf"  ? harness::Traffic::zipf
                                  : one == "one" ? harness::Traffic::one_flow
                                                 : harness::Traffic::uniform);
    options.window = std::chrono::milliseconds(window);
    options.warm_up = std::chrono::milliseconds(warm_up);
    return options;
}

}  // namespace pktpit::bench::cpu
