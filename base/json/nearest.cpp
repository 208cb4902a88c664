// SPDX-License-Identifier: BSD-3-Clause
#include "base/json/nearest.h"

#include <algorithm>

namespace pktpit {
namespace {

/// Optimal string alignment distance: edits with neighbouring letters swapped counted as one.
size_t distance(std::string_view a, std::string_view b) {
    std::vector<size_t> before_last, last, row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); j++)
        row[j] = j;
    for (size_t i = 1; i <= a.size(); i++) {
        before_last = last;
        last = row;
        row[0] = i;
        for (size_t j = 1; j <= b.size(); j++) {
            row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before_last[j - 2] + 1);
        }
    }
    return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word, const std::vector<std::string>& known) {
    if (word.empty() || word.size() > 64) return std::nullopt;
    if (word.size() > 2)
        for (const std::string& candidate : known)
            if (candidate.starts_with(word)) return candidate;
    std::optional<std::string> best;
    size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
    for (const std::string& candidate : known) {
        size_t d = distance(word, candidate);
        if (d < best_distance && d < candidate.size()) {
            best = candidate;
            best_distance = d;
        }
    }
    return best;
}

std::string did_you_mean(std::string_view word, const std::vector<std::string>& known) {
    auto best = nearest(word, known);
    return best ? "did you mean \"" + *best + "\"?" : std::string();
}

}  // namespace pktpit
