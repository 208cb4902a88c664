// SPDX-License-Identifier: BSD-3-Clause
/// What `pktpit model plot` draws: results that `check --json` and `sweep --json` wrote, read without
/// trusting them, and gnuplot's commands for them. Called by the command; any thread. Never runs gnuplot.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "offload/model/check.h"

namespace pktpit::router::cli {

struct PlottedSeries {
    std::string name;
    bool measured = false;
    std::vector<std::pair<double, double>> points;
};

struct ModelPlot {
    model::PlotText text;
    std::vector<PlottedSeries> series;
};
using ModelPlots = std::map<std::string, ModelPlot>;  ///< by name, which may be a file's

/// `where`: the file, for errors. Errors: not what the two commands write.
Result<ModelPlots> parse_plots(const std::string& text, const std::string& where);

/// Nothing in a title or a name ends a string of the commands, or begins a command. `svg`: else PNG.
std::string gnuplot_commands(const ModelPlot& plot, const std::string& to, bool svg);

}  // namespace pktpit::router::cli
