// SPDX-License-Identifier: BSD-3-Clause
/// What a run of bench_rfc2544 found, as a table, JSON and plots. Plain values.
#pragma once

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "bench/harness/measurement.h"
#include "bench/rfc2544/search.h"
#include "bench/rfc2544/tester.h"

namespace pktpit::bench::rfc2544 {

struct LossPoint {
    double wanted = 0;    ///< frames a second that were to be offered
    double offered = 0;   ///< that the generator has sent, median of the rounds
    double loss = 0;      ///< share of those, median of the rounds
    bool reached = true;  ///< in most rounds the one was the other
};

/// One forwarder with frames of one size.
struct Throughput {
    std::string forwarder;
    std::string frames;
    double average_bytes = 0;  ///< without FCS
    double highest = 0;        ///< frames a second; the search goes no higher
    Goal ndr;
    Goal pdr;
    size_t trials = 0;
    std::vector<Latency> latencies;
    std::vector<LossPoint> curve;
    uint64_t back_to_back = 0;
    std::string faults;
};

struct Report {
    std::vector<std::pair<std::string, std::string>> machine;
    std::string command;
    std::string workload;
    harness::Cores cores = harness::Cores::two_core;
    double trial_seconds = 0;
    double resolution = 0;
    std::vector<std::pair<std::string, std::string>> forwarders;
    std::vector<std::pair<std::string, std::string>> commands;
    std::string patch;
    std::vector<Throughput> rows;
};

inline constexpr double pdr_loss = 0.005;
inline constexpr uint64_t longest_burst = 65536;

void print_head(FILE* out, const Report& report);
void print_report(FILE* out, const Report& report);
void write_json(const std::string& path, const Report& report);
/// Text, JSON and plots.
void write_results(const std::string& folder, const Report& report);

}  // namespace pktpit::bench::rfc2544
