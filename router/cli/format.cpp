// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/format.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>

namespace pktpit::router::cli {
namespace {

constexpr const char* si_prefixes[] = {"", "k", "M", "G", "T", "P", "E"};

/// Three significant digits and an SI prefix. Rounds before it chooses the prefix: 999,950 is "1.00 M".
std::string scaled(double value, const char* unit) {
    if (!std::isfinite(value) || value < 0) value = 0;
    size_t prefix = 0;
    while (value >= 999.5 && prefix + 1 < std::size(si_prefixes)) {
        value /= 1000;
        prefix++;
    }
    int decimals = 0;
    if (prefix > 0 || value != std::floor(value)) decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    if (prefix == 0) decimals = std::min(decimals, 1);  // half a packet is fine, a hundredth is noise
    char text[64];
    std::snprintf(text, sizeof(text), "%.*f %s%s", decimals, value, si_prefixes[prefix], unit);
    std::string result = text;
    if (result.back() == ' ') result.pop_back();
    return result;
}

}  // namespace

std::string format_count(uint64_t count) {
    return count <= 9999 ? std::to_string(count) : scaled(static_cast<double>(count), "");
}

std::string format_bytes(uint64_t bytes) {
    return scaled(static_cast<double>(bytes), "B");
}

std::string format_packet_rate(double per_second) {
    return scaled(per_second, "pps");
}

std::string format_bit_rate(double bits_per_second) {
    return scaled(bits_per_second, "bit/s");
}

std::string format_nanoseconds(uint64_t nanoseconds) {
    constexpr const char* units[] = {"ns", "µs", "ms", "s"};
    auto value = static_cast<double>(nanoseconds);
    size_t unit = 0;
    while (value >= 999.5 && unit + 1 < std::size(units)) {
        value /= 1000;
        unit++;
    }
    const int decimals = unit == 0 ? 0 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    char text[64];
    std::snprintf(text, sizeof(text), "%.*f %s", decimals, value, units[unit]);
    return text;
}

std::string format_time(double seconds, const char* format) {
    constexpr double end_of_9999 = 253402300799;
    const auto whole = static_cast<std::time_t>(std::clamp(std::floor(seconds), 0.0, end_of_9999));
    std::tm local{};
    ::localtime_r(&whole, &local);
    char text[64];
    return {text, std::strftime(text, sizeof text, format, &local)};
}

std::string format_duration(double seconds) {
    if (!std::isfinite(seconds) || seconds < 0) seconds = 0;
    char text[64];
    if (seconds < 9.95) {
        std::snprintf(text, sizeof(text), "%.1f s", seconds);
        return text;
    }
    // Larger ones never reach a person.
    const auto whole = static_cast<unsigned long long>(std::llround(std::min(seconds, 1e15)));
    const unsigned long long minutes = whole / 60;
    const unsigned long long hours = minutes / 60;
    if (minutes == 0) {
        std::snprintf(text, sizeof(text), "%llu s", whole);
    } else if (hours == 0) {
        std::snprintf(text, sizeof(text), "%llu min %llu s", minutes, whole % 60);
    } else if (hours < 24) {
        std::snprintf(text, sizeof(text), "%llu h %llu min", hours, minutes % 60);
    } else {
        std::snprintf(text, sizeof(text), "%llu d %llu h", hours / 24, hours % 24);
    }
    return text;
}

}  // namespace pktpit::router::cli
