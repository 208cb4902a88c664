// SPDX-License-Identifier: BSD-3-Clause
/// The `xdp` dataplane: port stages on Linux devices, the maps they share, and what the daemon does with
/// them.
///
/// It outlives the daemon: links and maps are pinned. A daemon that starts makes a new generation (its own
/// image and programs) beside the one it finds, fills it, and then swaps the program of each pinned link, so
/// that no packet meets a half-filled table. Counters and port ids are taken over.
///
/// One thread, the daemon's loop.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>

#include "base/result.h"
#include "config/config.h"
#include "fib/image.h"
#include "router/dataplane/dataplane.h"
#include "router/xdp/auto_ports.h"
#include "router/xdp/heartbeat.h"
#include "router/xdp/maps.h"
#include "router/xdp/pins.h"
#include "router/xdp/port_link.h"
#include "router/xdp/punt_reader.h"
#include "router/xdp/rcu_barrier.h"
#include "router/xdp/redirect_targets.h"
#include "router/xdp/route_counter_maps.h"
#include "router/xdp/split_path.h"
#include "router/xdp/stack_redirects.h"
#include "router/xdp/stage_observer.h"
#include "router/xdp/sums.h"
#include "router/xdp/transmitter.h"

namespace pktpit::router {

class XdpDataplane : public Dataplane, public PortStages {
  public:
    /// Takes the instance (one daemon each), finds what an earlier daemon left and makes a new generation.
    /// `dispatcher`: attach through libxdp's dispatcher where the kernel allows it. `workers`: of split
    /// ports. Errors: another daemon runs the instance, no bpffs, no privileges, no memory, or the pinned
    /// links of the instance are in another network namespace, unless the instance ran in this one and its
    /// devices have moved away.
    static Result<std::unique_ptr<XdpDataplane>> open(const std::string& instance,
                                                      const fib::Capacity& capacity, bool dispatcher,
                                                      const config::Workers& workers, PuntHandler on_punt);
    ~XdpDataplane() override;

    [[nodiscard]] std::span<std::byte> image_memory() const override { return image_.memory(); }
    [[nodiscard]] const pp_fib_geometry& geometry() const override { return geometry_; }
    [[nodiscard]] fib::Reclamation reclamation() override;
    [[nodiscard]] std::string why_not_redirected(uint16_t port) override;
    [[nodiscard]] std::string_view sent_by(uint16_t port) const override;
    [[nodiscard]] std::string why_detached(uint16_t port) const override;
    [[nodiscard]] std::function<std::string()> program_look() const override;
    [[nodiscard]] PortStages* port_stages() override { return this; }
    void set_port_table(fib::TableId table) override { port_table_ = table; }
    void set_hot_table(fib::TableId table) override { hot_table_ = table; }
    [[nodiscard]] std::string_view forwarding(uint16_t port) const override {
        if (auto_ports_.contains(port)) return "auto";
        return split_ports_.contains(port) ? "split" : "inline";
    }
    void collect_traffic(HotChoice& choice) override;
    void guard_order(bool guard) override { auto_->guard(guard); }
    [[nodiscard]] Decided decided(uint16_t port) const override;
    Result<void> set_heartbeat(const config::Heartbeat& wanted) override;
    Result<void> set_vrfs(bool any) override;
    Result<void> set_aggregation(const config::AggregationGroups& wanted) override;
    [[nodiscard]] std::vector<AggregationState> aggregation() const override;
    [[nodiscard]] StandIn stand_in(uint16_t port) const override { return heartbeat_->stand_in(port); }
    [[nodiscard]] const std::map<uint32_t, uint16_t>& previous_ports() const override {
        return previous_ports_;
    }

    /// Loads the port's program and makes it an egress port of the others.
    Result<void> prepare(uint16_t port, uint32_t ifindex, const config::Interface& settings) override;
    /// Swaps the program of a pinned link, or makes and pins a new link.
    Result<Attachment> attach(uint16_t port, uint32_t ifindex, const config::Interface& settings) override;
    void detach(uint16_t port) override;
    /// Pins this generation's maps, and detaches what an earlier daemon has left on ports that are configured
    /// no more.
    Result<std::vector<uint32_t>> commit() override;
    void give_back_all() override;

