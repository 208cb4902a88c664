// SPDX-License-Identifier: BSD-3-Clause
/// `pktpit model check`: the measurements of the research and what the model says of them. Each line has its
/// source, and whether the model's number was put in (calibrated), follows from the protocol alone (exact),
/// or comes out (emergent). One thread; takes seconds to minutes.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "offload/model/experiment.h"

namespace pktpit::model {

enum class Origin : uint8_t { exact, calibrated, emergent };
std::string_view to_string(Origin origin);

/// unmet: the model says another thing than the source; what it depends on is shown in further lines.
enum class Verdict : uint8_t { holds, unmet, information };
std::string_view to_string(Verdict verdict);

struct CheckLine {
    unsigned row = 0;
    std::string what;
    std::string expected;
    std::string got;
    Origin origin = Origin::emergent;
    Verdict verdict = Verdict::holds;
    std::string source;
};

struct CheckPlotSeries {
    std::string plot;    ///< "row2-bandwidth"
    std::string series;  ///< "p2p"
    std::vector<std::pair<double, double>> points;
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
};

/// `rows`: which of 1 to 8; empty: all that there are. Errors: of the route file.
Result<CheckReport> run_check(std::span<const unsigned> rows, const CheckSettings& settings,
                              const Progress& progress);

// The rows.
void check_bytes_per_link(CheckReport& report, const Progress& progress);       // 1 and 3
void check_effective_bandwidth(CheckReport& report, const Progress& progress);  // 2
void check_memory_load(CheckReport& report, const Progress& progress);          // 4
/// 5. `table`: for a NIC whose FIB holds part of it.
void check_p2pnic(CheckReport& report, const std::shared_ptr<const RouteTable>& table,
                  const Progress& progress);
/// 6. `part`: as many routes as the research had; `table`: today's.
void check_pktpit(CheckReport& report, const std::shared_ptr<const RouteTable>& table,
                  const std::shared_ptr<const RouteTable>& part, const Progress& progress);
void check_chip_latencies(CheckReport& report, const Progress& progress);   // 7
void check_peer_operations(CheckReport& report, const Progress& progress);  // 8

/// A profile or topology that comes with the program.
Profile own_profile(const std::string& name);
Topology own_topology(const std::string& name);
/// "12.34", with so many digits behind the point.
std::string fixed(double value, int digits);

}  // namespace pktpit::model
