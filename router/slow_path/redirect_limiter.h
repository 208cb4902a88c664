// SPDX-License-Identifier: BSD-3-Clause
/// How many redirects a sender gets: a few, at growing distances, since one that has not changed its way
/// after those does not believe them. After a silence it may get them again. As Linux.
///
/// One thread. The table has a fixed size: senders that meet in it take each other's place, and get more.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "router/slow_path/rate_limiter.h"

namespace pktpit::router {

class RedirectLimiter {
  public:
    static constexpr unsigned most = 9;
    static constexpr Clock::duration first_distance = std::chrono::milliseconds(20);  ///< doubled each time
    static constexpr Clock::duration silence = std::chrono::seconds(20);
    static constexpr size_t size = 1024;

    /// `seed` spreads senders over the table; unpredictable outside tests.
    explicit RedirectLimiter(uint64_t seed) : seed_(seed), table_(size) {}
    /// May the sender get one now? It counts as sent if so.
    bool allow(const IpAddress& sender, uint16_t interface, Clock::time_point now);

  private:
    struct Entry {
        IpAddress sender;
        uint16_t interface = 0;  ///< 0: nobody's
        unsigned sent = 0;
        Clock::time_point last;  ///< when one was sent, or withheld because there had been `most`
    };

    uint64_t seed_;
    std::vector<Entry> table_;
};

}  // namespace pktpit::router
