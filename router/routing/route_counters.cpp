// SPDX-License-Identifier: BSD-3-Clause
#include "router/routing/route_counters.h"

#include "bpf/abi.h"

namespace pktpit::router {

RouteCounters::RouteCounters(RouteCounterStore& store) : store_(store), taken_(PP_ROUTE_COUNTERS) {
    taken_[0] = true;
    for (const auto& [route, counter] : store.known()) {
        if (taken_[counter]) continue;
        taken_[counter] = true;
        counters_.emplace(route, counter);
    }
}

Result<uint16_t> RouteCounters::acquire(const CountedRoute& route) {
    if (const auto known = counters_.find(route); known != counters_.end()) return known->second;
    if (counters_.size() == PP_ROUTE_COUNTERS - 1)
        return fail(route.prefix.to_string(), "no route counter left",
                    "at most " + std::to_string(PP_ROUTE_COUNTERS - 1) + " counted routes",
                    "count fewer routes");
    do
        last_ = static_cast<uint16_t>((last_ + 1) % PP_ROUTE_COUNTERS);
    while (taken_[last_]);
    store_.clear(last_);
    if (auto noted = store_.remember(route, last_); !noted) return tl::unexpected(noted.error());
    taken_[last_] = true;
    counters_.emplace(route, last_);
    return last_;
}

void RouteCounters::release_unused(const InUse& in_use) {
    for (auto at = counters_.begin(); at != counters_.end();) {
        if (in_use(at->first, at->second)) {
            ++at;
            continue;
        }
        store_.forget(at->first);
        taken_[at->second] = false;
        by_daemon_.erase(at->second);
        at = counters_.erase(at);
    }
}

RouteCount RouteCounters::read(uint16_t counter) const {
    RouteCount count = store_.read(counter);
    if (const auto more = by_daemon_.find(counter); more != by_daemon_.end()) {
        count.packets += more->second.packets;
        count.bytes += more->second.bytes;
    }
    return count;
}

void RouteCounters::add(uint16_t counter, uint64_t bytes) {
    RouteCount& count = by_daemon_[counter];
    count.packets++;
    count.bytes += bytes;
}

}  // namespace pktpit::router
