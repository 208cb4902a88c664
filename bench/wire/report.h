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
#include "bench/wire/profile.h"

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
    unsigned frame_bytes = 64;
    std::string workload;
    size_t routes = 0;
    std::vector<Series> series;
    [[nodiscard]] const Series* find(const std::string& forwarder) const;
    /// The one of Pktpit's that ratios are of: the first of inline, split, auto, the port stage alone.
    [[nodiscard]] const Series* subject() const;
};

/// The forwarder that does nothing but rewrite and redirect.
inline constexpr const char* upper_bound_name = "fixed redirect";

/// "`subject` is at least `factor` times `peer`, with so many routes."
struct Target {
    std::string subject;
    std::string peer;
    double factor = 0;
    size_t from_routes = 0;
    size_t to_routes = SIZE_MAX;
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
    std::vector<std::pair<std::string, std::string>> commands;    ///< name and how it was started
    std::vector<std::pair<std::string, std::string>> refusals;    ///< what did not start, and its words
    std::string patch;                                            ///< of l3fwd's source
    std::vector<Target> targets;
    std::vector<Panel> panels;
    std::vector<Profile> profiles;
    std::vector<KillRestartResult> kill_restarts;
};

/// One a target whose peer is in the panel.
std::vector<Verdict> judge(const Report& report, const Panel& panel);

void print_head(FILE* out, const Report& report);
void print_panel(FILE* out, const Report& report, const Panel& panel);
/// Command lines and the patch.
void print_appendix(FILE* out, const Report& report);
/// Throws Failure if the file cannot be written.
void write_json(const std::string& path, const Report& report);

}  // namespace pktpit::bench
