// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/best_path.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace pktpit::fib {
namespace {

/// Steps 1 to 3, lower is better.
auto degree(const PathCandidate& candidate) {
    return std::tuple(~candidate.local_pref, candidate.as_path_length, candidate.origin);
}

/// Step 5.
auto tie_break(const PathCandidate& candidate) {
    return std::tuple(candidate.peer, candidate.path_id);
}

}  // namespace

const PathCandidate& best_path(std::span<PathCandidate> candidates) {
    if (candidates.size() == 1) return candidates[0];
    // The equals of steps 1 to 3 come first, by neighbour AS; the first of each AS is what step 4 leaves of
    // it as far as step 5 can choose it.
    std::ranges::sort(candidates, {}, [](const PathCandidate& c) {
        return std::tuple_cat(degree(c), std::tuple(c.neighbour_as, c.med), tie_break(c));
    });
    const PathCandidate* best = &candidates[0];
    const PathCandidate* previous = best;
    for (const PathCandidate& candidate : candidates.subspan(1)) {
        if (degree(candidate) != degree(*best)) break;
        if (candidate.neighbour_as != previous->neighbour_as && tie_break(candidate) < tie_break(*best))
            best = &candidate;
        previous = &candidate;
    }
    return *best;
}

}  // namespace pktpit::fib
