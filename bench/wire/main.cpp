// SPDX-License-Identifier: BSD-3-Clause
// bench_wire: how fast Pktpit forwards 64-byte frames, as ratios to other forwarders in the same run. Ends
// with 2 if a sink saw wrong frames or none; a missed target is told and is no failure.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "bench/dpdk/program.h"
#include "bench/harness/device.h"
#include "bench/harness/failure.h"
#include "bench/harness/hugepages.h"
#include "bench/harness/machine.h"
#include "bench/harness/progress.h"
#include "bench/harness/realtime_limit.h"
#include "bench/harness/run_program.h"
#include "bench/report/report.h"
#include "bench/report/results.h"
#include "bench/wire/forwarders.h"
#include "bench/wire/idle.h"
#include "bench/wire/kill_restart.h"
#include "bench/wire/lab.h"
#include "bench/wire/options.h"

namespace pktpit::bench::wire {
namespace {

constexpr size_t slow_to_load = 200'000;  ///< routes, for rte_lpm

/// One a family.
std::vector<harness::Workload> make_workloads(const Options& options, harness::Table table, size_t routes,
                                              harness::Traffic traffic) {
    std::vector<harness::Workload> workloads;
    for (const Family family : options.families)
        workloads.push_back(harness::make_workload(family, table, routes, options.data, traffic));
    return workloads;
}

struct Conditions {
    const harness::Workload& workload;
    unsigned frame_bytes;
    harness::Cores cores;
};

/// Rounds go over all forwarders in turn, so that what disturbs the machine disturbs each of them.
report::Panel measure_panel(std::deque<Lab>& all, const Options& options, const Conditions& conditions,
                            harness::Progress& progress) {
    const auto& [workload, frame_bytes, cores] = conditions;
    report::Panel panel{workload.prefixes.front().address.family,
                        cores,
                        frame_bytes,
                        workload.description,
                        workload.label,
                        workload.prefixes.size(),
                        {}};
    std::vector<Lab*> labs;
    for (Lab& lab : all) {
        if (!lab.forwarder().runs_on(cores)) continue;
        labs.push_back(&lab);
        panel.series.push_back({lab.forwarder().name(), {}});
    }
    for (unsigned round = 0; round < options.rounds; round++) {
        for (size_t i = 0; i < labs.size(); i++) {
            // Nobody always comes first, or after the same forwarder.
            const size_t turn = round % 2 ? labs.size() - 1 - i : i;
            const harness::Sample sample = labs[turn]->measure(cores, options.timing);
            panel.series[turn].samples.push_back(sample);
            progress.step(fmt::format("{} {} B {} round {}: {} {:.3f} Mpps{}",
                                      panel.family == Family::ipv4 ? "IPv4" : "IPv6", frame_bytes,
                                      harness::name_of(cores), round + 1, panel.series[turn].forwarder,
                                      sample.mpps, sample.faults.empty() ? "" : " " + sample.faults));
        }
    }
    return panel;
}

/// Starts a forwarder in a lab of its own; false where it is no fault that it does not run.
bool start(const std::string& name, const std::vector<const harness::Workload*>& routes,
           const Options& options, std::deque<Lab>& labs, report::Report& report) {
    // rte_lpm takes 6.5 minutes to load the Internet's table. Who names the row himself has the time.
    if (options.all && name.starts_with("l3fwd-lpm") && routes.front()->prefixes.size() > slow_to_load) {
        report.refusals.emplace_back(
            name, fmt::format("with {} routes it takes minutes to load: name it in --forwarders",
                              routes.front()->prefixes.size()));
        return false;
    }
    try {
        labs.emplace_back(make_forwarder(name, {options.pktpitd, options.before, options.busy_budget}),
                          routes);
    } catch (const harness::Failure& failure) {
        const bool may_refuse = name.starts_with("l3fwd-stock") ||
                                (options.all && (name == "pktpit-auto" || name.starts_with("pktpit-dpdk")));
        if (!may_refuse) throw;
        report.refusals.emplace_back(name, dpdk::last_complaint(failure.what()));
        return false;
    }
    const Forwarder& forwarder = labs.back().forwarder();
    if (!forwarder.command().empty()) report.commands.emplace_back(forwarder.name(), forwarder.command());
    if (!forwarder.patch().empty()) report.patch = forwarder.patch();
    return true;
}

void take_profile(Lab& lab, const Options& options, const harness::Workload& workload,
                  report::Report& report) {
    const unsigned bytes = options.frame_sizes.front();
    lab.aim(workload, {.bytes = bytes});
    report::Profile profile =
        report::sort_stacks(lab.sample_stacks(options.cores.front(), std::chrono::seconds(3)));
    profile.forwarder = lab.forwarder().name();
    profile.conditions =
        fmt::format("{} B, {}, {}", bytes, harness::name_of(options.cores.front()), workload.description);
    report.profiles.push_back(std::move(profile));
}

/// Labs are made anew for each table: a forwarder has the routes of one.
void compare_on(harness::Table table, size_t routes, const Options& options, report::Report& report,
                harness::Progress& progress) {
    std::deque<std::vector<harness::Workload>> by_traffic;
    for (const harness::Traffic traffic : options.traffic)
        by_traffic.push_back(make_workloads(options, table, routes, traffic));
    std::vector<const harness::Workload*> views;
    for (const harness::Workload& workload : by_traffic.front())
        views.push_back(&workload);
    std::deque<Lab> labs;
    for (const std::string& name : options.forwarders) {
        progress.say("starting " + name);
        start(name, views, options, labs, report);
    }
    const harness::RealTime real_time(harness::Schedule::measuring);
    for (const auto& workloads : by_traffic) {
        for (const harness::Workload& workload : workloads) {
            for (const unsigned bytes : options.frame_sizes) {
                for (Lab& lab : labs)
                    lab.aim(workload, {.bytes = bytes});
                for (const harness::Cores cores : options.cores)
                    report.panels.push_back(measure_panel(labs, options, {workload, bytes, cores}, progress));
            }
        }
    }
    if (!options.profile) return;
    for (Lab& lab : labs) {
        if (lab.forwarder().process().first == 0) continue;
        progress.say("profile of " + lab.forwarder().name());
        take_profile(lab, options, by_traffic.front().front(), report);
    }
}

void compare(const Options& options, report::Report& report) {
    constexpr size_t whole_table = 1'000'000;
    report.targets = {{"pktpit", "kernel ip_forward", 3.0},
                      {"pktpit", "XDP + bpf_fib_lookup", 1.6, 0, whole_table - 1},
                      {"pktpit", "XDP + bpf_fib_lookup", 2.0, whole_table},
                      {"pktpit", "fixed redirect", 0.9},
                      {"pktpit", "l3fwd fib, net_af_xdp", 2.3, 0, whole_table - 1},
                      {"pktpit", "l3fwd lpm, net_af_xdp", 2.3, 0, whole_table - 1},
                      {"pktpit split", "l3fwd fib, net_af_xdp", 1.0},
                      {"pktpit split", "l3fwd lpm, net_af_xdp", 1.0},
                      {"pktpit", "pktpit before", 0.97},
                      {"pktpit split", "pktpit split before", 0.97},
                      {"pktpit auto", "pktpit auto before", 0.97}};
    size_t steps = 0;
    for (const std::string& name : options.forwarders) {
        const auto forwarder = make_forwarder(name, {options.pktpitd, options.before, options.busy_budget});
        report.forwarders.emplace_back(forwarder->name(), forwarder->description());
        for (const harness::Cores cores : options.cores)
            steps += forwarder->runs_on(cores);
    }
    report::print_head(stdout, report);
    harness::Progress progress(options.tables.size() * options.routes.size() * options.traffic.size() *
                               options.families.size() * options.frame_sizes.size() * steps * options.rounds);
    for (const harness::Table table : options.tables)
        for (const size_t routes : options.routes)
            compare_on(table, routes, options, report, progress);
}

void kill_and_restart(const Options& options, report::Report& report) {
    const KillRestartPlan plan{.binary = options.pktpitd, .kills = options.kills};
    report::print_head(stdout, report);
    const size_t tests = options.tables.size() * options.families.size() * options.cores.size();
    harness::Progress progress(tests * kill_restart_steps(plan));
    for (const harness::Table table : options.tables) {
        for (const harness::Workload& workload :
             make_workloads(options, table, options.routes.front(), options.traffic.front())) {
            for (const harness::Cores cores : options.cores) {
                const harness::RealTime real_time(harness::Schedule::measuring);
                report.kill_restarts.push_back(
                    test_kill_restart(workload, cores, options.timing, plan, progress));
            }
        }
    }
}

/// Did every measurement see the frames that it was to see? If not, its figures mean nothing.
bool is_sound(const report::Report& report) {
    for (const report::Panel& panel : report.panels)
        for (const report::Series& series : panel.series)
            for (const harness::Sample& sample : series.samples)
                if (!sample.faults.empty()) return false;
    return std::all_of(report.kill_restarts.begin(), report.kill_restarts.end(),
                       [](const report::KillRestartResult& result) { return result.faults.empty(); });
}

int run(const Options& options) {
    harness::make_private_mounts();
    const size_t memory = options.idle ? 0 : hugepages_needed(options.forwarders);
    const harness::HugepageReservation hugepages(memory);
    const harness::NoRealtimeLimit no_limit;
    if (!hugepages.enough())
        throw harness::Failure(
            fmt::format("{} MiB of huge pages are needed for {}, and the kernel has not got them",
                        memory >> 20, fmt::join(options.forwarders, ", ")));
    report::Report report;
    report.benchmark = "wire";
    report.bound = "fixed redirect";
    report.machine = harness::describe_machine();
    report.command = options.command;
    if (options.idle) {
        report::print_head(stdout, report);
        harness::Progress progress(3);
        const harness::Workload workload =
            harness::make_workload(Family::ipv4, harness::Table::internet, 1024, options.data);
        report.idle = measure_idle(options.pktpitd, workload, std::chrono::seconds(5), progress);
    } else if (options.kill_restart) {
        kill_and_restart(options, report);
    } else {
        compare(options, report);
    }
    report::print_report(stdout, report);
    if (!options.results.empty()) report::write_results(options.results, report);
    if (!options.json.empty()) report::write_json(options.json, report);
    return is_sound(report) ? 0 : 2;
}

}  // namespace
}  // namespace pktpit::bench::wire

int main(int argc, char** argv) {
    using namespace pktpit::bench;
    return harness::run_program("bench_wire", wire::parse_options, wire::run, argc, argv);
}
