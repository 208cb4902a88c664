// SPDX-License-Identifier: BSD-3-Clause
/// What every lookup must answer, found in a way that no peer shares: the table flattened to ranges of
/// addresses with one answer each, and a binary search. Read-only after construction; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/fib/table.h"

namespace pktpit::bench::fib {

class Oracle {
  public:
    explicit Oracle(const Table& table);
    /// Group of the longest matching prefix, 0 if there is none.
    [[nodiscard]] uint32_t look_up(const IpAddress& address) const;

  private:
    using Number = unsigned __int128;  ///< an address, most significant bits first
    static Number number_of(const IpAddress& address);
    void begin_range(Number first, uint32_t group);

    std::vector<Number> firsts_;  ///< where each range begins, ascending; the first at 0
    std::vector<uint32_t> groups_;
};

}  // namespace pktpit::bench::fib
