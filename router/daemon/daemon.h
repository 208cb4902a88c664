// SPDX-License-Identifier: BSD-3-Clause
/// pktpitd: puts kernel, configuration, control plane, slow path, dataplane and API together. One thread owns
/// all of it (EventLoop); the API's threads hand their calls over.
#pragma once

#include <nlohmann/json.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "config/config.h"
#include "router/api/control.h"
#include "router/api/loop_call.h"
#include "router/control/control_plane.h"
#include "router/control/host_switches.h"
#include "router/daemon/event_loop.h"
#include "router/daemon/hot_ports.h"
#include "router/daemon/kernel_report.h"
#include "router/daemon/metrics_reading.h"
#include "router/daemon/observations.h"
#include "router/daemon/prepared.h"
#include "router/daemon/reloads.h"
#include "router/daemon/saved_configs.h"
#include "router/daemon/slow_path_environment.h"
#include "router/daemon/tcp_services.h"
#include "router/dataplane/dataplane.h"
#include "router/dataplane/keeper_link.h"
#include "router/slow_path/slow_path.h"

namespace pktpit::router {

class Daemon : public Control, private SlowPathControl {
  public:
    /// Everything that can be refused without a configuration's being touched: the instance, the dataplane's
    /// memory, what the kernel has. Nothing is changed; on an error what ran before goes on running.
    /// (`vfio` has to take NICs: what an earlier daemon's keeper held forwards no more.)
    static Result<std::unique_ptr<Daemon>> open(EventLoop& loop, const Prepared& prepared,
                                                const OpenKernel& open_kernel, KeeperLink keeper = {});
    /// Takes over what runs or starts afresh, and forwards by this configuration when it returns. Errors as
    /// of open(); also when the loop has been asked to stop meanwhile. Once.
    tl::expected<void, config::Errors> begin(const Prepared& prepared);
    ~Daemon() override;

    /// The end that was asked for: the destructor takes the data path down, devices become again what they
    /// were, and routes given by hand are forgotten. Without it forwarding goes on, where the dataplane can
    /// without the daemon.
    void take_down();

    nlohmann::json version() override;
    nlohmann::json ports() override;
    Begun routes(const RouteQuery& query) override;
    Begun all_routes(const RouteQuery& query) override;
    Begun routes_summary(const RouteQuery& query) override;
    nlohmann::json vrfs() override;
    nlohmann::json filters() override;
    std::unique_ptr<LongAnswer> next_hop_groups() override;
    Result<nlohmann::json> route_to(const AddressQuery& query) override;
    Result<nlohmann::json> lookup(const AddressQuery& query) override;
    nlohmann::json neighbours() override;
    nlohmann::json drift() override;
    nlohmann::json memory() override;
    nlohmann::json ignored_routes() override;
    nlohmann::json events(const uint64_t& after) override;
    nlohmann::json fpm() override;
    nlohmann::json aggregation() override;
    nlohmann::json counters() override;
    nlohmann::json latency() override;
    nlohmann::json workers() override;
    nlohmann::json offload() override;
    nlohmann::json offload_entries() override;
    nlohmann::json running_config() override;
    std::unique_ptr<MetricsReading> metrics() override;
    Result<std::shared_ptr<ObservationStream>> observe(const ObservationRequest& request) override {
        return observations_->begin(request);
    }
    Result<nlohmann::json> change_route(RouteEdit change, const config::StaticRoute& route) override;
    tl::expected<nlohmann::json, config::Errors> change_routes(
        RouteEdit change, const std::vector<config::StaticRoute>& routes) override;
    tl::expected<nlohmann::json, ReloadRefusal> reload(const ReloadOrder& order) override {
        return reloads_->reload(order);
    }
    Result<nlohmann::json> confirm() override;
    Result<nlohmann::json> configs(const ConfigsQuery& query) override;
    /// Of the file that was loaded last. Logs what became of it.
    void reload_soon(std::function<void()> done) { reloads_->reload_soon(std::move(done)); }
    /// False: a file is still being read, see Reloads.
    bool stop_reloads() {
        on_loop_.stop();
        return reloads_->stop();
    }
    /// The TCP ports answer no more.
    void stop_services() { services_->stop(); }

