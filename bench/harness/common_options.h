// SPDX-License-Identifier: BSD-3-Clause
/// The options that benchmarks have in common, each defined once: the same name takes and means the same in
/// all of them. Called by each program's parse_options(), on its main thread, before anything is measured.
/// What an option is bound to is written while parse_arguments() runs, and must live until then.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/address.h"
#include "bench/harness/measurement.h"
#include "bench/harness/workload.h"

namespace CLI {
class App;
}

namespace pktpit::bench::harness {

/// What every benchmark is told.
struct CommonOptions {
    std::string command;  ///< the whole command line, for the report
    std::string data;     ///< folder of recorded tables; empty: PKTPIT_DATA's (recorded_file.h)
    std::string json;     ///< the report goes there, too; empty: nowhere
    std::string results;  ///< folder for all files of the run; empty: none
    bool quick = false;
};

/// Of benchmarks that measure rows in turns, in rounds of one window each.
struct RoundOptions {
    unsigned rounds = 7;
    Timing timing{.warm_up = std::chrono::milliseconds(100), .window = std::chrono::milliseconds(400)};

    /// --quick.
    void shorten();
};

/// What a command line asks for, or what the process ends with: help was asked for, or the arguments were
/// wrong, and that has been said.
template <typename Options>
using Parsed = std::variant<Options, int>;

/// As a user would type it again.
std::string command_of(int argc, char** argv);

/// pktpitd of the same build as this program.
std::string built_daemon();

void add_data(CLI::App& app, CommonOptions& options, const std::string& what = "the Internet tables");
void add_results(CLI::App& app, CommonOptions& options);
void add_json(CLI::App& app, CommonOptions& options, const std::string& help = "also write the report there");
void add_quick(CLI::App& app, CommonOptions& options, const std::string& help = "5 short rounds");
void add_rounds(CLI::App& app, unsigned& rounds, const std::string& name, const std::string& help);
/// --rounds, --window and --warm-up. `row`: what is measured a window; `meanwhile`: "ms of traffic" or "ms".
void add_round_options(CLI::App& app, RoundOptions& options, const std::string& row,
                       const std::string& meanwhile);

/// 4 and 6. `name`: --families, or what the program has always called it.
void add_families(CLI::App& app, const std::string& name, std::vector<Family>& families);
void add_family(CLI::App& app, Family& family);
void add_traffic(CLI::App& app, std::vector<Traffic>& traffic);
void add_cores(CLI::App& app, std::vector<Cores>& cores, const std::string& help);
void add_cores(CLI::App& app, Cores& cores);
/// `rows`: as preset and as chosen; `known`: what there is.
void add_forwarders(CLI::App& app, std::vector<std::string>& rows, const std::vector<std::string>& known,
                    const std::string& help = "which to measure, in turns");
/// Several: one measurement each.
void add_routes(CLI::App& app, std::vector<size_t>& routes, const std::string& help);
void add_daemon(CLI::App& app, std::string& binary);

/// The exit code, where the process is to end.
std::optional<int> parse_arguments(CLI::App& app, int argc, char** argv);
/// Without the program's name.
std::optional<int> parse_arguments(CLI::App& app, std::vector<std::string> words);

}  // namespace pktpit::bench::harness
