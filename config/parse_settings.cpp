// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "config/draft.h"
#include "config/words.h"

namespace pktpit::config {

using nlohmann::json;

namespace {

/// Takes the value of `key` if the object has it; the default in `out` stays otherwise.
template <class T>
void take(const json& object, const char* key, T& out) {
    if (auto found = object.find(key); found != object.end()) out = found->get<T>();
}

void read_workers(const json& node, Workers& out) {
    take(node, "cpus", out.cpus);
    if (!out.cpus.empty()) out.count = static_cast<uint32_t>(out.cpus.size());
    take(node, "count", out.count);
    if (auto found = node.find("polling"); found != node.end())
        for (const Polling polling : {Polling::adaptive, Polling::busy, Polling::interrupt})
            if (to_string(polling) == *found) out.polling = polling;
}

}  // namespace

void read_settings(const json& document, Config& settings) {
    take(document, "instance", settings.instance);
    take(document, "dataplane", settings.dataplane);
    take(document, "log_level", settings.log_level);
    if (auto found = document.find("hash_seed"); found != document.end())
        settings.hash_seed = found->get<uint32_t>();
    take(document, "neighbour_queue", settings.neighbour_queue);
    take(document, "neighbours_unresolved", settings.neighbours_unresolved);
    if (auto found = document.find("vrfs"); found != document.end())
        for (const auto& [name, vrf] : found->items())
            settings.vrfs[name].table = vrf.at("table").get<uint32_t>();
    if (auto found = document.find("kernel_routes"); found != document.end()) {
        KernelRoutes& out = settings.kernel_routes;
        take(*found, "enabled", out.enabled);
        take(*found, "table", out.table);
        take(*found, "preference", out.preference);
        take(*found, "install", out.install);
        if (auto protocols = found->find("protocols"); protocols != found->end())
            for (const json& one : *protocols)
                out.protocols.push_back(one.is_string() ? one.get<std::string>() : one.dump());
    }
    if (auto found = document.find("routing"); found != document.end())
        take(*found, "resolve_via_default", settings.routing.resolve_via_default);
    if (auto found = document.find("icmp"); found != document.end()) {
        take(*found, "rate", settings.icmp.rate);
        take(*found, "rate_per_prefix", settings.icmp.rate_per_prefix);
        take(*found, "burst_per_prefix", settings.icmp.burst_per_prefix);
        take(*found, "redirects", settings.icmp.redirects);
    }
    if (auto found = document.find("fib"); found != document.end()) {
        take(*found, "table_memory_mib", settings.fib.table_memory_mib);
        take(*found, "next_hop_groups", settings.fib.next_hop_groups);
        take(*found, "adjacencies", settings.fib.adjacencies);
    }
    if (auto found = document.find("workers"); found != document.end())
        read_workers(*found, settings.workers);
    if (auto found = document.find("heartbeat"); found != document.end()) {
        take(*found, "worker_ms", settings.heartbeat.worker_ms);
        take(*found, "hold_s", settings.heartbeat.hold_s);
        if (auto loss = found->find("on_daemon_loss"); loss != found->end())
            settings.heartbeat.on_daemon_loss =
                by_word(loss->get<std::string>(), std::array{OnDaemonLoss::forward, OnDaemonLoss::kernel});
    }
    if (auto found = document.find("offload"); found != document.end()) {
        take(*found, "fib_entries", settings.offload.fib_entries);
        take(*found, "whole_table", settings.offload.whole_table);
    }
    take(document, "user", settings.user);
    take(document, "seccomp", settings.seccomp);
    if (auto found = document.find("api"); found != document.end()) {
        take(*found, "group", settings.api.group);
        take(*found, "connections_per_user", settings.api.connections_per_user);
        take(*found, "reload_from", settings.api.reload_from);
    }
    if (auto found = document.find("xdp"); found != document.end())
        take(*found, "dispatcher", settings.xdp_dispatcher);
}

}  // namespace pktpit::config
