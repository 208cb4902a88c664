// SPDX-License-Identifier: BSD-3-Clause
/// The control plane: what the configuration, the kernel and the CLI want, as interfaces, neighbours and
/// routes in the FIB image, and a new configuration as one transaction over all of it. What it talks to
/// (kernel, dataplane, switches, slow path, event loop) is handed to it, so that it is tested without root.
///
/// Used by the daemon, on its thread. It never waits but for those calls.
///
/// control_plane.cpp: putting it together. apply.cpp, apply_vrfs.cpp, apply_interfaces.cpp,
/// apply_filters.cpp, apply_guards.cpp: a configuration. events.cpp, device_routes.cpp: what the kernel says.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "fib/image.h"
#include "router/control/cli_routes.h"
#include "router/control/descriptor_watcher.h"
#include "router/control/drift.h"
#include "router/control/event_log.h"
#include "router/control/fpm_routes.h"
#include "router/control/host_switches.h"
#include "router/control/installed_routes.h"
#include "router/control/kernel_routes.h"
#include "router/control/neighbour_prober.h"
#include "router/control/ports.h"
#include "router/control/slow_path_control.h"
#include "router/control/static_routes.h"
#include "router/control/transaction.h"
#include "router/dataplane/dataplane.h"
#include "router/kernel/kernel.h"
#include "router/kernel/kernel_state.h"
#include "router/routing/route_counters.h"
#include "router/routing/routing.h"

namespace pktpit::router {

/// A configuration that was refused. All is as it was before, but for what is `left`.
struct Refusal {
    config::Errors errors;
    config::Errors left;  ///< what could not be undone
    /// Both.
    [[nodiscard]] config::Errors all() const;
};

class ControlPlane : private KernelListener {
  public:
    /// All of it lives longer.
    struct Environment {
        Kernel& kernel;
        Dataplane& dataplane;
        HostSwitches& switches;
        SlowPathControl& slow_path;
        DescriptorWatcher& watcher;
        OpenKernel open_kernel;        ///< for the kernel's routes: a connection of their own
        std::string cli_routes_path;   ///< file that keeps routes given by hand
        std::string run_state_path{};  ///< file that keeps what devices were; empty: nothing is kept
        std::function<bool()>
            asked_to_stop{};     ///< asked between the steps of the first apply(): it is refused then
        uint64_t hash_seed = 0;  ///< of the flow hash, where the configuration has none
        RouteWriter* route_writer = nullptr;  ///< null: no routes are installed in the kernel
        ListenForZebra listen_for_zebra = fpm_listen;
        std::string instance = "default";  ///< whose the VLAN devices are that it makes
    };
    /// An empty image and nothing in it. Error: the image has no room for the dataplane's tables.
    static Result<std::unique_ptr<ControlPlane>> make(Environment environment);
    ~ControlPlane() override;

    /// Reads what the kernel has; once, before apply().
    Result<void> read_kernel();
    /// Handles what the kernel has said since.
    Result<void> follow_kernel();

    /// Takes over the configuration, whole or not at all; `first`: at the daemon's start, also what an
    /// earlier daemon has left. Returns what could not be done though the configuration is taken over: has
    /// been logged. Throws nothing that a call to the kernel or the dataplane throws: that is a refusal, too.
    /// `routes`: read_wanted_routes() of the configuration, which takes as long as its files are large.
    tl::expected<config::Errors, Refusal> apply(const config::Config& wanted, const WantedRoutes& routes,
                                                bool first);
    /// The same, its files read first.
    tl::expected<config::Errors, Refusal> apply(const config::Config& wanted, bool first);
    /// Settings that only a restart can change, and that differ.
    [[nodiscard]] config::Errors fixed_settings(const config::Config& wanted) const;

    /// All of them or none; how many are not what they were. What follows for routes over them has been done
    /// when it returns, but for what is more than a turn of the loop can do: that comes in later turns.
    tl::expected<size_t, CliRoutes::Refusal> change_cli_routes(CliRoutes::Edit edit,
                                                               std::span<const config::StaticRoute> routes);
    /// The daemon stops for good: nothing is kept.
    void forget_cli_routes() const { cli_routes_.forget(); }

