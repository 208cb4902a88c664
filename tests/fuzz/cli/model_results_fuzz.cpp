// SPDX-License-Identifier: BSD-3-Clause
// Files of results that `pktpit model plot` draws and `merge` puts together, of any bytes. Must hold: they
// are refused with a reason, or gnuplot gets the commands that were meant and no others, and what was merged
// can be written and merged again.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <string>

#include "router/cli/model_plots.h"
#include "router/cli/model_sweep.h"
#include "tests/fuzz/demand.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit::router::cli;
using nlohmann::json;

/// What stands outside of strings, of which none has a quote or a backslash in it.
std::string outside_of_strings(const std::string& line) {
    std::string outside;
    bool inside = false;
    for (const char c : line) {
        if (c == '\'')
            inside = !inside;
        else if (!inside)
            outside += c;
    }
    demand(!inside, "a string ends in its line");
    return outside;
}

void look_at_plot(const ModelPlot& plot) {
    const std::string commands = gnuplot_commands(plot, "out.svg", true);
    constexpr size_t before_points = 9;
    size_t lines = before_points;
    for (const PlottedSeries& series : plot.series)
        lines += series.points.size() + 1;
    demand(static_cast<size_t>(std::ranges::count(commands, '\n')) == lines,
           "a command a line, and no others");
    for (size_t begin = 0, number = 0; begin < commands.size(); number++) {
        const size_t end = commands.find('\n', begin);
        const std::string outside = outside_of_strings(commands.substr(begin, end - begin));
        demand(outside.find_first_of("!`\"\\;|$") == std::string::npos,
               "nothing outside of strings runs anything");
        demand(number >= before_points || outside.starts_with("set ") || outside.starts_with("plot "),
               "the commands that were meant");
        begin = end + 1;
    }
}

int look_at_merged(const std::string& text) {
    // Parts are several files: this one, cut at each line of "---".
    std::vector<json> documents;
    std::vector<std::string> names;
    for (size_t begin = 0; begin <= text.size() && documents.size() < 4;) {
        const size_t end = std::min(text.find("\n---\n", begin), text.size());
        documents.push_back(json::parse(text.substr(begin, end - begin), nullptr, false));
        names.push_back("part " + std::to_string(documents.size()));
        begin = end + 5;
    }
    const auto merged = merge_sweeps(documents, names);
    if (!merged) return pktpit::fuzz::refused(merged.error());
    const std::string csv = sweep_csv(*merged);
    demand(csv.ends_with("\r\n"), "CSV has lines");
    const auto again = merge_sweeps({*merged}, {"again"});
    demand(again && *again == *merged, "what was merged is whole");
    demand(parse_plots(merged->dump(), "merged").has_value() ||
               merged->at("plots").begin().key().find_first_not_of(
                   "abcdefghijklmnopqrstuvwxyz0123456789-._") != std::string::npos,
           "what was merged can be drawn, if its name may be a file's");
    return 0;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    if (const auto plots = parse_plots(text, "input")) {
        for (const auto& [name, plot] : *plots)
            look_at_plot(plot);
    } else {
        pktpit::fuzz::refused(plots.error());
    }
    return look_at_merged(text);
}
