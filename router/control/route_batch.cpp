// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/route_batch.h"

#include <algorithm>

namespace pktpit::router {

bool RouteBatch::concerns(const VrfPrefix& place) const {
    const auto at = std::ranges::lower_bound(changes_, place, {}, &Change::place);
    return at != changes_.end() && at->place == place;
}

bool RouteBatch::begin_change() {
    const std::lock_guard lock(mutex_);
    if (ended_) return false;
    working_ = true;
    return true;
}

void RouteBatch::end_change() {
    const std::lock_guard lock(mutex_);
    working_ = false;
    idle_.notify_all();
}

void RouteBatch::carry_out() {
    for (auto& change : changes_) {
        if (!begin_change()) return;
        change.begun = true;
        try {
            if (change.remove) change.removed = writer_.remove(change.table, change.place.prefix);
            if (change.add) change.added = writer_.add(*change.add);
            if (change.former)
                if (auto gone = writer_.remove_former(change.table, change.place.prefix); !gone)
                    change.removed = std::move(gone);
            if (change.add && change.added)
                change.behind = writer_.goes_before(change.table, change.place.prefix);
            change.done = true;
        } catch (...) {
            end_change();
            throw;
        }
        end_change();
    }
}

void RouteBatch::end() {
    std::unique_lock lock(mutex_);
    ended_ = true;
    idle_.wait(lock, [this] { return !working_; });
}

}  // namespace pktpit::router
