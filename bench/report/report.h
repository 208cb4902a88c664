// SPDX-License-Identifier: BSD-3-Clause
/// What a run of bench_wire or bench_cpu found, for people (a table on stdout) and for programs (JSON). Plain
/// values.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/measurement.h"
#include "bench/harness/statistics.h"
#include "bench/report/kill_restart_result.h"
#include "bench/report/profile.h"

namespace pktpit::bench::report {

/// One forwarder in one panel; one sample a round.
struct Series {
    std::string forwarder;
    std::vector<harness::Sample> samples;
    [[nodiscard]] std::vector<double> rates() const;
};

/// Forwarders measured in turns under the same conditions.
struct Panel {
    Family family = Family::ipv4;
    harness::Cores cores = harness::Cores::two_core;
    unsigned frame_bytes = 64;
    std::string workload;
    std::string label;  ///< the workload in a few words
    size_t routes = 0;
    std::vector<Series> series;
    [[nodiscard]] const Series* find(const std::string& forwarder) const;
    /// The one of Pktpit's that ratios are of: the first of inline, split, auto, dpdk, the port stage alone.
    [[nodiscard]] const Series* subject() const;
};

/// "`subject` is at least `factor` times `peer`, with so many routes." Of costs: "a frame costs `subject` at
/// most `factor` times what it costs `peer`, both above the bound"; `peer` is then how names begin, and the
/// cheapest of those is it.
struct Target {
    std::string subject;
    std::string peer;
    double factor = 0;
    size_t from_routes = 0;
    size_t to_routes = SIZE_MAX;
    bool of_cost = false;
};

struct Verdict {
    Target target;
    harness::Summary ratio;
    [[nodiscard]] bool met() const {
        return target.of_cost ? ratio.median <= target.factor : ratio.median >= target.factor;
    }
};

/// Of one CPU, without traffic.
struct IdleUse {
    std::string polling;
    double share = 0;
};

struct Report {
    std::string benchmark;  ///< "wire" or "cpu"
    std::string bound;      ///< the row that does nothing but what all must: costs are told beyond it
    std::vector<std::pair<std::string, std::string>> machine;
    std::string command;
    std::vector<std::pair<std::string, std::string>> forwarders;  ///< name and description
    std::vector<std::pair<std::string, std::string>> commands;    ///< name and how it was started
    std::vector<std::pair<std::string, std::string>> refusals;    ///< what did not start, and its words
    std::string patch;                                            ///< of l3fwd's source
    std::vector<Target> targets;
    std::vector<Panel> panels;
    std::vector<Profile> profiles;
    std::vector<IdleUse> idle;
    std::vector<KillRestartResult> kill_restarts;
};

/// What a frame costs in ns beyond the bound, a value a round; empty if the bound was not measured.
std::vector<double> costs_above_bound(const Report& report, const Panel& panel, const Series& series);

/// One a target whose peer is in the panel.
std::vector<Verdict> judge(const Report& report, const Panel& panel);

void print_head(FILE* out, const Report& report);
void print_panel(FILE* out, const Report& report, const Panel& panel);
/// Command lines and the patch.
void print_appendix(FILE* out, const Report& report);
/// bench/report/report.schema.json describes it. Throws Failure if the file cannot be written.
void write_json(const std::string& path, const Report& report);

}  // namespace pktpit::bench::report