    /// Every 100 ms.
    void tick();
    /// From now on the end leaves devices as they were, and not in their role as a router's; and no routes.
    void take_down() {
        ports_.take_down();
        installed_.take_down();
    }
    /// What somebody else has changed of the machine; reads the kernel's events and the switches first.
    std::vector<DriftItem> find_drift();

    [[nodiscard]] const config::Config& config() const { return config_; }
    [[nodiscard]] uint64_t generation() const { return generation_; }
    [[nodiscard]] const Ports& ports() const { return ports_; }
    [[nodiscard]] const FpmRoutes& fpm_routes() const { return fpm_routes_; }
    [[nodiscard]] const KernelState& kernel_state() const { return state_; }
    /// Of all tables together.
    [[nodiscard]] KernelRoutes::Status kernel_routes_status() const;
    [[nodiscard]] size_t kernel_routes_bytes() const;
    /// Of the table of each VRF, by name; the default one's is "".
    [[nodiscard]] std::map<std::string, const IgnoredRoutes*> ignored_routes() const;
    /// How often links of interfaces went up or down since the start, and when last; by device name.
    struct LinkChanges {
        uint64_t count = 0;
        std::chrono::system_clock::time_point last;
    };
    [[nodiscard]] const std::map<std::string, LinkChanges>& link_changes() const { return link_changes_; }
    [[nodiscard]] EventLog& events() { return events_; }
    [[nodiscard]] fib::FibImage& image() { return image_; }
    [[nodiscard]] Routing& routing() { return routing_; }
    /// One by which the router is known though no interface has it, as of a BGP router's; nullopt: none.
    [[nodiscard]] std::optional<IpAddress> loopback_address(Family family) const;
    [[nodiscard]] const Routing& routing() const { return routing_; }
    [[nodiscard]] RouteCounters& route_counters() { return route_counters_; }
    [[nodiscard]] NeighbourProber& prober() { return prober_; }
    /// Of each rule of a filter, and behind them of what no rule matched; empty: no interface has it.
    [[nodiscard]] std::vector<pp_filter_counters> filter_counts(const std::string& name) const;
    /// Of the image, for what auto ports' stages hold.
    [[nodiscard]] fib::TableId hot_table() const { return tables_.hot; }

  private:
    /// Of the image, beside the one with all routes.
    struct Tables {
        fib::TableId port = PP_FIB_DEFAULT_TABLE;  ///< the host's addresses
        fib::TableId hot = PP_FIB_DEFAULT_TABLE;
    };
    ControlPlane(Environment environment, fib::FibImage image, const Tables& tables, SwitchMemory memory);

    // apply.cpp
    [[nodiscard]] Result<void> go_on(bool first) const;
    void read_kernel_routes();
    Result<void> apply_steps(const config::Config& wanted, const WantedRoutes& routes, bool first,
                             Transaction& transaction);
    void apply_routing(const config::Config& wanted, Transaction& transaction);
    Result<void> apply_aggregation(const config::Config& wanted, bool first, Transaction& transaction);
    Result<void> apply_heartbeat(const config::Config& wanted, bool first, Transaction& transaction);
    Result<void> apply_neighbours(const config::Config& wanted, Transaction& transaction);
    Result<void> set_neighbour(const config::StaticNeighbour& wanted, Transaction& transaction);
    Result<void> remove_neighbour(const config::StaticNeighbour& unwanted);
    Result<void> take_over(const config::Config& wanted, Transaction& transaction);
    Result<void> remove_former_addresses(const std::vector<uint32_t>& released, const config::Config& wanted);
    void refresh_views();
    void watch_drift();
    void tell_drift();
    void settle_routing(DescriptorWatcher& watcher);
    /// Is nothing left?
    bool settle_for_one_turn();
    Result<void> release_route_counters();

    // apply_vrfs.cpp
    Result<void> apply_vrfs(const config::Config& wanted, Transaction& transaction);
    void drop_unwanted_vrfs(const config::Config& wanted, Transaction& transaction);
    Result<void> follow_tables(const config::Config& wanted, Transaction& transaction);
    void refresh_kernel_routes();
    void compare_kernel_routes();
    void find_rules(std::vector<DriftItem>& found) const;