    [[nodiscard]] pp_port_counters counters(uint16_t port) const override;
    void reset_counters(uint16_t port) override;
    [[nodiscard]] LatencyCounts latency(uint16_t port) const override {
        return worker_counters_.latency(port);
    }
    [[nodiscard]] RouteCounterStore& route_counters() override { return *route_counters_; }
    [[nodiscard]] std::vector<WorkerState> workers() override;
    Result<void> set_filters(const FilterSet& set) override;
    Result<void> set_guards(const GuardSet& set) override;
    [[nodiscard]] std::vector<pp_filter_counters> filter_counters(uint32_t first,
                                                                  uint32_t count) const override;
    Result<void> observe(const std::optional<pp_observing>& wanted, ObservationHandler on_record) override;
    [[nodiscard]] uint64_t lost_observations(uint16_t port) const override;
    [[nodiscard]] int descriptor() const override { return epoll_.get(); }
    void poll() override;
    /// The daemon's heartbeat, slots of sockets that are gone, and records that wait without having woken
    /// anybody.
    void tick() override;
    void copy_returning() override;
    [[nodiscard]] uint64_t malformed_punts() const override { return punts_->malformed(); }
    bool transmit(uint16_t port, std::span<const std::span<const uint8_t>> parts) override;
    void take_down() override { take_down_ = true; }

  private:
    struct Port {
        uint32_t ifindex = 0;
        Fd link;
        uint32_t dispatched = 0;           ///< program in the device's dispatcher, 0: attached by `link`
        bool taken_over = false;           ///< the link is an earlier daemon's
        std::optional<AttachMode> mode{};  ///< which stays; asked for once
    };
    /// What an earlier daemon left on a device: a way back until commit().
    struct Earlier {
        Fd program;
        AttachMode mode = AttachMode::native;
    };
    XdpDataplane(const std::string& instance, PinDirectory pins, Fd lock, Transmitter transmitter,
                 const config::Workers& workers);
    Result<void> adopt();
    Result<void> adopt_link(uint32_t pinned_as, Fd link);
    Result<void> check_namespace() const;
    Result<void> watch_punts();
    [[nodiscard]] PortProgram program_of(uint16_t port) const;
    /// The sockets that the port needs, and the end of them.
    Result<void> set_split(uint16_t port, uint32_t ifindex, const config::Interface& settings);
    void end_split(uint16_t port);
    void forget_sockets(uint16_t port);
    Result<void> set_auto(uint16_t port, bool wanted);
    Result<Attachment> attach_stage(uint16_t port, uint32_t ifindex, const config::Interface& settings);
    Result<Attachment> attach_by_link(uint16_t port, uint32_t ifindex, const std::string& device,
                                      config::XdpMode mode);
    /// The port's program, prepared; on native ports whose device keeps VLAN tags apart the one that asks.
    Result<Fd> load_for(uint16_t port, uint32_t ifindex, const config::Interface& settings);
    bool attach_by_dispatcher(uint16_t port, uint32_t ifindex, const std::string& device,
                              config::XdpMode mode, Attachment& attachment);
    void end(Port port);
    [[nodiscard]] Fd running_program(uint32_t ifindex, uint32_t id) const;
    Result<void> swap(uint32_t ifindex, const Fd& link, const Fd& program, const std::string& device);
    Result<void> settle_program(uint32_t ifindex) const;
    void give_back(uint32_t ifindex, Fd link);
    static Result<Fd> attach_earlier(uint32_t ifindex, const std::string& device, const Earlier& earlier);
    /// redirects.cpp: keeps those ports alone among the targets that redirected frames reach.
    void choose_targets();
    [[nodiscard]] bool is_native(uint16_t port);
    [[nodiscard]] bool takes_redirects(uint16_t port, uint32_t ifindex);
    void set_otherwise(uint16_t port, pp_otherwise way);
    /// Frames are redirected to the port's device, or to those of all ports that take them. false: errno.
    [[nodiscard]] bool set_target(uint16_t port, uint32_t ifindex) const;
    [[nodiscard]] bool set_targets() const;
    void open_stack();
    /// aggregation.cpp.
    Result<void> begin_sums();
    void end_sums();
    /// observe.cpp. Every port's program in the place of the one that runs: observed, or the plain one.
    Result<void> swap_programs();
    /// filters.cpp
    Result<void> make_filter_block(const FilterSet& set);
    Result<void> swap_dispatched(uint16_t port, Port& attached);
    void end_observation();

