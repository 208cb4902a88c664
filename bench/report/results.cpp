// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/results.h"

#include <fmt/format.h>

#include "bench/harness/failure.h"
#include "bench/report/files.h"
#include "bench/report/plot.h"

namespace pktpit::bench::report {
namespace {

BarChart chart_of(const Panel& panel) {
    BarChart chart{fmt::format("{}, {} B, {}, {}", panel.family == Family::ipv4 ? "IPv4" : "IPv6",
                               panel.frame_bytes, harness::name_of(panel.cores), panel.label),
                   "Mpps: median, lowest and highest round",
                   {}};
    for (const Series& series : panel.series) {
        const harness::Summary rate = harness::summarize(series.rates());
        chart.bars.push_back({series.forwarder, rate.median, rate.lowest, rate.highest,
                              series.forwarder.starts_with("pktpit")});
    }
    return chart;
}

}  // namespace

void print_report(FILE* out, const Report& report) {
    for (const Panel& panel : report.panels)
        print_panel(out, report, panel);
    for (const Profile& profile : report.profiles)
        print_profile(out, profile);
    for (const KillRestartResult& result : report.kill_restarts)
        print_kill_restart(out, result);
    print_appendix(out, report);
}

void write_results(const std::string& folder, const Report& report) {
    const std::string stem = results_stem(folder, report.benchmark);
    FILE* text = fopen((stem + ".txt").c_str(), "w");
    if (!text) harness::fail_errno("write " + stem + ".txt");
    print_head(text, report);
    print_report(text, report);
    fclose(text);
    write_json(stem + ".json", report);
    std::vector<BarChart> charts;
    for (const Panel& panel : report.panels)
        charts.push_back(chart_of(panel));
    std::string files = ".txt, .json";
    if (!charts.empty())
        files += draw(bars_script(charts), charts.size(), stem) ? ", .svg, .png"
                                                                : "; no plots: gnuplot failed or is missing";
    for (const char* ending : {".txt", ".json", ".svg", ".png"})
        hand_to_user(stem + ending);
    fmt::print("\nwritten: {}{}\n", stem, files);
}

}  // namespace pktpit::bench::report
