// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/compare.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json/parse.h"
#include "bench/harness/failure.h"
#include "bench/harness/statistics.h"

namespace pktpit::bench::report {
namespace {

using nlohmann::json;

struct Figure {
    double median = 0;
    double spread = 0;
    bool ratio = false;
};

Figure figure_of(const json& summary, bool ratio) {
    return {summary.at("median").get<double>(), summary.at("spread").get<double>(), ratio};
}

std::map<std::string, Figure> panel_figures(const json& report) {
    std::map<std::string, Figure> figures;
    for (const json& panel : report.value("panels", json::array())) {
        const std::string place = fmt::format(
            "{} {} B {}, {}", panel.at("family").get<std::string>(), panel.at("frame_bytes").get<unsigned>(),
            panel.at("cores").get<std::string>(), panel.at("workload").get<std::string>());
        const std::string subject = panel.at("subject").get<std::string>();
        for (const json& series : panel.at("series")) {
            const std::string name = series.at("forwarder").get<std::string>();
            figures[fmt::format("{}: {}, Mpps", place, name)] = figure_of(series.at("mpps"), false);
            if (series.contains("subject_ratio"))
                figures[fmt::format("{}: {} / {}", place, subject, name)] =
                    figure_of(series.at("subject_ratio"), true);
        }
    }
    return figures;
}

/// RFC 2544's rates have no rounds; what a search can be wrong by stands for their spread.
std::map<std::string, Figure> throughput_figures(const json& report) {
    std::map<std::string, Figure> figures;
    for (const json& row : report.value("throughput", json::array())) {
        const std::string place = fmt::format("{}, {}", row.at("forwarder").get<std::string>(),
                                              row.at("frames").get<std::string>());
        for (const char* kind : {"ndr", "pdr"})
            if (row.contains(kind))
                figures[place + ": " + kind + ", Mpps"] = {row.at(kind).at("mpps").get<double>(),
                                                           row.at(kind).at("resolution").get<double>(),
                                                           false};
    }
    return figures;
}

std::map<std::string, Figure> fib_figures(const json& report) {
    std::map<std::string, Figure> figures;
    for (const char* section : {"lookups", "churn", "load"}) {
        for (const json& panel : report.value(section, json::array())) {
            for (const json& cell : panel.at("cells")) {
                const std::string place =
                    fmt::format("{}, {}: {}", panel.at("title").get<std::string>(),
                                cell.at("row").get<std::string>(), cell.at("column").get<std::string>());
                const auto samples = cell.at("samples").get<std::vector<double>>();
                const double median = cell.at("median").get<double>();
                const double spread =
                    median > 0
                        ? (harness::quantile(samples, 0.75) - harness::quantile(samples, 0.25)) / median
                        : 0;
                figures[place + ", " + panel.at("unit").get<std::string>()] = {median, spread, false};
                if (cell.contains("subject_is_times_better"))
                    figures[place + ", times better"] = {cell.at("subject_is_times_better").get<double>(),
                                                         spread, true};
            }
        }
    }
    return figures;
}

json parse(const std::string& text) {
    json out = parse_json(text);
    if (!out.is_object() || !out.contains("benchmark"))
        throw harness::Failure("not a report of `pktpit bench`");
    return out;
}

}  // namespace

bool Change::significant() const {
    return before > 0 && std::abs(factor() - 1) > std::max(spread, 0.01);
}

Comparison compare_reports(const std::string& before, const std::string& after) try {
    const json a = parse(before), b = parse(after);
    if (a["benchmark"] != b["benchmark"])
        throw harness::Failure("one is a report of " + a["benchmark"].dump() + ", the other of " +
                               b["benchmark"].dump());
    Comparison out;
    const json old_machine = a.value("machine", json::object()),
               new_machine = b.value("machine", json::object());
    for (const auto& [name, value] : old_machine.items())
        if (name != "date" && name != "load before" && new_machine.value(name, json()) != value)
            out.differences.push_back(
                fmt::format("{}: {} -> {}", name, value.dump(), new_machine.value(name, json()).dump()));
    auto old_figures = panel_figures(a), new_figures = panel_figures(b);
    for (const auto& figures : {&throughput_figures, &fib_figures}) {
        old_figures.merge(figures(a));
        new_figures.merge(figures(b));
    }
    for (const auto& [what, figure] : old_figures) {
        const auto found = new_figures.find(what);
        if (found == new_figures.end())
            out.only_before.push_back(what);
        else
            out.changes.push_back({what, figure.median, found->second.median,
                                   std::max(figure.spread, found->second.spread), figure.ratio});
    }
    for (const auto& [what, figure] : new_figures)
        if (!old_figures.contains(what)) out.only_after.push_back(what);
    return out;
} catch (const json::exception& problem) {
    throw harness::Failure(std::string("not a report of `pktpit bench`: ") + problem.what());
}

void print_comparison(FILE* out, const Comparison& comparison) {
    for (const std::string& difference : comparison.differences)
        fmt::print(out, "another machine or version: {}\n", difference);
    for (const bool ratio : {true, false}) {
        fmt::print(out, "{}\n",
                   ratio ? "\nratios within rounds (these compare across runs)"
                         : "\nrates (these do not, unless the machine stood still)");
        fmt::print(out, "{:>10} {:>10} {:>9} {:>8}\n", "before", "after", "change", "spread");
        for (const Change& change : comparison.changes)
            if (change.ratio == ratio)
                fmt::print(out, "{:10.3f} {:10.3f} {:+8.1f}%{} {:7.0f}%  {}\n", change.before, change.after,
                           (change.factor() - 1) * 100, change.significant() ? "*" : " ", change.spread * 100,
                           change.what);
    }
    fmt::print(out, "\n* more than the larger spread of the two\n");
    for (const std::string& what : comparison.only_before)
        fmt::print(out, "only before: {}\n", what);
    for (const std::string& what : comparison.only_after)
        fmt::print(out, "only after: {}\n", what);
}

}  // namespace pktpit::bench::report
