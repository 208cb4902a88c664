#include "bench/rfc2544/options.h"

#include <CLI/CLI.hpp>

#include "bench/wire/forwarders.h"
#include "bench/wire/pktpit_daemon.h"

namespace pktpit::bench::rfc2544 {

std::optional<Options> parse_options(int argc, char** argv, int& exit_code) {
    Options options;
    options.data = PKTPIT_DATA_DIRECTORY;
    options.pktpitd = wire::built_daemon();
    for (int i = 0; i < argc; i++)
        options.command += (i ? " " : "") + std::string(argv[i]);
    CLI::App app(
        "Throughput by search for no loss (NDR) and 0.5 % (PDR), latency at 10, 50 and 90 % of the NDR, the "
        "loss curve "
        "and back-to-back frames, over veth. After RFC 2544, RFC 8219 and MLRsearch.");
    bool quick = false;
    int family = 4;
    std::string cores = "two-core";
    app.add_option("--forwarders", options.forwarders, "which to test, one after the other for each size")
        ->delimiter(',')
        ->check(CLI::IsMember(wire::forwarder_names()))
        ->capture_default_str();
    app.add_option(
           "--frames", options.frames,
           "bytes with FCS, as RFC 2544 counts them (64: 64 without, which is the least that the generator "
           "makes), and imix")
        ->delimiter(',')
        ->check(CLI::IsMember({"64", "128", "256", "512", "1024", "1280", "1518", "imix"}))
        ->capture_default_str();
    app.add_option("--family", family, "4 or 6")->check(CLI::IsMember({4, 6}));
    app.add_option("--cores", cores, "which core pays for what (docs/benchmarks.md)")
        ->check(CLI::IsMember({"two-core", "one-core", "free-receive"}))
        ->capture_default_str();
    app.add_option("--routes", options.routes, "prefixes; 0: the whole Internet table")
        ->capture_default_str();
    app.add_option("--trial", options.seconds, "seconds of a trial; RFC 2544 wants 60")
        ->check(CLI::Range(0.05, 3600.0))
        ->capture_default_str();
    app.add_option("--resolution", options.resolution,
                   "how far apart the bounds of a rate may stay, as a share")
        ->check(CLI::Range(0.001, 0.5))
        ->capture_default_str();
    app.add_option("--rounds", options.rounds, "of latencies and of the loss curve")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--data", options.data, "folder of the Internet tables")->capture_default_str();
    app.add_option("--results", options.results, "folder for the report's files: text, JSON, plots");
    app.add_option("--json", options.json, "also write the report there");
    app.add_option("--pktpitd", options.pktpitd, "the daemon to test")->capture_default_str();
    app.add_flag("--quick", quick, "short trials, 64 bytes and imix, two forwarders");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        exit_code = app.exit(error);
        return std::nullopt;
    }
    if (quick) {
        options.seconds = 0.15;
        options.resolution = 0.1;
        options.rounds = 1;
        if (app.count("--frames") == 0) options.frames = {"64", "imix"};
        if (app.count("--forwarders") == 0) options.forwarders = {"pktpit", "kernel"};
    }
    options.family = family == 4 ? Family::ipv4 : Family::ipv6;
    options.cores = cores == "two-core"   ? harness::Cores::two_core
                    : cores == "one-core" ? harness::Cores::one_core
                                          : harness::Cores::free_receive;
    return options;
}

}  // namespace pktpit::bench::rfc2544
