// SPDX-License-Identifier: BSD-3-Clause
/// Virtual time of the fabric model: picoseconds since the simulation began. Nothing in offload/model ever
/// asks a real clock. Any thread.
#pragma once

#include <cstdint>

namespace pktpit::model {

using Time = uint64_t;

inline constexpr Time picosecond = 1;
inline constexpr Time nanosecond = 1000;
inline constexpr Time microsecond = 1000 * nanosecond;
inline constexpr Time millisecond = 1000 * microsecond;
inline constexpr Time second = 1000 * millisecond;
inline constexpr Time never = ~Time{0};

constexpr Time from_ns(double ns) {
    if (ns <= 0) return 0;
    const double exact = ns * static_cast<double>(nanosecond);
    const auto whole = static_cast<Time>(exact);  // std::lround is no constant expression
    return whole + (exact - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}
constexpr double to_ns(Time time) {
    return static_cast<double>(time) / static_cast<double>(nanosecond);
}
constexpr double to_seconds(Time time) {
    return static_cast<double>(time) / static_cast<double>(second);
}

}  // namespace pktpit::model
