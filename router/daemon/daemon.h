/// pktpitd: puts kernel, configuration, routing core, slow path, dataplane and API together. One thread owns
/// all of it (EventLoop); the API's threads hand their calls over.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "config/config.h"
#include "router/api/control.h"
#include "router/daemon/cli_routes.h"
#include "router/daemon/event_loop.h"
#include "router/daemon/hot_ports.h"
#include "router/daemon/kernel_routes.h"
#include "router/daemon/observations.h"
#include "router/daemon/ports.h"
#include "router/daemon/slow_path_environment.h"
#include "router/daemon/static_routes.h"
#include "router/dataplane/dataplane.h"
#include "router/kernel/kernel_state.h"
#include "router/routing/route_counters.h"
#include "router/routing/routing.h"
#include "router/slow_path/slow_path.h"

namespace pktpit::router {

class Daemon : public Control, public KernelListener {
  public:
    /// Takes over what runs or starts afresh, and forwards by this configuration when it returns. On an error
    /// what ran before goes on running.
    static tl::expected<std::unique_ptr<Daemon>, config::Errors> start(EventLoop& loop,
                                                                       const config::Config& config,
                                                                       const std::string& config_path,
                                                                       const OpenKernel& open_kernel);
    ~Daemon() override;

    /// What the end of the daemon leaves: forwarding as it is, or nothing.
    void leave_running(bool leave) {
        dataplane_->leave_running(leave);
        ports_->leave_running(leave);
    }
    void forget_cli_routes() const { cli_routes_->forget(); }

    nlohmann::json version() override;
    nlohmann::json ports() override;
    nlohmann::json routes(const RouteQuery& query) override;
    nlohmann::json route_to(const IpAddress& address) override;
    nlohmann::json lookup(const std::vector<IpAddress>& addresses) override;
    nlohmann::json neighbours() override;
    nlohmann::json counters() override;
    nlohmann::json latency() override;
    nlohmann::json workers() override;
    nlohmann::json offload() override;
    nlohmann::json offload_entries() override;
    nlohmann::json running_config() override;
    Result<std::shared_ptr<ObservationStream>> observe(const ObservationRequest& request) override {
        return observations_->begin(request);
    }
    Result<nlohmann::json> change_route(RouteEdit change, const config::StaticRoute& route) override;
    tl::expected<nlohmann::json, config::Errors> reload(const std::optional<std::string>& path,
                                                        bool dry_run) override;

  private:
    [[nodiscard]] nlohmann::json with_model(nlohmann::json body) const;
    Daemon(EventLoop& loop, std::string config_path) : loop_(loop), config_path_(std::move(config_path)) {}
    Result<void> open(const config::Config& config, const OpenKernel& open_kernel);
    void watch();

    // apply.cpp
    /// Settings that only a restart can change, and that differ.
    [[nodiscard]] config::Errors fixed_settings(const config::Config& wanted) const;
    tl::expected<void, config::Errors> apply(const config::Config& wanted, bool first);
    Result<void> apply_steps(const config::Config& wanted, const WantedRoutes& routes, bool first,
                             Transaction& transaction);
    Result<void> apply_interfaces(const config::Config& wanted, Transaction& transaction);
    Result<void> make_device(const config::Interface& interface);
    Result<void> apply_neighbours(const config::Config& wanted, Transaction& transaction);
    Result<void> take_over(const config::Config& wanted);
    void release_route_counters();

    // events.cpp
    void link_changed(const LinkEvent& link, const LinkEvent* before) override;
    void link_removed(const LinkEvent& link) override;
    void address_changed(const AddressEvent& address) override;
    void address_removed(const AddressEvent& address) override;
    void neighbour_changed(const NeighbourEvent& neighbour) override;
    void neighbour_removed(const NeighbourEvent& neighbour) override;
    void resolve(InterfaceId interface, const IpAddress& address);
    void set_static_neighbours(InterfaceId interface);
    void refresh_host_addresses();
    void punted(const pp_punt& punt, std::span<uint8_t> frame);
    void tick();

    EventLoop& loop_;
    std::string config_path_;
    config::Config config_;
    uint64_t generation_ = 0;
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
    uint64_t ticks_ = 0;

    // In order of construction: each needs those above it.
    std::unique_ptr<Kernel> kernel_;
    std::unique_ptr<KernelState> state_;
    std::unique_ptr<Dataplane> dataplane_;
    std::unique_ptr<RouteCounters> route_counters_;
    std::unique_ptr<fib::FibImage> image_;
    std::unique_ptr<HotPorts> hot_ports_;
    std::unique_ptr<Routing> routing_;
    std::unique_ptr<DaemonEnvironment> environment_;
    std::unique_ptr<SlowPath> slow_path_;
    std::unique_ptr<Ports> ports_;
    std::unique_ptr<KernelRoutes> kernel_routes_;
    std::unique_ptr<CliRoutes> cli_routes_;
    std::unique_ptr<Observations> observations_;
    std::set<IpAddress> host_addresses_;  ///< of devices that are none of the router's interfaces
};

}  // namespace pktpit::router
