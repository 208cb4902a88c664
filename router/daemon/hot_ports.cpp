// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/hot_ports.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace pktpit::router {
namespace {

using nlohmann::json;

constexpr size_t ticks_remembered = 20;

double rounded(double value) {
    return std::round(value * 10) / 10;
}

}  // namespace

HotPorts::Moment HotPorts::now(const Names& ports) const {
    Moment moment{{}, routes_.counts()};
    for (const auto& [name, id] : ports)
        moment.ports.emplace(name, dataplane_.decided(id));
    return moment;
}

void HotPorts::tick(const Names& ports) {
    PortStages* stages = dataplane_.port_stages();
    const bool any = stages && std::ranges::any_of(ports, [this](const auto& port) {
                         return dataplane_.forwarding(port.second) == "auto";
                     });
    if (!any) {
        moments_.clear();
        if (routes_.size() != 0) routes_.clear();
        routes_.hold_all(false);
        return;
    }
    moments_.push_back(now(ports));
    if (moments_.size() > ticks_remembered + 1) moments_.pop_front();
    stages->collect_traffic(choice_);
    const bool whole = whole_table_fits();
    if (!whole) routes_.hold_all(false);
    // Set before the first block comes in, or all, and for one tick.
    stages->guard_order(choice_.promotes_now() || whole != routes_.holds_all());
    routes_.hold_all(whole);
    choice_.tick();
}

// A table about as large as the budget does not come and go with each route.
bool HotPorts::whole_table_fits() const {
    const size_t budget = routes_.budget();
    return whole_table_ && routes_.prefixes() <= (routes_.holds_all() ? budget : budget - budget / 8);
}

void HotPorts::set_offload(const config::Offload& wanted) {
    routes_.set_budget(wanted.fib_entries);
    whole_table_ = wanted.whole_table && wanted.fib_entries != 0;
}

json HotPorts::show(const Names& known) const {
    const Moment latest = moments_.empty() ? now(known) : moments_.back();
    const Moment& earliest = moments_.empty() ? latest : moments_.front();
    json ports = json::array();
    const double seconds =
        std::max<double>(2, static_cast<double>(moments_.size())) * HotChoice::tick_seconds -
        HotChoice::tick_seconds;
    double all_stage = 0, all_loop = 0;
    for (const auto& [name, id] : known) {
        const auto newest = latest.ports.find(name);
        if (newest == latest.ports.end()) continue;  // it has just come
        const Dataplane::Decided& last = newest->second;
        const auto first = earliest.ports.find(name);
        const Dataplane::Decided begin = first == earliest.ports.end() ? last : first->second;
        // Counters that were reset meanwhile have nothing to tell.
        const auto grown = [](uint64_t to, uint64_t from) {
            return to > from ? static_cast<double>(to - from) : 0.0;
        };
        const double stage = grown(last.by_stage, begin.by_stage);
        const double loop = grown(last.by_loop, begin.by_loop);
        const auto mode = dataplane_.forwarding(id);
        ports.push_back({{"name", name},
                         {"forwarding", mode},
                         {"inline_packets", last.by_stage},
                         {"split_packets", last.by_loop},
                         {"inline_rate", rounded(stage / seconds)},
                         {"split_rate", rounded(loop / seconds)},
                         {"hit_rate", stage + loop > 0 ? json(stage / (stage + loop)) : json()}});
        if (mode != "auto") continue;
        all_stage += stage;
        all_loop += loop;
    }
    const auto churn = [&](uint64_t to, uint64_t from) {
        return json{{"total", to}, {"rate", rounded(static_cast<double>(to - from) / seconds)}};
    };
    return {{"whole_table", routes_.holds_all()},
            {"entries", routes_.holds_all() ? routes_.prefixes() : routes_.size()},
            {"budget", routes_.budget()},
            {"hit_rate", all_stage + all_loop > 0 ? json(all_stage / (all_stage + all_loop)) : json()},
            {"promoted", churn(latest.counts.promoted, earliest.counts.promoted)},
            {"evicted", churn(latest.counts.evicted, earliest.counts.evicted)},
            {"invalidated", churn(latest.counts.invalidated, earliest.counts.invalidated)},
            {"ports", std::move(ports)}};
}

json HotPorts::show_entries() {
    std::vector<std::pair<double, Prefix>> blocks;
    routes_.for_each([&](const Prefix& block, const HotBlock& state) {
        blocks.emplace_back(choice_.rate_of(state), block);
    });
    std::ranges::sort(blocks, [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    json entries = json::array();
    for (const auto& [rate, block] : blocks)
        entries.push_back({{"prefix", block.to_string()}, {"rate", rounded(rate)}});
    return {{"entries", std::move(entries)}};
}

}  // namespace pktpit::router
