// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/fib/churn.h"
#include "bench/fib/targets.h"

namespace pktpit::bench::fib {
namespace {

using Line = std::vector<std::string>;

/// The first column to the left, the others to the right.
void print_table(FILE* out, const std::vector<Line>& lines) {
    std::vector<size_t> widths;
    for (const Line& line : lines) {
        widths.resize(std::max(widths.size(), line.size()));
        for (size_t i = 0; i < line.size(); i++)
            widths[i] = std::max(widths[i], line[i].size());
    }
    for (const Line& line : lines) {
        for (size_t i = 0; i < line.size(); i++) {
            if (i == 0)
                fmt::print(out, "{:<{}}", line[i], widths[i]);
            else
                fmt::print(out, "  {:>{}}", line[i], widths[i]);
        }
        fmt::print(out, "\n");
    }
}

std::string number(double value) {
    if (value < 1) return fmt::format("{:.3f}", value);
    return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

const char* verdict(bool met) {
    return met ? "met" : "MISSED";
}

void print_rates(FILE* out, const Panel& panel) {
    std::vector<Line> lines{{panel.unit}};
    for (const std::string& column : panel.columns)
        lines.front().push_back(column);
    bool settings = false;
    for (const std::string& row : panel.rows) {
        Line line{row};
        for (const std::string& column : panel.columns) {
            const Cell* cell = panel.find(row, column);
            if (!cell) {
                line.emplace_back("-");
                continue;
            }
            const double middle = cell->median();
            const double apart =
                harness::quantile(cell->samples, 0.75) - harness::quantile(cell->samples, 0.25);
            line.push_back(fmt::format("{}{} ({:.0f} %)", number(middle),
                                       cell->setting.empty() ? "" : " " + cell->setting,
                                       middle > 0 ? apart / middle * 100 : 0.0));
            settings = settings || !cell->setting.empty();
        }
        lines.push_back(std::move(line));
    }
    print_table(out, lines);
    size_t fewest = ~size_t{0}, most = 0;
    for (const auto& [place, cell] : panel.cells) {
        fewest = std::min(fewest, cell.samples.size());
        most = std::max(most, cell.samples.size());
    }
    fmt::print(out, "median of {} rounds (distance of the quartiles){}\n",
               fewest == most ? std::to_string(most) : fmt::format("{} to {}", fewest, most),
               settings ? "; with the peer's setting that was the fastest on this workload" : "");
}

void print_ratios(FILE* out, const Panel& panel) {
    std::vector<Line> lines{{panel.subject + " is"}};
    std::vector<std::string> peers;
    for (const std::string& column : panel.columns)
        if (column != panel.subject) peers.push_back(column);
    if (peers.empty()) return;
    lines.front().insert(lines.front().end(), peers.begin(), peers.end());
    for (const std::string& row : panel.rows) {
        Line line{row};
        for (const std::string& peer : peers) {
            const Ratio factor = ratio(panel, row, peer);
            if (factor.median == 0) {
                line.emplace_back("-");
                continue;
            }
            std::string text = fmt::format("{:.2f} x ({:.2f}-{:.2f})", factor.median, factor.lower_quartile,
                                           factor.upper_quartile);
            if (const RatioTarget* target = find_target(row, peer))
                text += fmt::format(", >= {} {}", target->factor, verdict(factor.median >= target->factor));
            line.push_back(std::move(text));
        }
        lines.push_back(std::move(line));
    }
    fmt::print(out, "\n");
    print_table(out, lines);
    fmt::print(out, "median, and quartiles, of the ratios within a round\n");
}

void print_notes(FILE* out, const Panel& panel) {
    for (const std::string& note : panel.notes)
        fmt::print(out, "note: {}\n", note);
    std::fflush(out);
}

}  // namespace

void print_head(FILE* out, const Report& report) {
    for (const auto& [name, value] : report.head)
        fmt::print(out, "{:12} {}\n", name, value);
    std::fflush(out);
}

void print_lookups(FILE* out, const Panel& panel) {
    fmt::print(out, "\n{}\n", panel.title);
    print_rates(out, panel);
    print_ratios(out, panel);
    print_notes(out, panel);
}

void print_worst(FILE* out, std::span<const Panel> panels) {
    std::vector<Line> lines{{"the worst table", "Pktpit is", "wanted", "on"}};
    for (const WorstRatio& worst : worst_ratios(panels)) {
        const RatioTarget* target = find_target(set_targets, worst.row, worst.column);
        lines.push_back(
            {fmt::format("{}, {}", worst.row, worst.column),
             fmt::format("{:.2f} x ({:.2f}-{:.2f})", worst.factor.median, worst.factor.lower_quartile,
                         worst.factor.upper_quartile),
             target ? fmt::format(">= {} {}", target->factor, verdict(worst.factor.median >= target->factor))
                    : "",
             fmt::format("{} ({} measured)", worst.panel, worst.panels)});
    }
    fmt::print(out, "\n");
    print_table(out, lines);
    std::fflush(out);
}

void print_churn(FILE* out, const Panel& panel) {
    fmt::print(out, "\n{}\n", panel.title);
    print_rates(out, panel);
    print_ratios(out, panel);
    std::vector<Line> lines{{"us an update"}};
    for (const char* figure : latency_figures)
        lines.front().emplace_back(figure);
    lines.front().emplace_back(reader_figure);
    for (const std::string& row : panel.rows) {
        for (const std::string& column : panel.columns) {
            const Cell* cell = panel.find(row, column);
            if (!cell) continue;
            Line line{fmt::format("{}, {}", row, column)};
            for (const std::string figure : latency_figures) {
                const harness::Summary summary = harness::summarize(cell->more.at(figure));
                std::string text = number(figure == "max" ? summary.highest : summary.median);
                if (figure == "p99.9" && column == panel.subject)
                    text += fmt::format(" (< {} {})", most_p999_microseconds,
                                        verdict(summary.median < most_p999_microseconds));
                line.push_back(std::move(text));
            }
            const auto reader = cell->more.find(reader_figure);
            line.push_back(reader == cell->more.end() ? "-"
                                                      : number(harness::summarize(reader->second).median));
            lines.push_back(std::move(line));
        }
    }
    fmt::print(out, "\n");
    print_table(out, lines);
    fmt::print(out, "medians over the rounds; max is the highest of all\n");
    print_notes(out, panel);
}

void print_load(FILE* out, const Panel& panel) {
    fmt::print(out, "\n{}\n", panel.title);
    print_rates(out, panel);
    print_ratios(out, panel);
    if (const Cell* both = panel.find("both", panel.subject))
        fmt::print(out, "target {}: both families in {} s, less than {} wanted\n",
                   verdict(both->median() < most_load_seconds), number(both->median()), most_load_seconds);
    print_notes(out, panel);
}

void print_sizes(FILE* out, const Table& table, const std::vector<SizeRow>& sizes) {
    std::vector<Line> lines{
        {fmt::format("{} MiB that lookups read", name_of(table.family)), "all", "of which"}};
    for (const SizeRow& size : sizes) {
        std::string parts;
        for (const auto& [name, bytes] : size.parts)
            parts += fmt::format("{}{} {:.2f}", parts.empty() ? "" : ", ", name, bytes / (1 << 20));
        std::string all = fmt::format("{:.2f}", size.total() / (1 << 20));
        const bool own = &size == &sizes.back();
        const bool limited = table.family == Family::ipv6 || table.groups <= small_groups;
        const double most = table.family == Family::ipv4 ? most_mebibytes4 : most_mebibytes6;
        if (own && limited)
            all += fmt::format(" (<= {} {})", most, verdict(size.total() <= most * (1 << 20)));
        lines.push_back({size.peer, all, parts});
    }
    fmt::print(out, "\n");
    print_table(out, lines);
    fmt::print(
        out,
        "of DPDK's, by their documented layouts: entries of tbl24, and 256 a tbl8 that the table needs; "
        "without their RIBs\n");
    std::fflush(out);
}

}  // namespace pktpit::bench::fib
