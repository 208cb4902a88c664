// SPDX-License-Identifier: BSD-3-Clause
/// What a RouteTable knows while it is compared with the kernel (RouteTable::begin_comparison()). The
/// kernel's routes come slowly, with events in between, and are older than the table by up to two pieces:
/// what an event has changed within these is not judged. What has been found, or was changed since the
/// beginning, carries the table's generation, so that what is missing is found without a second copy of the
/// table. Private to RouteTable.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "router/kernel/kernel.h"
#include "router/kernel/kernel_listener.h"

namespace pktpit::router {

struct RouteComparison {
    /// More than so many changes within a piece: the table is being written anew, and not compared.
    static constexpr size_t most_touched = 65'536;

    /// What events have changed between two ends of pieces.
    struct Window {
        std::set<Prefix> prefixes;
        std::set<uint32_t> nexthops;
        uint64_t edits = 0;  ///< RouteBodies::edits() at its beginning: each concerns any number of prefixes
    };
    /// All routes of one prefix, which come one after the other.
    struct Group {
        Prefix prefix;
        bool touched = false;
        std::vector<RouteEvent> routes;
    };
    /// What was not found is looked for, from `next` on.
    struct Missing {
        bool due = false;
        uint32_t next = 0;
    };

    Window before;  ///< the window before `now`
    Window now;
    std::optional<Group> group;  ///< that is coming
    Missing missing4;
    Missing missing6;
    bool ended = false;
    bool given_up = false;
    ComparisonResult result;

    void note(const Prefix& prefix, const char* what) {
        if (result.differences() == 0) result.first = prefix.to_string() + ": " + what;
        ++result.prefixes;
    }
    void note(uint32_t nexthop, const char* what) {
        if (result.differences() == 0)
            result.first = "nexthop object " + std::to_string(nexthop) + ": " + what;
        ++result.nexthops;
    }
};

}  // namespace pktpit::router
