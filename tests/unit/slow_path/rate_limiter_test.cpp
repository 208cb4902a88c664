// SPDX-License-Identifier: BSD-3-Clause
#include "router/slow_path/rate_limiter.h"

#include <gtest/gtest.h>

#include "packets.h"

namespace pktpit::router::test {

using namespace std::chrono_literals;

namespace {

constexpr Clock::time_point start{1h};

int allowed(RateLimiter& limiter, std::string_view destination, int tries, Clock::time_point now) {
    int count = 0;
    for (int i = 0; i < tries; i++)
        count += limiter.allow(ip(destination), now);
    return count;
}

TEST(RateLimiter, burst_then_rate) {
    RateLimiter limiter({.rate = 100000, .rate_per_prefix = 10, .burst_per_prefix = 5}, 1);
    EXPECT_EQ(allowed(limiter, "192.0.2.1", 100, start), 5);
    EXPECT_EQ(allowed(limiter, "192.0.2.1", 100, start + 99ms), 0);
    EXPECT_EQ(allowed(limiter, "192.0.2.1", 100, start + 100ms), 1);
    EXPECT_EQ(allowed(limiter, "192.0.2.1", 100, start + 400ms), 3);
    EXPECT_EQ(allowed(limiter, "192.0.2.1", 100, start + 1h), 5) << "a bucket holds no more than its burst";
}

TEST(RateLimiter, one_bucket_per_24_and_per_64) {
    RateLimiter limiter({.rate = 100000, .rate_per_prefix = 1, .burst_per_prefix = 2}, 1);
    EXPECT_EQ(allowed(limiter, "192.0.2.1", 1, start) + allowed(limiter, "192.0.2.200", 9, start), 2);
    EXPECT_EQ(allowed(limiter, "192.0.3.1", 9, start), 2);
    EXPECT_EQ(allowed(limiter, "2001:db8::1", 1, start) + allowed(limiter, "2001:db8::ffff:0:0:1", 9, start),
              2);
    EXPECT_EQ(allowed(limiter, "2001:db8:0:1::1", 9, start), 2);
}

TEST(RateLimiter, families_do_not_share_a_bucket) {
    RateLimiter limiter({.rate = 1'000'000, .rate_per_prefix = 1000, .burst_per_prefix = 1}, 1);
    // The same numbers of both families; a thousandth of them meet in one set.
    for (uint32_t net = 1; net <= 20000; net++) {
        const Clock::time_point now = start + 10us * net;
        uint8_t six[16] = {};
        six[6] = static_cast<uint8_t>(net >> 8), six[7] = static_cast<uint8_t>(net);
        ASSERT_TRUE(limiter.allow(IpAddress::v4(net << 8), now));
        ASSERT_TRUE(limiter.allow(IpAddress::v6(six), now)) << net;
    }
}

TEST(RateLimiter, one_for_all) {
    RateLimiter limiter({.rate = 100, .rate_per_prefix = 10, .burst_per_prefix = 10}, 1);
    int count = 0;
    for (int net = 0; net < 200; net++)
        count += allowed(limiter, "10." + std::to_string(net) + ".0.1", 1, start);
    EXPECT_EQ(count, 10) << "a tenth of a second's worth at once";
    count = 0;
    for (int ms = 1; ms <= 1000; ms++)
        count += allowed(limiter, "10." + std::to_string(ms % 200) + ".1.1", 1, start + 1ms * ms);
    EXPECT_EQ(count, 100);
}

TEST(RateLimiter, a_flood_to_one_prefix_leaves_the_others_theirs) {
    RateLimiter limiter({.rate = 100, .rate_per_prefix = 5, .burst_per_prefix = 5}, 1);
    EXPECT_EQ(allowed(limiter, "192.0.2.1", 100000, start), 5);
    EXPECT_EQ(allowed(limiter, "198.51.100.1", 10, start), 5);
}

TEST(RateLimiter, spoofed_sources_neither_grow_it_nor_pass_the_limit_for_all) {
    RateLimiter limiter({.rate = 1000, .rate_per_prefix = 1, .burst_per_prefix = 1}, 99);
    int count = 0;
    for (uint32_t source = 0; source < 1'000'000; source++)
        count += limiter.allow(IpAddress::v4(source << 8), start + 1us * source);
    // The burst of 100, and 1,000 in the second that this lasts.
    EXPECT_GE(count, 1098);
    EXPECT_LE(count, 1101);
}

TEST(RateLimiter, eviction_takes_the_bucket_with_least_to_remember) {
    const config::Icmp slow{.rate = 1'000'000, .rate_per_prefix = 1, .burst_per_prefix = 1};
    const config::Icmp fast{.rate = 1'000'000, .rate_per_prefix = 1000, .burst_per_prefix = 1};
    RateLimiter limiter(slow, 5);
    EXPECT_TRUE(limiter.allow(ip("192.0.2.1"), start));  // full again in a second
    limiter.set_limits(fast);
    // Five times as many as there is room for, each full again in a millisecond.
    constexpr uint32_t flood = 5 * RateLimiter::sets * RateLimiter::ways;
    for (uint32_t i = 0; i < flood; i++)
        ASSERT_TRUE(limiter.allow(IpAddress::v4(0x20000000 + (i << 8)), start + 10us * i)) << i;
    limiter.set_limits(slow);
    EXPECT_FALSE(limiter.allow(ip("192.0.2.1"), start + 10us * flood));
}

TEST(RateLimiter, zero_means_none) {
    RateLimiter no_rate({.rate = 0, .rate_per_prefix = 10, .burst_per_prefix = 10}, 1);
    EXPECT_EQ(allowed(no_rate, "192.0.2.1", 10, start), 0);
    RateLimiter no_prefix({.rate = 10, .rate_per_prefix = 0, .burst_per_prefix = 10}, 1);
    EXPECT_EQ(allowed(no_prefix, "192.0.2.1", 10, start), 0);
    RateLimiter no_burst({.rate = 10, .rate_per_prefix = 10, .burst_per_prefix = 0}, 1);
    EXPECT_EQ(allowed(no_burst, "192.0.2.1", 10, start), 0);
}

TEST(RateLimiter, limits_change_while_it_runs) {
    RateLimiter limiter({.rate = 100000, .rate_per_prefix = 1, .burst_per_prefix = 1}, 1);
    EXPECT_EQ(allowed(limiter, "192.0.2.1", 10, start), 1);
    limiter.set_limits({.rate = 100000, .rate_per_prefix = 100, .burst_per_prefix = 20});
    EXPECT_EQ(allowed(limiter, "192.0.2.1", 100, start + 1s), 20);
}

}  // namespace
}  // namespace pktpit::router::test
