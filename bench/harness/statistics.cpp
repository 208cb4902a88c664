// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/statistics.h"

#include <algorithm>
#include <vector>

namespace pktpit::bench::harness {

Summary summarize(std::span<const double> values) {
    if (values.empty()) return {};
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const size_t middle = sorted.size() / 2;
    const double median = sorted.size() % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    return {median, sorted.front(), sorted.back()};
}

Summary summarize_ratio(std::span<const double> a, std::span<const double> b) {
    std::vector<double> ratios;
    for (size_t i = 0; i < std::min(a.size(), b.size()); i++)
        if (b[i] > 0) ratios.push_back(a[i] / b[i]);
    return summarize(ratios);
}

double quantile(std::span<const double> values, double q) {
    if (values.empty()) return 0;
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const double place = q * static_cast<double>(sorted.size() - 1);
    const auto lower = static_cast<size_t>(place);
    const size_t upper = std::min(lower + 1, sorted.size() - 1);
    return sorted[lower] + (place - static_cast<double>(lower)) * (sorted[upper] - sorted[lower]);
}

}  // namespace pktpit::bench::harness
