// bench_wire: how fast Pktpit forwards 64-byte frames, as ratios to other forwarders in the same run. Ends
// with 2 if a sink saw wrong frames or none; a missed target is told and is no failure.

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "bench/harness/device.h"
#include "bench/harness/machine.h"
#include "bench/harness/progress.h"
#include "bench/wire/forwarder.h"
#include "bench/wire/kill_restart.h"
#include "bench/wire/lab.h"
#include "bench/wire/options.h"
#include "bench/wire/report.h"

namespace pktpit::bench {
namespace {

std::unique_ptr<Forwarder> make_forwarder(const std::string& name, const Options& options) {
    if (name == "pktpit") return make_pktpit_forwarder(options.pktpitd);
    if (name == "kernel") return make_kernel_forwarder();
    if (name == "fib-lookup") return make_fib_lookup_forwarder();
    if (name == "port-stage") return make_port_stage_forwarder();
    return make_fixed_redirect_forwarder();
}

std::vector<Workload> make_workloads(const Options& options, Table table) {
    std::vector<Workload> workloads;
    for (const Family family : options.families)
        workloads.push_back(make_workload(family, table, options.routes, options.data));
    return workloads;
}

/// Rounds go over all forwarders in turn, so that what disturbs the machine disturbs each of them.
Panel measure_panel(std::deque<Lab>& labs, const Options& options, const Workload& workload, Cores cores,
                    Progress& progress) {
    Panel panel{workload.prefixes.front().address.family, cores, workload.description, {}};
    for (const Lab& lab : labs)
        panel.series.push_back({lab.forwarder().name(), {}});
    for (unsigned round = 0; round < options.rounds; round++) {
        for (size_t i = 0; i < labs.size(); i++) {
            // Nobody always comes first, or after the same forwarder.
            const size_t turn = round % 2 ? labs.size() - 1 - i : i;
            const Sample sample = labs[turn].measure(panel.family, cores, options.timing);
            panel.series[turn].samples.push_back(sample);
            progress.step(fmt::format("{} {} round {}: {} {:.3f} Mpps{}",
                                      panel.family == Family::ipv4 ? "IPv4" : "IPv6", name_of(cores),
                                      round + 1, panel.series[turn].forwarder, sample.mpps,
                                      sample.faults.empty() ? "" : " " + sample.faults));
        }
    }
    return panel;
}

/// Labs are made anew for each table: a forwarder has the routes of one.
void compare_on(Table table, const Options& options, Report& report, Progress& progress) {
    const std::vector<Workload> workloads = make_workloads(options, table);
    std::vector<const Workload*> views;
    for (const Workload& workload : workloads)
        views.push_back(&workload);
    std::deque<Lab> labs;
    for (const std::string& name : options.forwarders)
        labs.emplace_back(make_forwarder(name, options), views);
    const RealTime real_time(Schedule::measuring);
    for (const Workload& workload : workloads)
        for (const Cores cores : options.cores)
            report.panels.push_back(measure_panel(labs, options, workload, cores, progress));
}

void compare(const Options& options, Report& report) {
    // Without the daemon among them, ratios are of its port stage alone.
    const auto& names = options.forwarders;
    report.subject = std::find(names.begin(), names.end(), "pktpit") != names.end() ? "pktpit" : "port stage";
    report.targets = {{"kernel ip_forward", 2.8}, {"XDP + bpf_fib_lookup", 1.6}, {"fixed redirect", 0.9}};

    for (const std::string& name : names) {
        const auto forwarder = make_forwarder(name, options);
        report.forwarders.emplace_back(forwarder->name(), forwarder->description());
    }
    print_head(stdout, report);
    const size_t panels = options.tables.size() * options.families.size() * options.cores.size();
    Progress progress(panels * options.rounds * names.size());
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
    Report report;
    report.machine = describe_machine();
    report.command = options.command;
    if (options.kill_restart)
        kill_and_restart(options, report);
    else
        compare(options, report);
    for (const Panel& panel : report.panels)
        print_panel(stdout, report, panel);
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
