// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>

#include "bench/fib/report.h"
#include "bench/harness/failure.h"
#include "bench/report/files.h"
#include "bench/report/plot.h"

namespace pktpit::bench::fib {
namespace {

/// A chart a row: columns of one row are what compares.
void add_charts(const Panel& panel, std::vector<report::BarChart>& charts) {
    for (const std::string& row : panel.rows) {
        report::BarChart chart{panel.title + ": " + row, panel.unit, {}};
        for (const std::string& column : panel.columns) {
            const Cell* cell = panel.find(row, column);
            if (!cell) continue;
            chart.bars.push_back({column, cell->median(), harness::quantile(cell->samples, 0.25),
                                  harness::quantile(cell->samples, 0.75), column == panel.subject});
        }
        if (!chart.bars.empty()) charts.push_back(std::move(chart));
    }
}

}  // namespace

void write_results(const std::string& folder, const Report& report, const std::vector<Table>& tables) {
    const std::string stem = report::results_stem(folder, "fib");
    FILE* text = fopen((stem + ".txt").c_str(), "w");
    if (!text) harness::fail_errno("write " + stem + ".txt");
    print_head(text, report);
    std::vector<report::BarChart> charts;
    for (const Panel& panel : report.lookups) {
        print_lookups(text, panel);
        add_charts(panel, charts);
    }
    if (report.table_set) print_worst(text, report.lookups);
    for (const Panel& panel : report.churn)
        print_churn(text, panel);
    for (const Panel& panel : report.load)
        print_load(text, panel);
    for (const auto& [family, sizes] : report.sizes)
        for (const Table& table : tables)
            if (table.family == family) print_sizes(text, table, sizes);
    fclose(text);
    write_json(stem + ".json", report);
    const bool plots = !charts.empty() && report::draw(report::bars_script(charts), charts.size(), stem);
    for (const char* ending : {".txt", ".json", ".svg", ".png"})
        report::hand_to_user(stem + ending);
    fmt::print("\nwritten: {}.txt, .json{}\n", stem, plots ? ", .svg, .png" : "; no plots");
}

}  // namespace pktpit::bench::fib