  private:
    /// Of the configuration that was applied last; the reloads' thread reads it, too.
    struct LastFile {
        std::mutex mutex;
        std::string path;
    };

    Daemon(EventLoop& loop, std::string config_path) : loop_(loop) {
        last_file_->path = std::move(config_path);
    }
    Result<void> set_up(const config::Config& config, const OpenKernel& open_kernel, KeeperLink keeper);
    void watch();
    /// Rules that forwarded packets do not meet are told of, once.
    static void warn_of_nftables();
    void take_reloads(const config::Config& config);
    Reloads::Answer apply(const Prepared& wanted, bool dry_run);
    [[nodiscard]] MetricsValues::PortValues port_metrics(const std::string& name,
                                                         const Ports::Port& port) const;
    void note_reload(bool good);
    // saved.cpp
    /// Of what has been applied: it waits to be confirmed, or does not.
    void wait_for_confirmation(const Prepared& applied);
    /// It is the newest of those that are kept, which took its time; or could not be kept. `back_to`: the
    /// number of that which comes back, if it waits.
    void kept(const Result<std::optional<uint64_t>>& back_to, bool waits);
    void go_back_if_due();
    /// The control plane has a new configuration.
    void applied();
    void tick();
    /// Collectors and ports of the configuration, for sFlow.
    void refresh_sflow();
    /// Who knows the protocols of FRR's routes.
    [[nodiscard]] std::function<std::optional<uint8_t>(const Prefix&)> protocols(
        const std::string& vrf) const;
    [[nodiscard]] Result<VrfId> vrf_of(const std::string& name) const;
    [[nodiscard]] nlohmann::json with_model(nlohmann::json body) const;
    [[nodiscard]] std::optional<NicDetails> nic(PortId port) const;

    // What the control plane tells the slow path.
    void set_limits(const config::Icmp& icmp, uint32_t neighbour_queue,
                    uint32_t neighbours_unresolved) override;
    void interface_gone(InterfaceId interface) override;
    void neighbour_resolved(const L3Interface& interface, const IpAddress& address) override;
    void neighbour_failed(const L3Interface& interface, const IpAddress& address) override;

    /// Calls that others post may come when it is gone.
    std::shared_ptr<Daemon*> here_ = std::make_shared<Daemon*>(this);
    EventLoop& loop_;
    std::shared_ptr<LastFile> last_file_ = std::make_shared<LastFile>();
    std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();

    // In order of construction: each needs those above it.
    std::unique_ptr<Kernel> kernel_;
    std::unique_ptr<RouteWriter> route_writer_;
    LinuxSwitches switches_;
    std::unique_ptr<Dataplane> dataplane_;
    KernelReport kernel_report_;
    std::unique_ptr<ControlPlane> control_;
    std::unique_ptr<HotPorts> hot_ports_;
    std::unique_ptr<DaemonEnvironment> environment_;
    std::unique_ptr<SlowPath> slow_path_;
    bool redirects_ = false;  ///< copies are wanted of packets that their senders could send better
    std::unique_ptr<SflowExporter> sflow_;
    std::unique_ptr<Observations> observations_;
    std::unique_ptr<Reloads> reloads_;
    std::unique_ptr<TcpServices> services_;
    std::shared_ptr<SavedConfigs> saved_files_;  ///< not the loop's: of the reloads' thread, and the API's
    std::shared_ptr<std::atomic<bool>> until_confirmed_ = std::make_shared<std::atomic<bool>>(false);
    std::optional<std::chrono::steady_clock::time_point> confirm_until_;
    std::optional<uint64_t> back_to_;  ///< number of the configuration that comes back then
    LoopCall on_loop_{[this](std::function<void()> work) { loop_.post(std::move(work)); },
                      std::chrono::seconds(10)};
    std::atomic<int64_t> confirm_by_ = 0;  ///< the same in seconds since 1970; 0: nothing waits
    struct {
        uint64_t applied = 0, refused = 0;
        bool last_good = true;
    } reload_counts_;
};

}  // namespace pktpit::router
