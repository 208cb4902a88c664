// SPDX-License-Identifier: BSD-3-Clause
/// The search for throughput: the highest load that loses no more than a given share of frames. After
/// MLRsearch (draft-ietf-bmwg-mlrsearch): goals with several loss ratios share their trials, early trials are
/// short, and a bound counts only when a trial of full length stands for it. Pure: trials are a function.
#pragma once

#include <functional>
#include <vector>

namespace pktpit::bench::rfc2544 {

struct Trial {
    double load = 0;  ///< frames a second that were to be offered
    double seconds = 0;
    double loss = 0;     ///< share of the frames sent
    double offered = 0;  ///< frames a second that the generator has sent
    bool reached =
        true;  ///< that was the load. If not the trial says nothing of what the forwarder withstands
};

struct Goal {
    double loss = 0;   ///< share that may be lost
    double lower = 0;  ///< the highest load known to keep it, 0 if none was found
    double upper = 0;  ///< the lowest load known not to, or not to be made; `highest` if there is none
    /// That is a load that the generator did not make: the forwarder may carry more.
    bool generators_limit = false;
    /// How far apart they are, as a share of `upper`.
    [[nodiscard]] double width() const { return upper > 0 ? (upper - lower) / upper : 0; }
};

struct SearchPlan {
    double highest = 0;           ///< load that is never exceeded
    std::vector<double> seconds;  ///< of trials, phase by phase; the last is the full length
    double resolution = 0.01;     ///< wanted width()
    unsigned most_trials = 200;   ///< a guard against a device that answers at random
};

using RunTrial = std::function<Trial(double load, double seconds)>;

/// Goals by rising loss. Returns them with their bounds, from trials of the last phase's length alone.
std::vector<Goal> search(const std::vector<double>& losses, const SearchPlan& plan, const RunTrial& run);

}  // namespace pktpit::bench::rfc2544
