// SPDX-License-Identifier: BSD-3-Clause
/// Plots, drawn by gnuplot: each as SVG and as PNG. Where gnuplot is missing none is drawn, and that is said
/// once.
#pragma once

#include <string>
#include <vector>

namespace pktpit::bench::report {

struct Bar {
    std::string label;
    double value = 0;
    double low = 0;
    double high = 0;
    bool ours = false;
};
struct BarChart {
    std::string title;
    std::string unit;
    std::vector<Bar> bars;
};

struct Curve {
    std::string label;
    std::vector<std::pair<double, double>> points;
};
struct CurveChart {
    std::string title;
    std::string x;
    std::string y;
    bool logarithmic = false;  ///< y
    std::vector<Curve> curves;
};

/// What gnuplot is told: charts one below the other, two columns from the fifth on. Pure.
std::string bars_script(const std::vector<BarChart>& charts);
std::string curves_script(const std::vector<CurveChart>& charts);

/// Draws STEM.svg and STEM.png; false if gnuplot is missing or complains.
bool draw(const std::string& script, size_t charts, const std::string& stem);

}  // namespace pktpit::bench::report
