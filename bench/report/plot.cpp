// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace pktpit::bench::report {
namespace {

constexpr size_t charts_in_one_column = 4;
constexpr size_t width = 900;
constexpr size_t height = 380;  ///< of a chart

size_t columns_of(size_t charts) {
    return charts > charts_in_one_column ? 2 : 1;
}
size_t rows_of(size_t charts) {
    return (charts + columns_of(charts) - 1) / columns_of(charts);
}

/// In gnuplot's double quotes.
std::string quoted(const std::string& text) {
    std::string out = "\"";
    for (const char character : text) {
        if (character == '"' || character == '\\') out += '\\';
        out += character;
    }
    return out + '"';
}

std::string head(size_t charts) {
    return fmt::format("set multiplot layout {},{}\nset grid\nset border 3\nset tics nomirror out\n",
                       rows_of(charts), columns_of(charts));
}

}  // namespace

// Bars lie, so that names can be read; the line is from the lowest to the highest.
std::string bars_script(const std::vector<BarChart>& charts) {
    std::string out = head(charts.size());
    for (const BarChart& chart : charts) {
        out += fmt::format("set title {}\nset xlabel {}\nset xrange [0:*]\nset yrange [{}:0.6]\n",
                           quoted(chart.title), quoted(chart.unit),
                           0.4 - static_cast<double>(chart.bars.size()));
        out += "set style fill solid 0.8\nset lmargin 32\nunset key\nset ytics (";
        for (size_t i = 0; i < chart.bars.size(); i++)
            out += fmt::format("{}{} {}", i ? ", " : "", quoted(chart.bars[i].label), -static_cast<int>(i));
        out += ")\n$bars << EOD\n";
        for (size_t i = 0; i < chart.bars.size(); i++) {
            const Bar& bar = chart.bars[i];
            out += fmt::format("{} {} {} {} {}\n", -static_cast<int>(i), bar.value, bar.low, bar.high,
                               bar.ours ? "0x2060a0" : "0xb0b0b0");
        }
        out +=
            "EOD\n"
            "plot $bars using ($2/2):1:($2/2):(0.35):5 with boxxyerror lc rgb variable, "
            "$bars using 2:1:3:4 with xerrorbars pt 7 ps 0.3 lc rgb \"black\", "
            "$bars using 4:1:(sprintf(\" %.3g\", $2)) with labels left\n";
    }
    return out + "unset multiplot\n";
}

std::string curves_script(const std::vector<CurveChart>& charts) {
    std::string out = head(charts.size());
    for (const CurveChart& chart : charts) {
        out += fmt::format(
            "set title {}\nset xlabel {}\nset ylabel {}\nset key outside right\n{} logscale y\n",
            quoted(chart.title), quoted(chart.x), quoted(chart.y), chart.logarithmic ? "set" : "unset");
        std::string plots;
        for (size_t i = 0; i < chart.curves.size(); i++) {
            out += fmt::format("$curve{} << EOD\n", i);
            for (const auto& [x, y] : chart.curves[i].points)
                out += fmt::format("{} {}\n", x, y);
            out += "EOD\n";
            plots += fmt::format("{}$curve{} using 1:2 with linespoints pt 7 ps 0.5 title {}",
                                 i ? ", " : "plot ", i, quoted(chart.curves[i].label));
        }
        out += plots + "\n";
    }
    return out + "unset multiplot\n";
}

bool draw(const std::string& script, size_t charts, const std::string& stem) {
    const size_t pixels = width * columns_of(charts);
    const size_t lines = height * rows_of(charts);
    bool drawn = true;
    for (const auto& [terminal, ending] :
         {std::pair{"svg noenhanced", ".svg"}, std::pair{"pngcairo noenhanced", ".png"}}) {
        FILE* gnuplot = popen("gnuplot 2>&1 >/dev/null", "w");
        if (!gnuplot) return false;
        fmt::print(gnuplot, "set terminal {} size {},{}\nset output {}\n{}", terminal, pixels, lines,
                   quoted(stem + ending), script);
        drawn = pclose(gnuplot) == 0 && drawn;
    }
    return drawn;
}

}  // namespace pktpit::bench::report
