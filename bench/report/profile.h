// SPDX-License-Identifier: BSD-3-Clause
/// Where the time of a forwarder's process goes under load: perf's samples of its threads, sorted into the
/// steps that a packet takes. Pure.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

namespace pktpit::bench::report {

struct ProfileStep {
    std::string name;
    double share = 0;                                       ///< of all samples
    std::vector<std::pair<std::string, double>> functions;  ///< the innermost ones, most first
};

struct Profile {
    std::string forwarder;
    std::string conditions;
    size_t samples = 0;
    std::vector<ProfileStep> steps;  ///< most first
};

/// `text`: `perf script -F ip,sym`: a stack a paragraph, innermost first.
Profile sort_stacks(const std::string& text);
void print_profile(FILE* out, const Profile& profile);

}  // namespace pktpit::bench::report
