// SPDX-License-Identifier: BSD-3-Clause
#include "bench/rfc2544/search.h"

#include <algorithm>

namespace pktpit::bench::rfc2544 {
namespace {

/// What the trials of one length say of a goal. Where they contradict each other, the lower load counts: a
/// load that lost once is no throughput. A load that the generator did not make is none either.
Goal judge(double loss, const std::vector<Trial>& trials, double highest) {
    Goal goal{loss, 0, highest};
    bool failed = false;
    for (const Trial& trial : trials) {
        const bool lost = trial.loss > loss;
        if (trial.load > goal.upper || (trial.reached && !lost)) continue;
        // Of two trials of one load the one that lost tells more.
        goal.generators_limit = !lost && (goal.generators_limit || trial.load < goal.upper || !failed);
        goal.upper = trial.load;
        failed = true;
    }
    for (const Trial& trial : trials)
        if (trial.reached && trial.loss <= loss && trial.load <= goal.upper)
            goal.lower = std::max(goal.lower, trial.load);
    return goal;
}

}  // namespace

std::vector<Goal> search(const std::vector<double>& losses, const SearchPlan& plan, const RunTrial& run) {
    std::vector<Goal> hints;
    std::vector<Trial> trials;
    unsigned count = 0;
    for (size_t phase = 0; phase < plan.seconds.size(); phase++) {
        // Early phases need not be as fine: the next one doubles what is left each time.
        const size_t left = plan.seconds.size() - 1 - phase;
        const double resolution = plan.resolution * static_cast<double>(1U << std::min<size_t>(left, 8));
        trials.clear();
        const auto measure = [&](double load) {
            trials.push_back(run(load, plan.seconds[phase]));
            trials.back().load = load;
            count++;
        };
        for (size_t i = 0; i < losses.size(); i++) {
            const auto goal = [&] { return judge(losses[i], trials, plan.highest); };
            if (phase == 0) {
                if (i == 0) measure(plan.highest);
            } else {
                // Bounds of the phase before are where to look, not to be believed.
                if (hints[i].lower > 0) measure(hints[i].lower);
                if (hints[i].upper < plan.highest || hints[i].lower == 0) measure(hints[i].upper);
            }
            double step = resolution;
            while (goal().width() > resolution && count < plan.most_trials) {
                const Goal now = goal();
                const bool refuted = phase > 0 && now.lower == 0 && now.upper > 0;
                if (refuted) {  // go down in growing steps rather than to the middle of nothing
                    step *= 2;
                    measure(now.upper * std::max(1 - step, 0.5));
                } else {
                    measure((now.lower + now.upper) / 2);
                }
                if (now.upper < plan.highest / 1e4) break;  // nothing gets through
            }
        }
        hints.clear();
        for (const double loss : losses)
            hints.push_back(judge(loss, trials, plan.highest));
    }
    return hints;
}

}  // namespace pktpit::bench::rfc2544
