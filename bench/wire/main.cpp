// bench_wire: how fast Pktpit forwards 64-byte frames, as ratios to other forwarders in the same run.

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

std::vector<Workload> make_workloads(const Options& options) {
    std::vector<Workload> workloads;
    for (const Family family : options.families)
        workloads.push_back(make_workload(family, options.table, options.routes, options.data));
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

void compare(const Options& options, Report& report) {
    // Without the daemon among them, ratios are of its port stage alone.
    const auto& names = options.forwarders;
    report.subject = std::find(names.begin(), names.end(), "pktpit") != names.end() ? "pktpit" : "port stage";
    report.targets = {{"kernel ip_forward", 2.8}, {"XDP + bpf_fib_lookup", 1.6}, {"fixed redirect", 0.9}};

    const std::vector<Workload> workloads = make_workloads(options);
    std::vector<const Workload*> views;
    for (const Workload& workload : workloads)
        views.push_back(&workload);
    std::deque<Lab> labs;
    for (const std::string& name : options.forwarders) {
        labs.emplace_back(static_cast<unsigned>(labs.size()), make_forwarder(name, options), views);
        const Forwarder& forwarder = labs.back().forwarder();
        report.forwarders.emplace_back(forwarder.name(), forwarder.description());
    }
    print_head(stdout, report);
    schedule_this_thread(std::nullopt, Schedule::measuring);
    Progress progress(workloads.size() * options.cores.size() * options.rounds * labs.size());
    for (const Workload& workload : workloads)
        for (const Cores cores : options.cores)
            report.panels.push_back(measure_panel(labs, options, workload, cores, progress));
}

void kill_and_restart(const Options& options, Report& report) {
    const KillRestartPlan plan{.binary = options.pktpitd, .kills = options.kills};
    print_head(stdout, report);
    schedule_this_thread(std::nullopt, Schedule::measuring);
    const std::vector<Workload> workloads = make_workloads(options);
    Progress progress(workloads.size() * options.cores.size() * kill_restart_steps(plan));
    for (const Workload& workload : workloads)
        for (const Cores cores : options.cores)
            report.kill_restarts.push_back(
                test_kill_restart(static_cast<unsigned>(report.kill_restarts.size()), workload, cores,
                                  options.timing, plan, progress));
}

void run(const Options& options) {
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
}

}  // namespace
}  // namespace pktpit::bench

int main(int argc, char** argv) try {
    int exit_code = 0;
    const auto options = pktpit::bench::parse_options(argc, argv, exit_code);
    if (options) pktpit::bench::run(*options);
    return exit_code;
} catch (const std::exception& problem) {
    fmt::print(stderr, "bench_wire: {}\n", problem.what());
    return 1;
}
