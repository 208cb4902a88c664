// SPDX-License-Identifier: BSD-3-Clause
// bench_cpu: what a packet costs one core, in ns, and above what testpmd's bare receiving and sending costs.
// No kernel I/O: its rates and those of bench_wire belong in different tables.

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <thread>
#include <utility>

#include "bench/cpu/instructions.h"
#include "bench/cpu/options.h"
#include "bench/cpu/rows.h"
#include "bench/dpdk/program.h"
#include "bench/harness/device.h"
#include "bench/harness/failure.h"
#include "bench/harness/hugepages.h"
#include "bench/harness/machine.h"
#include "bench/harness/progress.h"
#include "bench/harness/realtime_limit.h"
#include "bench/harness/run_program.h"
#include "bench/report/results.h"

namespace pktpit::bench::cpu {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr unsigned most_attempts = 10;

struct Running {
    const CpuRowKind* kind;
    std::unique_ptr<CpuRow> row;
};

using Microseconds = std::chrono::duration<double, std::micro>;

/// CPU time that a process has had so far, all threads.
Microseconds cpu_time(pid_t process) {
    clockid_t clock{};
    timespec time{};
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0)
        throw harness::Failure("a forwarder has ended while it was measured");
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

/// Rates are by CPU time, not by the clock: a row has one busy thread, and to ordinary tasks that wait for
/// its core the kernel gives 50 ms of each second, whatever its priority. A short window
/// may fall into those: then it had the core for less than half of its time, and is measured again.
harness::Sample measure(CpuRow& row, const Options& options) {
    harness::Sample sample;
    row.wake();
    for (unsigned attempt = 0; attempt < most_attempts; attempt++) {
        std::this_thread::sleep_for(options.timing.warm_up);
        const Microseconds time_before = cpu_time(row.process());
        const uint64_t before = row.forwarded();
        const auto begin = SteadyClock::now();
        std::this_thread::sleep_for(options.timing.window);
        const uint64_t after = row.forwarded();
        const Microseconds had = cpu_time(row.process()) - time_before;
        const Microseconds elapsed = SteadyClock::now() - begin;
        sample.sent = sample.arrived = after - before;
        sample.mpps = had.count() > 0 ? static_cast<double>(after - before) / had.count() : 0;
        if (had > elapsed / 2) break;
    }
    row.rest();
    if (sample.arrived == 0) sample.faults = "nothing was forwarded";
    return sample;
}

report::Panel measure_panel(std::vector<Running>& rows, const harness::Workload& workload,
                            const Options& options, harness::Progress& progress) {
    report::Panel panel{workload.prefixes.front().address.family,
                        harness::Cores::no_io,
                        options.settings.frame_bytes,
                        workload.description,
                        workload.label,
                        workload.prefixes.size(),
                        {}};
    for (const Running& running : rows)
        panel.series.push_back({running.kind->name, {}});
    for (unsigned round = 0; round < options.rounds; round++) {
        for (size_t i = 0; i < rows.size(); i++) {
            const size_t turn = round % 2 ? rows.size() - 1 - i : i;
            const harness::Sample sample = measure(*rows[turn].row, options);
            panel.series[turn].samples.push_back(sample);
            progress.step(fmt::format("{}, round {}: {} {:.2f} Mpps", workload.label, round + 1,
                                      panel.series[turn].forwarder, sample.mpps));
        }
    }
    return panel;
}

/// testpmd is the first row where it is measured: what others take beyond it is told, too.
void print_instructions(const std::vector<Running>& rows, const harness::Workload& workload,
                        const Options& options) {
    fmt::print("instructions a packet, {}, IPv{}\n", workload.label,
               workload.prefixes.front().address.is_v6() ? 6 : 4);
    std::optional<double> floor;
    for (const Running& running : rows) {
        const Instructions counted = count_instructions(*running.row, options.instructions);
        if (counted.packets == 0) throw harness::Failure(running.kind->name + " forwarded nothing");
        const auto each = [&](uint64_t count) {
            return static_cast<double>(count) / static_cast<double>(counted.packets);
        };
        fmt::print("  {:<16} {:6.1f}", running.kind->name, each(counted.all));
        if (running.kind->option == "testpmd")
            floor = each(counted.all);
        else if (floor)
            fmt::print(", above the floor {:6.1f}", each(counted.all) - *floor);
        std::string separator = ": ";
        for (const auto& [file, count] : counted.by_file)
            if (each(count) >= 0.5) {
                fmt::print("{}{} {:.1f}", std::exchange(separator, ", "), file, each(count));
            }
        fmt::print("\n");
        std::fflush(stdout);
    }
}

std::vector<Running> start(const std::vector<CpuRowKind>& kinds, const harness::Workload& workload,
                           report::Report& report, const harness::Progress& progress) {
    std::vector<Running> rows;
    for (const CpuRowKind& kind : kinds) {
        progress.say("starting " + kind.name);
        try {
            rows.push_back({&kind, kind.start(workload)});
        } catch (const harness::Failure& failure) {
            if (!kind.may_refuse) throw;
            report.refusals.emplace_back(kind.name, dpdk::last_complaint(failure.what()));
            continue;
        }
        const CpuRow& row = *rows.back().row;
        report.commands.emplace_back(kind.name + ", " + workload.label, row.command());
        if (!row.patch().empty()) report.patch = row.patch();
    }
    return rows;
}

int run(const Options& options) {
    harness::make_private_mounts();
    std::vector<CpuRowKind> kinds;
    size_t memory = 0;
    for (const CpuRowKind& kind : cpu_rows(options.settings)) {
        if (std::find(options.rows.begin(), options.rows.end(), kind.option) == options.rows.end()) continue;
        kinds.push_back(kind);
        memory += kind.hugepage_bytes;
    }
    const harness::HugepageReservation hugepages(memory);
    const harness::NoRealtimeLimit no_limit;
    if (!hugepages.enough())
        throw harness::Failure(
            fmt::format("{} MiB of huge pages are needed, and the kernel has not got them", memory >> 20));
    report::Report report;
    report.benchmark = "cpu";
    report.bound = "testpmd io";
    constexpr size_t whole_table = 1'000'000;
    report.targets = {{"pktpit dpdk", "l3fwd ", 1.0, 0, whole_table - 1, true},
                      {"pktpit dpdk", "l3fwd ", 0.7, whole_table, SIZE_MAX, true}};
    report.machine = harness::describe_machine();
    report.command = options.command;
    for (const CpuRowKind& kind : kinds)
        report.forwarders.emplace_back(kind.name, kind.description);
    report::print_head(stdout, report);
    harness::Progress progress(options.routes.size() * options.traffic.size() * options.families.size() *
                               kinds.size() * options.rounds);
    for (const size_t routes : options.routes) {
        for (const harness::Traffic traffic : options.traffic) {
            for (const Family family : options.families) {
                const harness::Workload workload =
                    harness::make_workload(family, harness::Table::internet, routes, options.data, traffic);
                auto rows = start(kinds, workload, report, progress);
                if (options.instructions != 0) {
                    print_instructions(rows, workload, options);
                    continue;
                }
                const harness::RealTime real_time(harness::Schedule::measuring);
                report.panels.push_back(measure_panel(rows, workload, options, progress));
            }
        }
    }
    if (options.instructions != 0) return 0;
    report::print_report(stdout, report);
    if (!options.results.empty()) report::write_results(options.results, report);
    if (!options.json.empty()) report::write_json(options.json, report);
    for (const report::Panel& panel : report.panels)
        for (const report::Series& series : panel.series)
            for (const harness::Sample& sample : series.samples)
                if (!sample.faults.empty()) return 2;
    return 0;
}

}  // namespace
}  // namespace pktpit::bench::cpu

int main(int argc, char** argv) {
    using namespace pktpit::bench;
    return harness::run_program("bench_cpu", cpu::parse_options, cpu::run, argc, argv);
}
