// SPDX-License-Identifier: BSD-3-Clause
/// What changed between two runs of the same benchmark, from their JSON files.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace pktpit::bench::report {

/// One figure that both runs have.
struct Change {
    std::string what;  ///< panel and row
    double before = 0;
    double after = 0;
    double spread = 0;   ///< the larger of the two runs', as a share
    bool ratio = false;  ///< of Pktpit to a peer in the same rounds: what can be compared across runs
    [[nodiscard]] double factor() const { return before > 0 ? after / before : 0; }
    /// Beyond what either run scattered.
    [[nodiscard]] bool significant() const;
};

struct Comparison {
    std::vector<std::string> differences;  ///< of machine, kernel, versions
    std::vector<Change> changes;
    std::vector<std::string> only_before;
    std::vector<std::string> only_after;
};

/// `before` and `after` are the texts of JSON reports. Throws Failure if they are not, or are of different
/// benchmarks.
Comparison compare_reports(const std::string& before, const std::string& after);
void print_comparison(FILE* out, const Comparison& comparison);

}  // namespace pktpit::bench::report
