// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace pktpit::router::cli {
namespace {

TEST(Format, CountsAreExactWhileShort) {
    EXPECT_EQ(format_count(0), "0");
    EXPECT_EQ(format_count(9999), "9999");
    EXPECT_EQ(format_count(10'000), "10.0 k");
    EXPECT_EQ(format_count(12'345), "12.3 k");
    EXPECT_EQ(format_count(1'168'945), "1.17 M");
    EXPECT_EQ(format_count(std::numeric_limits<uint64_t>::max()), "18.4 E");
}

TEST(Format, RoundingCarriesIntoTheNextPrefix) {
    EXPECT_EQ(format_count(99'949), "99.9 k");
    EXPECT_EQ(format_count(99'950), "100 k");
    EXPECT_EQ(format_count(999'499), "999 k");
    EXPECT_EQ(format_count(999'500), "1.00 M");
    EXPECT_EQ(format_bytes(999), "999 B");
    EXPECT_EQ(format_bytes(1000), "1.00 kB");
    EXPECT_EQ(format_bytes(9'994), "9.99 kB");
    EXPECT_EQ(format_bytes(9'996), "10.0 kB");
}

TEST(Format, TimesThatNoCalendarHasAreTheNearestThatItHas) {
    EXPECT_EQ(format_time(1e15, "%Y"), format_time(253402300799, "%Y"));
    EXPECT_EQ(format_time(1e300, "%F"), format_time(253402300799, "%F"));
    EXPECT_EQ(format_time(-1e300, "%F %T"), format_time(0, "%F %T"));
    EXPECT_EQ(format_time(86400.9, "%F %T"), format_time(86400, "%F %T"));
}

TEST(Format, Rates) {
    EXPECT_EQ(format_packet_rate(0), "0 pps");
    EXPECT_EQ(format_packet_rate(0.5), "0.5 pps");
    EXPECT_EQ(format_packet_rate(17), "17 pps");
    EXPECT_EQ(format_packet_rate(999.4), "999 pps");
    EXPECT_EQ(format_packet_rate(999.6), "1.00 kpps");
    EXPECT_EQ(format_packet_rate(3.94e6), "3.94 Mpps");
    EXPECT_EQ(format_bit_rate(614.4e6), "614 Mbit/s");
    EXPECT_EQ(format_bit_rate(100e9), "100 Gbit/s");
}

TEST(Format, NonsenseIsZero) {
    EXPECT_EQ(format_packet_rate(-5), "0 pps");
    EXPECT_EQ(format_packet_rate(std::nan("")), "0 pps");
    EXPECT_EQ(format_bit_rate(std::numeric_limits<double>::infinity()), "0 bit/s");
    EXPECT_EQ(format_duration(-1), "0.0 s");
}

TEST(Format, Nanoseconds) {
    EXPECT_EQ(format_nanoseconds(0), "0 ns");
    EXPECT_EQ(format_nanoseconds(870), "870 ns");
    EXPECT_EQ(format_nanoseconds(9'996), "10.0 µs");
    EXPECT_EQ(format_nanoseconds(12'345), "12.3 µs");
    EXPECT_EQ(format_nanoseconds(4'020'000), "4.02 ms");
    EXPECT_EQ(format_nanoseconds(68'719'476'735), "68.7 s");
}

TEST(Format, Durations) {
    EXPECT_EQ(format_duration(0.44), "0.4 s");
    EXPECT_EQ(format_duration(9.96), "10 s");
    EXPECT_EQ(format_duration(59.4), "59 s");
    EXPECT_EQ(format_duration(59.6), "1 min 0 s");
    EXPECT_EQ(format_duration(93.4), "1 min 33 s");
    EXPECT_EQ(format_duration(7500), "2 h 5 min");
    EXPECT_EQ(format_duration(273'600), "3 d 4 h");
}

}  // namespace
}  // namespace pktpit::router::cli
