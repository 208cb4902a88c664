// SPDX-License-Identifier: BSD-3-Clause
// The filters of a configuration: compiled already, they are bound to the interfaces that there are now, and
// replace those in force at once. A filter whose rules stay goes on counting.
#include <algorithm>

#include "router/control/control_plane.h"

namespace pktpit::router {
namespace {

using Counts = std::vector<pp_filter_counters>;

/// The first place for `size` counters between those taken; 0: there is none.
uint32_t place_for(uint32_t size, std::vector<std::pair<uint32_t, uint32_t>> taken) {
    std::ranges::sort(taken);
    uint32_t at = 1;  // 0 is none
    for (const auto& [first, count] : taken) {
        if (first >= at + size) break;
        at = std::max(at, first + count);
    }
    return at + size <= filter_counter_space ? at : 0;
}

}  // namespace

/// Filters that stay keep their counters; others get such as nobody has, of the running ones neither.
Result<void> ControlPlane::number_filters(const config::Config& wanted, RunningFilters& next) const {
    std::vector<std::pair<uint32_t, uint32_t>> taken;
    if (filters_.set.compiled)
        for (const auto& [name, one] : filters_.set.compiled->filters)
            taken.emplace_back(filters_.set.first_counter.at(name), one.rules + 1);
    for (const auto& [name, one] : next.set.compiled->filters) {
        const auto running = filters_.set.first_counter.find(name);
        const bool stays = running != filters_.set.first_counter.end() &&
                           config_.filters.at(name) == wanted.filters.at(name);
        const uint32_t first = stays ? running->second : place_for(one.rules + 1, taken);
        if (first == 0)
            return fail("/filters", "no room for the counters of " + name + " beside those in use",
                        "fewer rules", "take the old filters off first, by a reload of its own");
        if (!stays) taken.emplace_back(first, one.rules + 1);
        next.set.first_counter[name] = first;
        next.set.counters = std::max(next.set.counters, first + one.rules + 1);
        next.before[name] =
            stays ? filters_.before.at(name) : dataplane_.filter_counters(first, one.rules + 1);
    }
    return {};
}

Result<void> ControlPlane::apply_filters(const config::Config& wanted, const WantedRoutes& routes,
                                         Transaction& transaction) {
    RunningFilters next;
    for (const auto& [name, interface] : wanted.interfaces) {
        if (interface.filter_in.empty() && interface.filter_out.empty()) continue;
        const L3Interface* on = routing_.interfaces().by_name(name);
        if (on) next.set.interfaces.push_back({on->id, on->port, interface.filter_in, interface.filter_out});
    }
    const auto same_rules = [&](const FilterSet::Interface& one) {
        const auto same = [&](const std::string& name) {
            const auto running = config_.filters.find(name);
            return name.empty() ||
                   (running != config_.filters.end() && running->second == wanted.filters.at(name));
        };
        return same(one.in) && same(one.out);
    };
    if (next.set.interfaces == filters_.set.interfaces &&
        std::ranges::all_of(next.set.interfaces, same_rules))
        return {};
    if (!next.set.interfaces.empty()) {
        next.set.compiled = routes.filters;
        if (auto numbered = number_filters(wanted, next); !numbered) return numbered;
    }
    auto done = transaction.make(
        "/filters", [&] { return dataplane_.set_filters(next.set); },
        [this, before = filters_] {
            filters_ = before;
            return dataplane_.set_filters(before.set);
        });
    if (done) filters_ = std::move(next);
    return done;
}

Counts ControlPlane::filter_counts(const std::string& name) const {
    const auto first = filters_.set.first_counter.find(name);
    if (first == filters_.set.first_counter.end()) return {};
    const Counts& before = filters_.before.at(name);
    Counts now = dataplane_.filter_counters(first->second, static_cast<uint32_t>(before.size()));
    for (size_t i = 0; i < now.size(); i++) {
        now[i].packets -= before[i].packets;
        now[i].bytes -= before[i].bytes;
    }
    return now;
}

}  // namespace pktpit::router
