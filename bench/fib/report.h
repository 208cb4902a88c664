// SPDX-License-Identifier: BSD-3-Clause
/// What a run found, for people (tables on stdout) and for programs (JSON).
#pragma once

#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/fib/lookups.h"
#include "bench/fib/panel.h"
#include "bench/fib/table.h"

namespace pktpit::bench::fib {

struct Report {
    std::vector<std::pair<std::string, std::string>> head;  ///< machine, tables, settings: name and value
    std::vector<Panel> lookups, churn, load;
    bool table_set = false;  ///< lookups are a set's: its worst table stands for all
    std::vector<std::pair<Family, std::vector<SizeRow>>> sizes;
};

void print_head(FILE* out, const Report& report);
/// Rates, then how many times faster the subject is, with targets.
void print_lookups(FILE* out, const Panel& panel);
/// Of a set of tables: for each row and peer the panel with the lowest ratio.
void print_worst(FILE* out, std::span<const Panel> panels);
/// Rates and ratios, then latencies of an update.
void print_churn(FILE* out, const Panel& panel);
void print_load(FILE* out, const Panel& panel);
void print_sizes(FILE* out, const Table& table, const std::vector<SizeRow>& sizes);

/// All files of a run: text, JSON, plots of the rates. Says on stdout what they are called.
void write_results(const std::string& folder, const Report& report, const std::vector<Table>& tables);

/// Throws Failure if the file cannot be written.
void write_json(const std::string& path, const Report& report);

}  // namespace pktpit::bench::fib
