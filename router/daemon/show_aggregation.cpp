// SPDX-License-Identifier: BSD-3-Clause
// GET /v1/aggregation: groups whose vectors the router adds, and their workers.
#include <nlohmann/json.hpp>

#include "router/daemon/daemon.h"

namespace pktpit::router {
namespace {

using nlohmann::json;

json worker_json(const AggregationState::Worker& worker, const Ports& ports) {
    json out = {{"address", worker.address}, {"joined", worker.joined}, {"lost", worker.lost},
                {"packets", worker.packets}, {"again", worker.again},   {"last", worker.last},
                {"silent_ms", nullptr},      {"port", nullptr}};
    if (worker.joined) out["silent_ms"] = worker.silent_ms;
    for (const auto& [name, port] : ports.all())
        if (worker.port != 0 && port.port == worker.port && !port.config.parent) out["port"] = name;
    return out;
}

}  // namespace

json Daemon::aggregation() {
    json groups = json::object();
    const PortStages* stages = dataplane_->port_stages();
    if (!stages) return {{"groups", groups}};
    for (const AggregationState& group : stages->aggregation()) {
        json one = {
            {"udp_port", group.udp_port}, {"type", group.type},
            {"running", group.running},   {"epoch", group.running ? json(group.epoch) : json(nullptr)},
            {"slots", group.slots},       {"slots_in_use", group.slots_in_use},
            {"chunks", group.chunks},     {"chunks_per_second", group.chunks_per_second},
            {"answered", group.answered}, {"drops", json::object()},
            {"workers", json::array()}};
        for (const auto& [why, count] : group.drops)
            one["drops"][why] = count;
        for (const auto& worker : group.workers)
            one["workers"].push_back(worker_json(worker, control_->ports()));
        groups[group.name] = std::move(one);
    }
    return {{"groups", std::move(groups)}};
}

}  // namespace pktpit::router
