// SPDX-License-Identifier: BSD-3-Clause
#include "bench/cpu/options.h"

#include <CLI/CLI.hpp>

#include "bench/cpu/rows.h"

namespace pktpit::bench::cpu {

harness::Parsed<Options> parse_options(int argc, char** argv) {
    Options options;
    options.command = harness::command_of(argc, argv);
    options.settings.pktpitd = harness::built_daemon();
    std::vector<std::string> names;
    for (const CpuRowKind& row : cpu_rows(options.settings)) {
        names.push_back(row.option);
        if (row.in_all) options.rows.push_back(row.option);
    }

    CLI::App app(
        "Measures what a packet costs one core: DPDK's forwarders and Pktpit's on net_pcap -> net_null, "
        "frames from memory, no kernel I/O. Costs are told above testpmd's, which does nothing but receive "
        "and send.");
    harness::add_families(app, "--families", options.families);
    harness::add_forwarders(app, options.rows, names);
    harness::add_routes(app, options.routes,
                        "taken evenly from the Internet's table; 0: all; several: one measurement each. "
                        "l3fwd lpm takes 6.5 minutes to load all");
    harness::add_traffic(app, options.traffic);
    app.add_option("--frame", options.settings.frame_bytes, "bytes of a frame, without FCS")
        ->check(CLI::Range(64, 1514))
        ->capture_default_str();
    app.add_option(
           "--trailers", options.settings.trailers_percent,
           "percent of the frames with two bytes behind the packet, for all rows: Pktpit's fast way may "
           "not take them")
        ->check(CLI::Range(0, 100))
        ->capture_default_str();
    app.add_option(
           "--groups", options.settings.groups,
           "Pktpit's routes over so many groups of four next hops, flows shared out by their hash; 0: one "
           "next hop for all, which is all that l3fwd has")
        ->check(CLI::Range(0, 32))
        ->capture_default_str();
    harness::add_round_options(app, options, "row", "ms");
    app.add_option("--core", options.settings.core, "which forwards")->capture_default_str();
    app.add_option(
           "--instructions", options.instructions,
           "count so many instructions of each row, one at a time, instead of measuring times: those of "
           "a packet, by program and library. 2000000 take some 10 s a row and tell them to 1 %")
        ->check(CLI::Range(10000, 1000000000));
    harness::add_data(app, options);
    harness::add_results(app, options);
    harness::add_json(app, options);
    harness::add_daemon(app, options.settings.pktpitd);
    harness::add_quick(app, options);
    if (const auto exit_code = harness::parse_arguments(app, argc, argv)) return *exit_code;
    if (options.quick) options.shorten();
    return options;
}

}  // namespace pktpit::bench::cpu
