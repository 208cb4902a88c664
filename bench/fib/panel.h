// SPDX-License-Identifier: BSD-3-Clause
/// What one interleaved run found: rows of work, columns of peers, the samples of each cell. Plain values.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/statistics.h"

namespace pktpit::bench::fib {

struct Cell {
    std::string setting;          ///< of the peer, where it has several
    std::vector<double> samples;  ///< one a round, in the panel's unit
    /// Other figures of each round, by name: latencies of the churn benchmark.
    std::map<std::string, std::vector<double>> more;
    [[nodiscard]] double median() const { return harness::summarize(samples).median; }
};

struct Panel {
    std::string title;
    std::string unit;
    bool lower_is_better = false;
    std::string subject;  ///< the column that ratios are of
    std::vector<std::string> rows;
    std::vector<std::string> columns;
    std::map<std::pair<std::string, std::string>, Cell> cells;  ///< by row and column
    std::vector<std::string> notes;

    [[nodiscard]] const Cell* find(const std::string& row, const std::string& column) const {
        const auto found = cells.find({row, column});
        return found == cells.end() || found->second.samples.empty() ? nullptr : &found->second;
    }
};

/// How many times better the subject is than the column: of the ratios within each round. Zeros where one of
/// them is missing.
struct Ratio {
    double median = 0;
    double lower_quartile = 0;
    double upper_quartile = 0;
};
Ratio ratio(const Panel& panel, const std::string& row, const std::string& column);

/// Of several panels the one where the subject is least times better.
struct WorstRatio {
    std::string row, column;
    Ratio factor;
    std::string panel;  ///< its title
    size_t panels = 0;  ///< in which both were measured
};
/// In the order in which rows and columns first appear.
std::vector<WorstRatio> worst_ratios(std::span<const Panel> panels);

}  // namespace pktpit::bench::fib
