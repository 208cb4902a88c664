/// What a run of the wire benchmark found, for people (a table on stdout) and for programs (JSON). Plain
/// values.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/measurement.h"
#include "bench/harness/statistics.h"
#include "bench/wire/kill_restart.h"

namespace pktpit::bench {

/// One forwarder in one panel; one sample a round.
struct Series {
    std::string forwarder;
    std::vector<Sample> samples;
    [[nodiscard]] std::vector<double> rates() const;
};

/// Forwarders measured in turns under the same conditions.
struct Panel {
    Family family = Family::ipv4;
    Cores cores = Cores::two_core;
    std::string workload;
    std::vector<Series> series;
    [[nodiscard]] const Series* find(const std::string& forwarder) const;
};

/// The forwarder that does nothing but rewrite and redirect.
inline constexpr const char* upper_bound_name = "fixed redirect";

/// "`forwarder` is at least `factor` times `peer`."
struct Target {
    std::string peer;
    double factor = 0;
};

struct Verdict {
    Target target;
    Summary ratio;
    [[nodiscard]] bool met() const { return ratio.median >= target.factor; }
};

struct Report {
    std::vector<std::pair<std::string, std::string>> machine;
    std::string command;
    std::vector<std::pair<std::string, std::string>> forwarders;  ///< name and description
    std::string subject;                                          ///< the forwarder that ratios are of
    std::vector<Target> targets;
    std::vector<Panel> panels;
    std::vector<KillRestartResult> kill_restarts;
};

/// One a target whose peer is in the panel.
std::vector<Verdict> judge(const Report& report, const Panel& panel);

void print_head(FILE* out, const Report& report);
void print_panel(FILE* out, const Report& report, const Panel& panel);
/// Throws Failure if the file cannot be written.
void write_json(const std::string& path, const Report& report);

}  // namespace pktpit::bench
