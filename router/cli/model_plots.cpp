// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/model_plots.h"

#include <nlohmann/json.hpp>

#include <sstream>

#include "base/json/parse.h"
#include "router/cli/terminal.h"

namespace pktpit::router::cli {
namespace {

using nlohmann::json;

std::string quoted(const std::string& text) {
    std::string safe;
    for (const char c : printable(text))
        if (c != '\'' && c != '\\' && c != '"') safe += c;
    return "'" + safe + "'";
}

}  // namespace

Result<ModelPlots> parse_plots(const std::string& text, const std::string& where) {
    ModelPlots plots;
    try {
        const json document = parse_json(text);
        for (const json& series : document.at("series"))
            plots[series.at("plot")].series.push_back(
                {series.at("series"), series.value("measured", false),
                 series.at("points").get<std::vector<std::pair<double, double>>>()});
        for (auto& [name, plot] : plots) {
            const json around = document.value("plots", json::object()).value(name, json::object());
            plot.text = {around.value("title", name), around.value("x", ""), around.value("y", "")};
        }
    } catch (const json::exception&) {
        return fail(where, "no results", "what `pktpit model check --json` or `sweep --json` wrote");
    }
    for (const auto& [name, plot] : plots)
        if (name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-._") != std::string::npos)
            return fail(where, "\"" + printable(name) + "\" is no plot's name");
    return plots;
}

std::string gnuplot_commands(const ModelPlot& plot, const std::string& to, bool svg) {
    std::ostringstream text;
    text << "set terminal " << (svg ? "svg size 900,600" : "pngcairo size 900,600") << "\nset output "
         << quoted(to) << "\nset title " << quoted(plot.text.title) << " noenhanced\nset xlabel "
         << quoted(plot.text.x) << " noenhanced\nset ylabel " << quoted(plot.text.y)
         << " noenhanced\nset yrange [0:]\nset grid\nset key outside below noenhanced\nplot ";
    const char* separator = "";
    for (const PlottedSeries& one : plot.series) {
        text << separator << "'-' with "
             << (one.measured ? "points pointtype 7 pointsize 1.5 linecolor rgb 'black'" : "linespoints")
             << " title " << quoted(one.name);
        separator = ", ";
    }
    text << '\n';
    for (const PlottedSeries& one : plot.series) {
        for (const auto& [x, y] : one.points)
            text << x << ' ' << y << '\n';
        text << "e\n";
    }
    return text.str();
}

}  // namespace pktpit::router::cli
