// SPDX-License-Identifier: BSD-3-Clause
/// How many ICMP errors may leave: a token bucket per destination prefix (/24, /64) and one for all.
///
/// One thread. The table has a fixed size, so that spoofed sources cannot make it grow: a full set gives up
/// its fullest bucket, the one that has least to remember. What such an eviction forgives, the bucket for all
/// still holds back.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/address.h"
#include "config/config.h"

namespace pktpit::router {

using Clock = std::chrono::steady_clock;

/// A token bucket in one number (GCRA): the time at which the bucket will be full again.
class TokenBucket {
  public:
    struct Rate {
        Clock::duration interval{};  ///< one token's time; zero: never any token
        uint32_t burst = 0;          ///< tokens in a full bucket
    };
    static Rate rate(uint32_t per_second, uint32_t burst);

    [[nodiscard]] bool has_token(const Rate& rate, Clock::time_point now) const;
    void take(const Rate& rate, Clock::time_point now);
    [[nodiscard]] Clock::time_point full_at() const { return full_at_; }

  private:
    Clock::time_point full_at_ = Clock::time_point::min();
};

class RateLimiter {
  public:
    static constexpr size_t sets = 1024;
    static constexpr size_t ways = 4;

    /// `seed` spreads prefixes over the table; unpredictable outside tests.
    RateLimiter(const config::Icmp& limits, uint64_t seed);

    /// May an error go to this address now? Takes the tokens if so, none if not.
    bool allow(const IpAddress& destination, Clock::time_point now);
    void set_limits(const config::Icmp& limits);

  private:
    struct Entry {
        uint64_t prefix = 0;
        Family family = Family::ipv4;
        TokenBucket bucket;
    };
    using Set = std::array<Entry, ways>;

    TokenBucket::Rate rate_;
    TokenBucket::Rate prefix_rate_;
    TokenBucket all_;
    uint64_t seed_;
    std::vector<Set> table_;
};

}  // namespace pktpit::router