    // apply_filters.cpp
    struct RunningFilters {
        FilterSet set;
        std::map<std::string, std::vector<pp_filter_counters>>
            before;  ///< what its counters had counted then
    };
    Result<void> apply_filters(const config::Config& wanted, const WantedRoutes& routes,
                               Transaction& transaction);
    Result<void> number_filters(const config::Config& wanted, RunningFilters& next) const;

    // apply_guards.cpp
    Result<void> apply_guards(const config::Config& wanted, Transaction& transaction);

    // apply_interfaces.cpp
    Result<void> apply_interfaces(const config::Config& wanted, bool first, Transaction& transaction);
    void take_off_moved(const config::Config& wanted, Transaction& transaction);
    void take_off(const config::Interface& interface, Transaction& transaction);
    Result<void> bring(const config::Interface& wanted, Transaction& transaction);
    Result<void> make_device(const config::Interface& interface);
    void destroy_device(const config::Interface& interface);
    void drop_unwanted(const config::Config& wanted, Transaction& transaction);

    // events.cpp
    void link_changed(const LinkEvent& link, const LinkEvent* before) override;
    void link_removed(const LinkEvent& link) override;
    void address_changed(const AddressEvent& address) override;
    void address_removed(const AddressEvent& address) override;
    void neighbour_changed(const NeighbourEvent& neighbour) override;
    void neighbour_removed(const NeighbourEvent& neighbour) override;
    void resynced() override { ports_.resynced(); }
    // device_routes.cpp
    void device_route_set(const DeviceRoute& route) override;
    void device_route_removed(const DeviceRoute& route) override;
    [[nodiscard]] std::optional<VrfId> vrf_of_local(const DeviceRoute& route) const;
    void refresh_host_prefixes();
    void remove_vrf(VrfId id);
    void note_neighbour(const L3Interface& on, const IpAddress& address, bool usable, const char* what);
    void neighbour_failed(const L3Interface& on, const IpAddress& address);
    void refuse_group_mac(const L3Interface& on, const NeighbourEvent& claim);
    void resolve(InterfaceId interface, const IpAddress& address);
    Result<void> set_static_neighbours(const L3Interface& on);

    Kernel& kernel_;
    OpenKernel open_kernel_;
    Dataplane& dataplane_;
    SlowPathControl& slow_path_;
    std::function<bool()> asked_to_stop_;
    config::Config config_;
    uint64_t generation_ = 0;
    uint64_t ticks_ = 0;
    uint64_t own_hash_seed_;

    // In order of construction: each needs those above it.
    EventLog events_;
    Tables tables_;
    KernelState state_;
    RouteCounters route_counters_;
    RunningFilters filters_;
    GuardSet guards_;
    NeighbourProber prober_;
    fib::FibImage image_;
    Routing routing_;
    Ports ports_;
    KernelRoutes kernel_routes_;                                       ///< of the default VRF
    std::map<std::string, std::unique_ptr<KernelRoutes>> vrf_routes_;  ///< of each other, by name
    FpmRoutes fpm_routes_;
    CliRoutes cli_routes_;
    InstalledRoutes installed_;
    bool turn_is_due_ = false;
    /// The loop may hold a turn that was asked for longer than this lives.
    std::shared_ptr<ControlPlane*> self_ = std::make_shared<ControlPlane*>(this);
    void count_link_change(const std::string& name);
    std::map<std::string, LinkChanges> link_changes_;
    /// What is the host's beside the addresses of the router's interfaces.
    std::set<std::pair<VrfId, Prefix>> host_prefixes_;
    bool host_prefixes_due_ = false;
    DescriptorWatcher& watcher_;
    bool looking_ = false;                    ///< aside
    std::optional<std::string> looked_like_;  ///< when unheard_drift_ was found
    std::vector<DriftItem> unheard_drift_;
    std::set<DriftItem> drift_told_;
    std::set<std::pair<InterfaceId, IpAddress>> asked_anew_;      ///< while the kernel forgets them
    std::set<std::pair<InterfaceId, IpAddress>> refused_claims_;  ///< of a group MAC address; said already
};

}  // namespace pktpit::router
