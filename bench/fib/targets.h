// SPDX-License-Identifier: BSD-3-Clause
/// What Pktpit's FIB is to reach.
#pragma once

#include <span>
#include <string_view>

namespace pktpit::bench::fib {

/// "In this row, Pktpit is at least `factor` times `column`."
struct RatioTarget {
    std::string_view row;
    std::string_view column;
    double factor;
};

inline constexpr RatioTarget ratio_targets[] = {
    {"IPv4 uniform", "rte_fib 4B", 4.5},      {"IPv4 uniform", "rte_fib 2B", 3.8},
    {"IPv4 in-prefix", "rte_fib 4B", 3.0},    {"IPv4 in-prefix", "rte_fib 2B", 1.9},
    {"IPv4 zipf", "rte_fib 4B", 2.1},         {"IPv4 zipf", "rte_fib 2B", 1.25},
    {"IPv4 buffers", "rte_fib 4B", 1.6},      {"IPv4 buffers", "rte_fib 2B", 1.6},
    {"IPv6 in-prefix", "rte_fib6 4B", 2.2},   {"IPv6 zipf", "rte_fib6 4B", 2.2},
    {"IPv4 random churn", "rte_fib 4B", 2.0}, {"IPv4 trace churn", "rte_fib 4B", 2.0},
};

/// On the worst table of the set.
inline constexpr RatioTarget set_targets[] = {
    {"IPv4 in-prefix", "rte_fib 2B", 1.5},    {"IPv4 zipf", "rte_fib 2B", 1.2},
    {"IPv4 hot16", "rte_fib 2B", 1.0},        {"IPv6 in-prefix", "rte_fib6 4B", 3.0},
    {"IPv6 zipf", "rte_fib6 4B", 2.5},        {"IPv6 hot16", "rte_fib6 4B", 1.0},
    {"IPv6 consecutive", "rte_fib6 4B", 1.0},
};

inline constexpr double most_p999_microseconds = 5.0;
inline constexpr double most_load_seconds = 0.5;
inline constexpr double most_mebibytes4 = 8;  ///< at no more than small_groups next-hop groups
inline constexpr double most_mebibytes6 = 16;
inline constexpr unsigned small_groups = 254;

/// nullptr where there is none.
constexpr const RatioTarget* find_target(std::span<const RatioTarget> targets, std::string_view row,
                                         std::string_view column) {
    for (const RatioTarget& target : targets)
        if (target.row == row && target.column == column) return &target;
    return nullptr;
}

/// Of one table's.
constexpr const RatioTarget* find_target(std::string_view row, std::string_view column) {
    return find_target(ratio_targets, row, column);
}

}  // namespace pktpit::bench::fib
