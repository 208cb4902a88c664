// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/daemon.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/daemon/hash_seed.h"
#include "router/daemon/open_dataplane.h"
#include "router/dataplane/listening_warnings.h"
#include "router/dataplane/run_directory.h"
#include "router/kernel/netlink_route_writer.h"

namespace pktpit::router {
namespace {

constexpr std::chrono::milliseconds tick_period{100};

fib::Capacity capacity_of(const config::FibLimits& limits) {
    fib::Capacity capacity;
    capacity.ports = PP_MAX_PORTS;
    fib::set_table_memory(capacity, limits.table_memory_mib);
    capacity.groups = limits.next_hop_groups;
    // Members of unequal weight, or three of equal, take up to 256 buckets; few groups have several members.
    capacity.buckets = std::max<uint32_t>(capacity.buckets, limits.next_hop_groups * 32);
    capacity.adjacencies = limits.adjacencies;
    capacity.tables = 1024;  // two for each of the 256 VRFs that there may be, and the default one's three
    return capacity;
}

}  // namespace

Result<std::unique_ptr<Daemon>> Daemon::open(EventLoop& loop, const Prepared& prepared,
                                             const OpenKernel& open_kernel, KeeperLink keeper) {
    std::unique_ptr<Daemon> daemon(new Daemon(loop, prepared.file));
    if (auto ready = daemon->set_up(prepared.config, open_kernel, std::move(keeper)); !ready)
        return tl::unexpected(ready.error());
    daemon->take_reloads(prepared.config);
    return daemon;
}

tl::expected<void, config::Errors> Daemon::begin(const Prepared& prepared) {
    auto services = services_->open(prepared.config);
    if (!services) return tl::unexpected(config::Errors{services.error()});
    if (auto applied = control_->apply(prepared.config, prepared.routes, true); !applied)
        return tl::unexpected(applied.error().all());
    services_->commit(std::move(*services));
    applied();
    wait_for_confirmation(prepared);
    kept(saved_files_->add(prepared.file, prepared.text, *until_confirmed_), *until_confirmed_);
    warn_of_nftables();
    watch();
    return {};
}

Result<void> Daemon::set_up(const config::Config& config, const OpenKernel& open_kernel, KeeperLink keeper) {
    auto kernel = open_kernel(RouteFilter{.of_devices = true});
    if (!kernel) return tl::unexpected(kernel.error());
    kernel_ = std::move(*kernel);
    auto dataplane = open_dataplane(
        config, capacity_of(config.fib),
        [this](const pp_punt& punt, std::span<uint8_t> frame) {
            // Traced by the port stage already, which has finished it.
            if (punt.copy != 0)
                slow_path_->redirect(punt.port, frame, Clock::now());
            else if (punt.verdict == PP_FORWARDED)
                slow_path_->send_for_stage(punt.port, frame);
            else
                observations_->handle(punt, frame);
        },
        std::move(keeper));
    if (!dataplane) return tl::unexpected(dataplane.error());
    dataplane_ = std::move(*dataplane);
    kernel_report_.begin(config);
    auto writer = NetlinkRouteWriter::open(route_metric_of(config.instance));
    if (!writer) return tl::unexpected(writer.error());
    route_writer_ = std::move(*writer);
    const HashSeed seed = instance_hash_seed(run_path(config.instance, ".hash_seed"));
    if (seed.not_kept) spdlog::warn("{}", seed.not_kept->to_string());
    auto control =
        ControlPlane::make({*kernel_, *dataplane_, switches_, *this, loop_, open_kernel,
                            run_path(config.instance, ".routes.json"), run_path(config.instance, ".state"),
                            [this] { return loop_.asked_to_stop(); }, seed.value, route_writer_.get(),
                            fpm_listen, config.instance});
    if (!control) return tl::unexpected(control.error());
    control_ = std::move(*control);
    Routing& routing = control_->routing();
    hot_ports_ = std::make_unique<HotPorts>(control_->image(), control_->hot_table(), *dataplane_);
    routing.set_hot_routes(hot_ports_->routes());
    environment_ = std::make_unique<DaemonEnvironment>(*control_, control_->prober(), *dataplane_,
                                                       control_->route_counters());
    slow_path_ = std::make_unique<SlowPath>(*environment_, config.icmp, config.neighbour_queue,
                                            config.neighbours_unresolved);
    redirects_ = config.icmp.redirects;
    sflow_ = std::make_unique<SflowExporter>(
        SflowExporter::Sources{[this](uint16_t port) { return dataplane_->counters(port); },
                               [this](uint16_t port) { return dataplane_->lost_observations(port); }},
        started_);
    observations_ =
        std::make_unique<Observations>(*dataplane_, routing, control_->ports(), *slow_path_, *environment_);
    services_ = std::make_unique<TcpServices>(loop_, *this);
    saved_files_ = std::make_shared<SavedConfigs>(saved_configs_path(config.instance));
    return control_->read_kernel();
}

void Daemon::watch() {
    loop_.watch(kernel_->descriptor(), [this] {
        if (auto followed = control_->follow_kernel(); !followed)
            spdlog::warn("netlink: {}; reading everything again", followed.error().to_string());
    });
    loop_.watch(dataplane_->descriptor(), [this] { dataplane_->poll(); });
    loop_.on_tick(tick_period, [this] { tick(); });
}

Daemon::~Daemon() = default;

void Daemon::take_down() {
    if (PortStages* stages = dataplane_->port_stages()) stages->take_down();
    if (OwnDevices* devices = dataplane_->own_devices()) devices->take_down();
    control_->take_down();
    control_->forget_cli_routes();
}

void Daemon::applied() {
    refresh_sflow();
    observations_->ports_changed();
    hot_ports_->set_offload(control_->config().offload);
    spdlog::set_level(spdlog::level::from_str(control_->config().log_level));
    const auto usage = control_->image().usage();
    spdlog::info("configuration {} applied: {} interfaces, {} IPv4 and {} IPv6 prefixes in the FIB",
                 control_->generation(), control_->config().interfaces.size(), usage.prefixes4,
                 usage.prefixes6);
    for (const Error& warning : listening_warnings(control_->config()))
        spdlog::warn("{}", warning.to_string());
}

void Daemon::refresh_sflow() {
    SflowExporter::Ports ports;
    for (const auto& [name, port] : control_->ports().all()) {
        if (port.config.parent) continue;
        const L3Interface* interface = control_->routing().interfaces().find(port.interface);
        ports[port.port] = {port.ifindex, interface && interface->up, port.config.sample};
    }
    const bool changed = ports != sflow_->ports();
    sflow_->set_ports(std::move(ports));
    const config::Sflow& wanted = control_->config().sflow;
    const bool other = sflow_->settings() != wanted;
    if (auto done = sflow_->configure(wanted); !done) spdlog::error("{}", done.error().to_string());
    if (!changed && !other) return;
    if (auto done = observations_->sample(*sflow_); !done)
        spdlog::error("/sflow: packets are not sampled: {}", done.error().to_string());
}

void Daemon::tick() {
    observations_->follow("packets have waited too long", [this] { slow_path_->tick(Clock::now()); });
    if (redirects_) dataplane_->copy_returning();
    dataplane_->tick();
    observations_->tick();
    refresh_sflow();
    sflow_->tick(std::chrono::steady_clock::now());
    hot_ports_->tick(control_->ports().names());
    control_->tick();
    go_back_if_due();
}

void Daemon::set_limits(const config::Icmp& icmp, uint32_t neighbour_queue, uint32_t neighbours_unresolved) {
    slow_path_->set_limits(icmp, neighbour_queue, neighbours_unresolved);
    redirects_ = icmp.redirects;
}

void Daemon::interface_gone(InterfaceId interface) {
    slow_path_->interface_gone(interface);
}

void Daemon::neighbour_resolved(const L3Interface& interface, const IpAddress& address) {
    observations_->follow("neighbour " + address.to_string() + " on " + interface.name + " is known",
                          [&] { slow_path_->neighbour_resolved(interface.id, address, Clock::now()); });
}

void Daemon::neighbour_failed(const L3Interface& interface, const IpAddress& address) {
    observations_->follow("neighbour " + address.to_string() + " on " + interface.name + " does not answer",
                          [&] { slow_path_->neighbour_failed(interface.id, address, Clock::now()); });
}

}  // namespace pktpit::router
