// bench_wire: how fast Pktpit forwards 64-byte frames, as ratios to other forwarders in the same run. Ends
// with 2 if a sink saw wrong frames or none; a missed target is told and is no failure.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <deque>
#include <sstream>
#include <vector>

#include "bench/fib/hugepages.h"
#include "bench/harness/device.h"
#include "bench/harness/failure.h"
#include "bench/harness/machine.h"
#include "bench/harness/progress.h"
#include "bench/wire/dpdk_forwarders.h"
#include "bench/wire/forwarder.h"
#include "bench/wire/kill_restart.h"
#include "bench/wire/lab.h"
#include "bench/wire/options.h"
#include "bench/wire/report.h"

namespace pktpit::bench {
namespace {

std::unique_ptr<Forwarder> make_forwarder(const std::string& name, const Options& options) {
    if (name == "pktpit") return make_pktpit_forwarder(options.pktpitd, "inline");
    if (name == "pktpit-split") return make_pktpit_forwarder(options.pktpitd, "split");
    if (name == "pktpit-auto") return make_pktpit_forwarder(options.pktpitd, "auto");
    if (name == "kernel") return make_kernel_forwarder();
    if (name == "fib-lookup") return make_fib_lookup_forwarder();
    if (name == "port-stage") return make_port_stage_forwarder();
    for (const DpdkRow& row : dpdk_rows())
        if (row.name == name) return make_dpdk_forwarder(row, options.busy_budget);
    return make_fixed_redirect_forwarder();
}

/// DPDK's programs want huge pages: a table for the whole Internet takes l3fwd 800 MiB, whatever it holds.
size_t hugepages_needed(const Options& options) {
    size_t bytes = 0;
    for (const std::string& name : options.forwarders) {
        if (name.starts_with("l3fwd")) bytes += size_t{1400} << 20;
        if (name.starts_with("testpmd")) bytes += size_t{192} << 20;
        if (name == "pktpit-split" || name == "pktpit-auto") bytes += size_t{64} << 20;
    }
    return bytes;
}

std::vector<Workload> make_workloads(const Options& options, Table table) {
    std::vector<Workload> workloads;
    for (const Family family : options.families)
        workloads.push_back(make_workload(family, table, options.routes, options.data, options.traffic));
    return workloads;
}

struct Conditions {
    const Workload& workload;
    unsigned frame_bytes;
    Cores cores;
};

/// Rounds go over all forwarders in turn, so that what disturbs the machine disturbs each of them.
Panel measure_panel(std::deque<Lab>& all, const Options& options, const Conditions& conditions,
                    Progress& progress) {
    const auto& [workload, frame_bytes, cores] = conditions;
    Panel panel{workload.prefixes.front().address.family,
                cores,
                frame_bytes,
                workload.description,
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
            const Sample sample = labs[turn]->measure(panel.family, frame_bytes, cores, options.timing);
            panel.series[turn].samples.push_back(sample);
            progress.step(fmt::format("{} {} B {} round {}: {} {:.3f} Mpps{}",
                                      panel.family == Family::ipv4 ? "IPv4" : "IPv6", frame_bytes,
                                      name_of(cores), round + 1, panel.series[turn].forwarder, sample.mpps,
                                      sample.faults.empty() ? "" : " " + sample.faults));
        }
    }
    return panel;
}

/// The line of DPDK's that says why it exits.
std::string last_complaint(const std::string& text) {
    std::string complaint, line;
    for (std::istringstream lines(text); std::getline(lines, line);) {
        while (!line.empty() && line.back() == '\r')
            line.pop_back();
        if (line.find("EAL: Error - exiting") != std::string::npos) break;
        if (!line.empty()) complaint = line;
    }
    return complaint;
}

/// Labs are made anew for each table: a forwarder has the routes of one.
void compare_on(Table table, const Options& options, Report& report, Progress& progress) {
    const std::vector<Workload> workloads = make_workloads(options, table);
    std::vector<const Workload*> views;
    for (const Workload& workload : workloads)
        views.push_back(&workload);
    std::deque<Lab> labs;
    for (const std::string& name : options.forwarders) {
        progress.say("starting " + name);
        try {
            labs.emplace_back(make_forwarder(name, options), views, options.frame_sizes);
        } catch (const Failure& failure) {
            // Where it does not run is a result.
            if (!name.starts_with("l3fwd-stock")) throw;
            report.refusals.emplace_back(name, last_complaint(failure.what()));
            continue;
        }
        const Forwarder& forwarder = labs.back().forwarder();
        if (!forwarder.command().empty()) report.commands.emplace_back(forwarder.name(), forwarder.command());
        if (!forwarder.patch().empty()) report.patch = forwarder.patch();
    }
    const RealTime real_time(Schedule::measuring);
    for (const Workload& workload : workloads)
        for (const unsigned bytes : options.frame_sizes)
            for (const Cores cores : options.cores)
                report.panels.push_back(measure_panel(labs, options, {workload, bytes, cores}, progress));
    if (!options.profile) return;
    for (Lab& lab : labs) {
        if (lab.forwarder().process().first == 0) continue;
        progress.say("profile of " + lab.forwarder().name());
        Profile profile = sort_stacks(lab.sample_stacks(options.families.front(), options.frame_sizes.front(),
                                                        options.cores.front(), std::chrono::seconds(3)));
        profile.forwarder = lab.forwarder().name();
        profile.conditions =
            fmt::format("{} B, {}", options.frame_sizes.front(), name_of(options.cores.front()));
        report.profiles.push_back(std::move(profile));
    }
}

void compare(const Options& options, Report& report) {
    constexpr size_t whole_table = 1'000'000;
    report.targets = {{"pktpit", "kernel ip_forward", 3.0},
                      {"pktpit", "XDP + bpf_fib_lookup", 1.6, 0, whole_table - 1},
                      {"pktpit", "XDP + bpf_fib_lookup", 2.0, whole_table},
                      {"pktpit", "fixed redirect", 0.9},
                      {"pktpit", "l3fwd fib, net_af_xdp", 2.3, 0, whole_table - 1},
                      {"pktpit", "l3fwd lpm, net_af_xdp", 2.3, 0, whole_table - 1},
                      {"pktpit split", "l3fwd fib, net_af_xdp", 1.0},
                      {"pktpit split", "l3fwd lpm, net_af_xdp", 1.0}};
    size_t steps = 0;
    for (const std::string& name : options.forwarders) {
        const auto forwarder = make_forwarder(name, options);
        report.forwarders.emplace_back(forwarder->name(), forwarder->description());
        for (const Cores cores : options.cores)
            steps += forwarder->runs_on(cores);
    }
    print_head(stdout, report);
    Progress progress(options.tables.size() * options.families.size() * options.frame_sizes.size() * steps *
                      options.rounds);
    for (const Table table : options.tables)
        compare_on(table, options, report, progress);
}

void kill_and_restart(const Options& options, Report& report) {
    const KillRestartPlan plan{.binary = options.pktpitd, .kills = options.kills};
    print_head(stdout, report);
    const size_t tests = options.tables.size() * options.families.size() * options.cores.size();
    Progress progress(tests * kill_restart_steps(plan));
    for (const Table table : options.tables) {
        for (const Workload& workload : make_workloads(options, table)) {
            for (const Cores cores : options.cores) {
                const RealTime real_time(Schedule::measuring);
                report.kill_restarts.push_back(
                    test_kill_restart(workload, cores, options.timing, plan, progress));
            }
        }
    }
}

/// Did every measurement see the frames that it was to see? If not, its figures mean nothing.
bool is_sound(const Report& report) {
    for (const Panel& panel : report.panels)
        for (const Series& series : panel.series)
            for (const Sample& sample : series.samples)
                if (!sample.faults.empty()) return false;
    return std::all_of(report.kill_restarts.begin(), report.kill_restarts.end(),
                       [](const KillRestartResult& result) { return result.faults.empty(); });
}

int run(const Options& options) {
    make_private_mounts();
    const size_t memory = hugepages_needed(options);
    const HugepageReservation hugepages(memory);
    if (!hugepages.enough())
        throw Failure(fmt::format("{} MiB of huge pages are needed for {}, and the kernel has not got them",
                                  memory >> 20, fmt::join(options.forwarders, ", ")));
    Report report;
    report.machine = describe_machine();
    report.command = options.command;
    if (options.kill_restart)
        kill_and_restart(options, report);
    else
        compare(options, report);
    for (const Panel& panel : report.panels)
        print_panel(stdout, report, panel);
    for (const Profile& profile : report.profiles)
        print_profile(stdout, profile);
    print_appendix(stdout, report);
    for (const KillRestartResult& result : report.kill_restarts)
        print_kill_restart(stdout, result);
    if (!options.json.empty()) write_json(options.json, report);
    return is_sound(report) ? 0 : 2;
}

}  // namespace
}  // namespace pktpit::bench

int main(int argc, char** argv) try {
    int exit_code = 0;
    const auto options = pktpit::bench::parse_options(argc, argv, exit_code);
    return options ? pktpit::bench::run(*options) : exit_code;
} catch (const std::exception& problem) {
    fmt::print(stderr, "bench_wire: {}\n", problem.what());
    return 1;
}
