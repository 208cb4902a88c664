// SPDX-License-Identifier: BSD-3-Clause
// bench_rfc2544: what a forwarder carries without loss, how long frames take, what is lost beyond.

#include <fmt/format.h>

#include <array>
#include <deque>

#include "bench/harness/device.h"
#include "bench/harness/failure.h"
#include "bench/harness/hugepages.h"
#include "bench/harness/machine.h"
#include "bench/harness/namespaces.h"
#include "bench/harness/progress.h"
#include "bench/harness/realtime_limit.h"
#include "bench/harness/run_program.h"
#include "bench/harness/statistics.h"
#include "bench/rfc2544/options.h"
#include "bench/rfc2544/report.h"
#include "bench/wire/forwarders.h"

namespace pktpit::bench::rfc2544 {
namespace {

constexpr std::array<double, 3> latency_shares{0.1, 0.5, 0.9};
constexpr unsigned curve_points = 10;
constexpr double headroom = 1.3;  ///< of the search above what arrives when nothing may be lost

struct Frames {
    unsigned bytes = 64;
    bool mix = false;
    double average = 64;
};

/// RFC 2544 counts the FCS, which veth has none of.
Frames frames_of(const std::string& name) {
    if (name == "imix")
        return {PB_MOST_FRAME_BYTES, true, (7.0 * 64 + 4.0 * PB_MIX_MIDDLE_BYTES + PB_MOST_FRAME_BYTES) / 12};
    const auto with_fcs = static_cast<unsigned>(std::stoul(name));
    const unsigned bytes = with_fcs == 64 ? 64 : with_fcs - 4;
    return {bytes, false, static_cast<double>(bytes)};
}

Throughput test(wire::Lab& lab, const harness::Workload& workload, const std::string& frames,
                const Options& options) {
    Throughput row;
    row.forwarder = lab.forwarder().name();
    row.frames = frames;
    const Frames shape = frames_of(frames);
    row.average_bytes = shape.average;
    Tester tester(lab, options.cores);
    tester.aim(workload, shape.bytes, shape.mix);
    row.highest =
        tester.closed_loop_rate(std::chrono::milliseconds(static_cast<int>(options.seconds * 300))) *
        headroom;
    if (row.highest > 0) {
        const auto goals = search({0.0, pdr_loss},
                                  {.highest = row.highest,
                                   .seconds = {options.seconds / 4, options.seconds},
                                   .resolution = options.resolution},
                                  [&](double load, double seconds) {
                                      row.trials++;
                                      return tester.trial(load, seconds);
                                  });
        row.ndr = goals[0];
        row.pdr = goals[1];
        for (const double share : latency_shares) {
            if (row.ndr.lower <= 0) break;
            std::vector<double> median, p99, p999;
            for (unsigned round = 0; round < options.rounds; round++) {
                const Latency one = tester.latency(share, row.ndr.lower * share, options.seconds);
                median.push_back(one.median_us);
                p99.push_back(one.p99_us);
                p999.push_back(one.p999_us);
            }
            row.latencies.push_back({share, harness::summarize(median).median, harness::summarize(p99).median,
                                     harness::summarize(p999).median});
        }
        for (unsigned point = 1; point <= curve_points; point++) {
            const double load = row.highest * point / curve_points;
            std::vector<double> losses, offered;
            unsigned reached = 0;
            for (unsigned round = 0; round < options.rounds; round++) {
                const Trial trial = tester.trial(load, options.seconds / 4);
                losses.push_back(trial.loss);
                offered.push_back(trial.offered);
                reached += trial.reached;
            }
            row.curve.push_back({load, harness::summarize(offered).median, harness::summarize(losses).median,
                                 2 * reached > options.rounds});
        }
        row.back_to_back = tester.back_to_back(longest_burst);
    }
    row.faults = tester.take_faults();
    return row;
}

int run(const Options& options) {
    harness::make_private_mounts();
    const harness::HugepageReservation hugepages(wire::hugepages_needed(options.forwarders));
    const harness::NoRealtimeLimit no_limit;
    if (!hugepages.enough())
        throw harness::Failure("the kernel has not got the huge pages that these forwarders need");
    const harness::Workload workload =
        harness::make_workload(options.family, harness::Table::internet, options.routes, options.data);
    Report report;
    report.machine = harness::describe_machine();
    report.command = options.command;
    report.workload = workload.description;
    report.cores = options.cores;
    report.trial_seconds = options.seconds;
    report.resolution = options.resolution;
    std::deque<wire::Lab> labs;
    for (const std::string& name : options.forwarders) {
        auto forwarder = wire::make_forwarder(name, {.pktpitd = options.pktpitd, .before = {}});
        if (!forwarder->runs_on(options.cores)) {
            fmt::print("{} is not tested: it does not run {}\n", forwarder->name(),
                       harness::name_of(options.cores));
            continue;
        }
        report.forwarders.emplace_back(forwarder->name(), forwarder->description());
        labs.emplace_back(std::move(forwarder), std::vector<const harness::Workload*>{&workload});
        const wire::Forwarder& attached = labs.back().forwarder();
        if (!attached.command().empty()) report.commands.emplace_back(attached.name(), attached.command());
        if (!attached.patch().empty()) report.patch = attached.patch();
    }
    print_head(stdout, report);
    {
        harness::Progress progress(options.frames.size() * labs.size());
        const harness::RealTime real_time(harness::Schedule::measuring);
        for (const std::string& frames : options.frames) {
            for (wire::Lab& lab : labs) {
                report.rows.push_back(test(lab, workload, frames, options));
                const Throughput& row = report.rows.back();
                progress.step(fmt::format("{} {}: NDR {:.3f} Mpps, PDR {:.3f} Mpps, {} trials", row.frames,
                                          row.forwarder, row.ndr.lower / 1e6, row.pdr.lower / 1e6,
                                          row.trials));
            }
        }
    }
    print_report(stdout, report);
    if (!options.results.empty()) write_results(options.results, report);
    if (!options.json.empty()) write_json(options.json, report);
    for (const Throughput& row : report.rows)
        if (!row.faults.empty() || row.highest <= 0) return 2;
    return 0;
}

}  // namespace
}  // namespace pktpit::bench::rfc2544

int main(int argc, char** argv) {
    using namespace pktpit::bench;
    return harness::run_program("bench_rfc2544", rfc2544::parse_options, rfc2544::run, argc, argv);
}
