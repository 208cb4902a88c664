// SPDX-License-Identifier: BSD-3-Clause
/// What a series of rounds comes to.
#pragma once

#include <span>

namespace pktpit::bench::harness {

struct Summary {
    double median = 0;
    double lowest = 0;
    double highest = 0;
    /// (highest - lowest) / median: nothing is left out of it.
    [[nodiscard]] double spread() const { return median > 0 ? (highest - lowest) / median : 0; }
};

Summary summarize(std::span<const double> values);
/// Of a[i] / b[i]: both were measured in the same round, so what disturbed the machine then disturbed both.
Summary summarize_ratio(std::span<const double> a, std::span<const double> b);

/// The value below which the share `q` (0..1) of the values lies, between two of them by their distance; 0 of
/// none.
double quantile(std::span<const double> values, double q);

/// A larger spread than this is said in every report.
inline constexpr double tolerated_spread = 0.15;

}  // namespace pktpit::bench::harness
