// SPDX-License-Identifier: BSD-3-Clause
/// `pktpit model check`: the measurements of the research and what the model says of them. Each line has its
/// source, where the model's number comes from, and how far it may be from what was expected. One thread;
/// takes seconds to minutes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "offload/model/experiment.h"

namespace pktpit::model {

/// What a number proves.
enum class Origin : uint8_t {
    exact,   ///< follows from the protocol, the program and the topology: no constant of a profile moves it
    put_in,  ///< a constant that was put in, or a sum of such, comes out again: that of `follows_from`
    calibrated,  ///< a constant was chosen so that this comes out, or it is at the limit that was so chosen
    emergent,    ///< comes out of the mechanisms, with constants that were not chosen for it
};
std::string_view to_string(Origin origin);

enum class Verdict : uint8_t {
    holds,        ///< within the tolerance of what the source says
    tie,          ///< one is said to be ahead, and the difference is below the tolerance
    depends,      ///< within the tolerance, but a constant that nobody knows turns its sign
    in_band,      ///< not within the tolerance, but what the source leaves open makes up a band that has it
    unmet,        ///< another thing than the source says; what it depends on is shown in further lines
    information,  ///< nothing was measured that it could be held against
};
std::string_view to_string(Verdict verdict);

/// How far it may be from what was expected; for "more than", the difference that counts as one.
struct Tolerance {
    double value = 0;
    const char* unit = "";  ///< "%", "points" (of per cent), "Mpps", …
};

struct CheckLine {
    unsigned row = 0;
    std::string what;
    std::string expected{};
    std::string got{};
    Origin origin = Origin::emergent;
    Verdict verdict = Verdict::holds;
    std::string source{};
    std::optional<Tolerance> tolerance{};  ///< none: it is equal, or there is nothing to compare
    std::string follows_from{};            ///< what was put in, where that decides
    std::optional<double> value{};         ///< `got` as a number, in the tolerance's unit or that of `got`
    std::optional<std::pair<double, double>> band{};  ///< from least to most, over what nobody knows
};

struct CheckPlotSeries {
    std::string plot;    ///< "row2-bandwidth"
    std::string series;  ///< "p2p"
    std::vector<std::pair<double, double>> points;
    bool measured = false;  ///< of the research, and not the model's
};

/// What stands around the series of a plot.
struct PlotText {
    std::string title, x, y;
};

struct CheckReport {
    std::vector<CheckLine> lines;
    std::vector<CheckPlotSeries> series;    ///< what `pktpit model plot` draws
    std::map<std::string, PlotText> plots;  ///< by CheckPlotSeries::plot
};

using Progress = std::function<void(const std::string&)>;

struct CheckSettings {
    std::string table{};  ///< a route file for rows 5 and 6; empty: a generated one of the same shape
    /// Constants that differ from those of all profiles, whatever row uses them.
    std::vector<std::pair<std::string, double>> set{};
};

/// `rows`: which of 1 to 9; empty: all that there are. Errors: of the route file; a constant that cannot be.
Result<CheckReport> run_check(std::span<const unsigned> rows, const CheckSettings& settings,
                              const Progress& progress);

/// What the rows write to and take their profiles from.
class CheckRun {
  public:
    CheckRun(CheckReport& into, const CheckSettings& settings, const Progress& progress)
        : report(into), settings_(settings), progress_(progress) {}

    /// One that comes with the program, with the settings' constants.
    [[nodiscard]] Profile profile(const std::string& name) const;
    void progress(const std::string& what) const {
        if (progress_) progress_(what);
    }
    void line(CheckLine line) { report.lines.push_back(std::move(line)); }
    /// A line that is held against nothing.
    void inform(unsigned row, std::string what, std::string got, std::string source,
                Origin origin = Origin::emergent);

    CheckReport& report;

  private:
    const CheckSettings& settings_;
    const Progress& progress_;
};

// The rows.
void check_bytes_per_link(CheckRun& run);       // 1 and 3
void check_effective_bandwidth(CheckRun& run);  // 2
void check_memory_load(CheckRun& run);          // 4
/// 5. `table`: for a NIC whose FIB holds part of it.
void check_p2pnic(CheckRun& run, const std::shared_ptr<const RouteTable>& table);
/// 6. `part`: as many routes as the research had.
void check_pktpit(CheckRun& run, const std::shared_ptr<const RouteTable>& part);
/// 6, machines that nobody has measured, with today's routes: bands.
void check_today(CheckRun& run, const std::shared_ptr<const RouteTable>& table);
void check_chip_latencies(CheckRun& run);   // 7
void check_peer_operations(CheckRun& run);  // 8
void check_allreduce(CheckRun& run);        // 9

/// A profile or topology that comes with the program.
Profile own_profile(const std::string& name);
Topology own_topology(const std::string& name);
/// "12.34", with so many digits behind the point.
std::string fixed(double value, int digits);
/// "+1.2 %"
std::string signed_percent(double share, int digits);
/// holds or unmet.
Verdict met(bool good);
/// holds where `value` is within the tolerance of `wanted`; in_band where the band has it; else unmet.
Verdict within(double value, double wanted, double tolerance, const std::pair<double, double>& band);
/// `ahead` of `other` by more than the tolerance: holds; by less, or behind by less: a tie; else unmet.
Verdict ahead(double ahead, double other, const Tolerance& per_cent);

}  // namespace pktpit::model
