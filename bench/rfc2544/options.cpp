// SPDX-License-Identifier: BSD-3-Clause
#include "bench/rfc2544/options.h"

#include <CLI/CLI.hpp>

#include "bench/wire/forwarders.h"

namespace pktpit::bench::rfc2544 {

harness::Parsed<Options> parse_options(int argc, char** argv) {
    Options options;
    options.command = harness::command_of(argc, argv);
    options.pktpitd = harness::built_daemon();
    CLI::App app(
        "Throughput by search for no loss (NDR) and 0.5 % (PDR), latency at 10, 50 and 90 % of the NDR, the "
        "loss curve and back-to-back frames, over veth. After RFC 2544, RFC 8219 and MLRsearch.");
    harness::add_forwarders(app, options.forwarders, wire::forwarder_names(),
                            "which to test, one after the other for each size");
    app.add_option("--frames", options.frames,
                   "bytes with FCS, as RFC 2544 counts them (64: 64 without, which is the least that the "
                   "generator makes), and imix")
        ->delimiter(',')
        ->check(CLI::IsMember({"64", "128", "256", "512", "1024", "1280", "1518", "imix"}))
        ->capture_default_str();
    harness::add_family(app, options.family);
    harness::add_cores(app, options.cores);
    app.add_option("--routes", options.routes, "prefixes; 0: the whole Internet table")
        ->capture_default_str();
    app.add_option("--trial", options.seconds, "seconds of a trial; RFC 2544 wants 60")
        ->check(CLI::Range(0.05, 3600.0))
        ->capture_default_str();
    app.add_option("--resolution", options.resolution,
                   "how far apart the bounds of a rate may stay, as a share")
        ->check(CLI::Range(0.001, 0.5))
        ->capture_default_str();
    harness::add_rounds(app, options.rounds, "--rounds", "of latencies and of the loss curve");
    harness::add_data(app, options);
    harness::add_results(app, options);
    harness::add_json(app, options);
    harness::add_daemon(app, options.pktpitd);
    harness::add_quick(app, options, "short trials, 64 bytes and imix, two forwarders");
    if (const auto exit_code = harness::parse_arguments(app, argc, argv)) return *exit_code;
    if (options.quick) {
        options.seconds = 0.15;
        options.resolution = 0.1;
        options.rounds = 1;
        if (app.count("--frames") == 0) options.frames = {"64", "imix"};
        if (app.count("--forwarders") == 0) options.forwarders = {"pktpit", "kernel"};
    }
    return options;
}

}  // namespace pktpit::bench::rfc2544