    std::string instance_;
    PinDirectory pins_;
    Fd lock_;
    Transmitter transmitter_;
    pp_fib_geometry geometry_{};
    PortMaps maps_;
    MappedImage image_;
    std::unique_ptr<PuntReader> punts_;
    config::Workers workers_;
    WorkerCounterSet worker_counters_;  ///< of split ports
    std::unique_ptr<RouteCounterMaps> route_counters_;
    PuntHandler on_punt_;
    fib::TableId port_table_ = PP_FIB_DEFAULT_TABLE;
    fib::TableId hot_table_ = PP_FIB_DEFAULT_TABLE;
    bool vrfs_ = false;  ///< programs look for an interface's own tables
    std::optional<AutoPorts> auto_;
    std::optional<Heartbeat> heartbeat_;
    std::set<uint16_t> auto_ports_;
    /// The filters' map, mapped, and its shape; what programs and workers read.
    struct FilterMemory {
        MappedImage memory;
        pp_filter_shape shape{};
        FilterView view;
    };
    std::unique_ptr<FilterMemory> filter_memory_;  ///< null: there have been none so far
    FilterSet filters_;                            ///< in force
    PublishedFilters published_filters_{nullptr};
    std::vector<pp_filter_counters> earlier_filter_counts_;  ///< by counter, of maps that were too small
    MappedImage guard_memory_;                               ///< struct pp_guard
    GuardSet guards_;                                        ///< in force
    PublishedGuard published_guard_{nullptr};
    fib::Epochs epochs_;  ///< of the worker, where there are split ports
    Fd epoll_;            ///< of the two below
    Fd wakeup_;           ///< eventfd: the worker has frames for the daemon
    std::map<uint16_t, std::pair<uint32_t, std::string>> devices_;  ///< ifindex and name of each port
    std::map<uint16_t, std::vector<uint32_t>> split_ports_;         ///< their places in the map of sockets
    std::unique_ptr<SplitPath> split_;
    ObservationHandler on_record_;
    RcuBarrier barrier_;
    std::unique_ptr<RedirectTargets> targets_;
    std::set<uint16_t> not_redirected_;  ///< ports that redirected frames do not reach
    std::optional<StackRedirects> stack_;
    bool targets_stale_ = true;
    bool no_stack_told_ = false;
    uint64_t ticks_ = 0;
    std::unique_ptr<Sums> sums_;               ///< where there are groups
    std::unique_ptr<StageObserver> observer_;  ///< while somebody observes
    std::map<uint32_t, Fd> earlier_links_;     ///< by ifindex, not yet taken over
    std::map<uint32_t, Earlier> earlier_;      ///< by ifindex, of links taken over or not; until commit()
    /// By ifindex: what the device's dispatcher runs beside this generation's program; until commit().
    std::map<uint32_t, std::vector<uint32_t>> earlier_dispatched_;
    std::vector<uint32_t> moved_away_;  ///< pins of links whose devices are in another network namespace
    std::map<uint32_t, uint16_t> previous_ports_;
    std::map<uint16_t, Port> ports_;
    std::map<uint16_t, Fd> prepared_;  ///< programs loaded but not attached yet
    std::set<uint16_t> completing_;    ///< ports whose programs complete checksums, in native mode
    std::set<uint16_t> asking_tags_;   ///< ports whose programs ask the driver for VLAN tags
    bool dispatcher_ = false;
    bool committed_ = false;
    bool take_down_ = false;
};

}  // namespace pktpit::router
