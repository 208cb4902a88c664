#include "router/daemon/daemon.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "router/daemon/open_dataplane.h"
#include "router/dataplane/run_directory.h"

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
    return capacity;
}

}  // namespace

tl::expected<std::unique_ptr<Daemon>, config::Errors> Daemon::start(EventLoop& loop,
                                                                    const config::Config& config,
                                                                    const std::string& config_path,
                                                                    const OpenKernel& open_kernel) {
    std::unique_ptr<Daemon> daemon(new Daemon(loop, config_path));
    if (auto opened = daemon->open(config, open_kernel); !opened)
        return tl::unexpected(config::Errors{opened.error()});
    if (auto applied = daemon->apply(config, true); !applied) return tl::unexpected(applied.error());
    daemon->watch();
    return daemon;
}

Result<void> Daemon::open(const config::Config& config, const OpenKernel& open_kernel) {
    auto kernel = open_kernel(RouteFilter{});
    if (!kernel) return tl::unexpected(kernel.error());
    kernel_ = std::move(*kernel);
    auto dataplane =
        open_dataplane(config, capacity_of(config.fib),
                       [this](const pp_punt& punt, std::span<uint8_t> frame) { punted(punt, frame); });
    if (!dataplane) return tl::unexpected(dataplane.error());
    dataplane_ = std::move(*dataplane);
    route_counters_ = std::make_unique<RouteCounters>(dataplane_->route_counters());
    image_ = std::make_unique<fib::FibImage>(dataplane_->image_memory(), dataplane_->geometry(),
                                             dataplane_->reclamation());
    const auto port_table = image_->add_table();
    if (!port_table) return tl::unexpected(port_table.error());
    dataplane_->set_port_table(*port_table);
    const auto hot_table = image_->add_table();
    if (!hot_table) return tl::unexpected(hot_table.error());
    dataplane_->set_hot_table(*hot_table);
    hot_ports_ = std::make_unique<HotPorts>(*image_, *hot_table, *dataplane_);
    routing_ = std::make_unique<Routing>(
        *image_, [this](InterfaceId interface, const IpAddress& address) { resolve(interface, address); },
        [](const Error& error) { spdlog::error("route not installed: {}", error.to_string()); }, *port_table);
    routing_->set_hot_routes(hot_ports_->routes());
    environment_ = std::make_unique<DaemonEnvironment>(*routing_, *kernel_, *dataplane_, *route_counters_);
    slow_path_ = std::make_unique<SlowPath>(*environment_, config.icmp, config.neighbour_queue);
    state_ = std::make_unique<KernelState>(RouteFilter{}, *this);
    ports_ = std::make_unique<Ports>(*kernel_, *state_, *routing_, *dataplane_);
    kernel_routes_ = std::make_unique<KernelRoutes>(*routing_, loop_, open_kernel);
    cli_routes_ =
        std::make_unique<CliRoutes>(*routing_, *route_counters_, run_path(config.instance, ".routes.json"));
    observations_ =
        std::make_unique<Observations>(*dataplane_, *routing_, *ports_, *slow_path_, *environment_);
    auto dumped = kernel_->dump([this](const KernelEvent& event) { state_->consume(event); });
    state_->settle();
    return dumped;
}

void Daemon::watch() {
    loop_.watch(kernel_->descriptor(), [this] {
        if (auto followed = follow(*kernel_, *state_); !followed)
            spdlog::warn("netlink: {}; reading everything again", followed.error().to_string());
    });
    loop_.watch(dataplane_->descriptor(), [this] { dataplane_->poll(); });
    loop_.on_tick(tick_period, [this] { tick(); });
}

Daemon::~Daemon() = default;

}  // namespace pktpit::router
