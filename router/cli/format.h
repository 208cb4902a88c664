// SPDX-License-Identifier: BSD-3-Clause
/// Numbers for people: three significant digits, SI prefixes (k = 1000), units. Pure functions.
#pragma once

#include <cstdint>
#include <string>

namespace pktpit::router::cli {

std::string format_count(uint64_t count);              ///< "9999", "12.3 k", "3.94 M"
std::string format_bytes(uint64_t bytes);              ///< "17 B", "1.21 kB", "3.94 GB"
std::string format_packet_rate(double per_second);     ///< "0 pps", "0.5 pps", "12.3 kpps", "3.94 Mpps"
std::string format_bit_rate(double bits_per_second);   ///< "0 bit/s", "12.3 Mbit/s"
std::string format_nanoseconds(uint64_t nanoseconds);  ///< "870 ns", "12.3 µs", "4.02 ms", "1.50 s"
/// As strftime has it, local time; seconds since 1970, those that no calendar has as the nearest that it has.
std::string format_time(double seconds, const char* format);
std::string format_duration(double seconds);  ///< "0.4 s", "59 s", "1 min 33 s", "2 h 5 min", "3 d 4 h"

}  // namespace pktpit::router::cli
