// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/oracle.h"

#include <algorithm>

namespace pktpit::bench::fib {

Oracle::Number Oracle::number_of(const IpAddress& address) {
    Number number = 0;
    for (const uint8_t byte : address.bytes)
        number = number << 8 | byte;
    return number;
}

void Oracle::begin_range(Number first, uint32_t group) {
    if (firsts_.back() == first) {
        groups_.back() = group;
    } else {
        firsts_.push_back(first);
        groups_.push_back(group);
    }
}

/// The routes come with every prefix behind those that contain it: a stack holds the prefixes that are open.
Oracle::Oracle(const Table& table) : firsts_{0}, groups_{0} {
    struct Open {
        Number last;
        uint32_t group;
    };
    std::vector<Open> open;
    const auto close_before = [&](Number first) {
        while (!open.empty() && open.back().last < first) {
            const Number last = open.back().last;
            open.pop_back();
            begin_range(last + 1, open.empty() ? 0 : open.back().group);
        }
    };
    const Number host_mask = table.family == Family::ipv4 ? (Number{1} << 96) - 1 : 0;
    for (const Route& route : table.routes) {
        const Number first = number_of(route.prefix.address);
        const Number last = number_of(route.prefix.last()) | host_mask;
        close_before(first);
        begin_range(first, route.group);
        open.push_back({last, route.group});
    }
    while (!open.empty() && open.back().last != ~Number{0}) {
        const Number last = open.back().last;
        open.pop_back();
        begin_range(last + 1, open.empty() ? 0 : open.back().group);
    }
}

uint32_t Oracle::look_up(const IpAddress& address) const {
    const auto after = std::upper_bound(firsts_.begin(), firsts_.end(), number_of(address));
    return groups_[static_cast<size_t>(after - firsts_.begin()) - 1];
}

}  // namespace pktpit::bench::fib
