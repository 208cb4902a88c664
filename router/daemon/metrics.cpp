// SPDX-License-Identifier: BSD-3-Clause
// GET /metrics: everything is read here in one go; making text of it is for another thread.
#include <nlohmann/json.hpp>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "router/daemon/daemon.h"
#include "router/daemon/metrics_reading.h"
#include "router/daemon/show_routes.h"

namespace pktpit::router {
namespace {

double cpu_seconds() {
    rusage used{};
    (void)getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& time) {
        return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::optional<uint64_t> resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    uint64_t size = 0, resident = 0;
    if (!(statm >> size >> resident)) return std::nullopt;
    return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

MetricsValues::PortValues Daemon::port_metrics(const std::string& name, const Ports::Port& port) const {
    const L3Interface& interface = *control_->routing().interfaces().find(port.interface);
    MetricsValues::PortValues values;
    values.name = name;
    values.forwarding = dataplane_->forwarding(port.port);
    if (port.attachment) values.mode = to_string(port.attachment->mode);
    values.sent_by = dataplane_->sent_by(port.port);
    values.up = interface.up;
    values.mtu = port.ifindex != 0 ? interface.mtu : 0;
    values.counters = dataplane_->counters(port.port);
    values.decided = dataplane_->decided(port.port);
    if (PortStages* stages = dataplane_->port_stages(); stages && values.forwarding != "inline")
        values.stand_in = stages->stand_in(port.port);
    values.latency = dataplane_->latency(port.port);
    if (const auto details = nic(port.port)) values.nic = details->statistics;
    return values;
}

std::unique_ptr<MetricsReading> Daemon::metrics() {
    MetricsValues values;
    const config::Config& config = control_->config();
    values.version = PKTPIT_VERSION;
    values.dataplane = config.dataplane;
    values.instance = config.instance;
    values.modelled = dataplane_->modelled();
    const std::chrono::duration<double> uptime = std::chrono::steady_clock::now() - started_;
    const std::chrono::duration<double> now = std::chrono::system_clock::now().time_since_epoch();
    values.start_time = now.count() - uptime.count();
    values.cpu_seconds = cpu_seconds();
    values.resident_bytes = resident_bytes();
    values.generation = control_->generation();
    values.reloads_applied = reload_counts_.applied;
    values.reloads_refused = reload_counts_.refused;
    values.last_reload_good = reload_counts_.last_good;
    values.events = control_->events().last();
    for (const auto& [name, port] : control_->ports().all())
        if (!port.config.parent) values.ports.push_back(port_metrics(name, port));
    for (const auto& [name, count] : slow_path_->counters())
        values.slow_path.emplace_back(name, count);
    PortStages* stages = dataplane_->port_stages();
    values.slow_path.emplace_back("malformed_punts", stages ? stages->malformed_punts() : 0);
    if (stages) values.aggregation = stages->aggregation();
    values.usage = control_->image().usage();
    values.geometry = control_->image().geometry();
    const Routing& routing = control_->routing();
    for (const VrfId vrf : routing.vrfs()) {
        const fib::Rib& rib = routing.rib(vrf);
        MetricsValues::VrfValues& one = values.vrfs.emplace_back();
        one.name = vrf_label(routing, vrf);
        for (size_t i = 0; i < fib::route_source_count; i++)
            one.routes[i] = rib.size(static_cast<fib::RouteSource>(i));
        one.prefixes4 = rib.size(Family::ipv4);
        one.prefixes6 = rib.size(Family::ipv6);
    }
    for (const auto& [route, counter] : control_->route_counters().all())
        if (const auto vrf = routing.vrf_by_table(route.table))
            values.routes.push_back({vrf_label(routing, *vrf), route.prefix.to_string(),
                                     std::string(fib::to_string(route.source)),
                                     control_->route_counters().read(counter)});
    for (const auto& [key, neighbour] : routing.adjacencies().neighbours())
        values.neighbours[std::string(to_string(neighbour.state))]++;
    values.kernel = control_->kernel_routes_status();
    if (config.fpm.enabled) {
        const auto told = control_->fpm_routes().show();
        values.fpm = {!told["peer"].is_null(),
                      told["routes4"].get<uint64_t>(),
                      told["routes6"].get<uint64_t>(),
                      told["stale"].get<uint64_t>(),
                      told["counters"]["turns"].get<uint64_t>(),
                      told["counters"]["longest_turn_ms"].get<double>() * 1e-3};
    }
    values.turns = loop_.turns();
    values.workers = dataplane_->workers();
    const auto counts = hot_ports_->counts();
    values.offload = {hot_ports_->entries(), hot_ports_->routes().budget(), counts.promoted, counts.evicted,
                      counts.invalidated};
    return std::make_unique<DaemonMetrics>(std::move(values));
}

}  // namespace pktpit::router
