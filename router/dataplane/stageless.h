// SPDX-License-Identifier: BSD-3-Clause
/// What dataplanes have in common whose ports decide nothing themselves: workers decide about every packet
/// (router/loop), each port has a tap for the host's own traffic, and all of it ends with the daemon. `vfio`,
/// `dpdk` and `model` derive from it and bring ports, and what the workers take packets from.
///
/// One thread, the daemon's loop; packets are the workers'.
#pragma once

#include <map>
#include <memory>
#include <utility>

#include "base/huge_memory.h"
#include "router/dataplane/dataplane.h"
#include "router/dataplane/route_counts.h"
#include "router/dataplane/tap_port.h"
#include "router/loop/worker.h"
#include "router/loop/worker_counter_set.h"

namespace pktpit::router {

class StagelessDataplane : public Dataplane, public OwnDevices {
  public:
    ~StagelessDataplane() override;

    [[nodiscard]] std::span<std::byte> image_memory() const override { return image_bytes_; }
    [[nodiscard]] const pp_fib_geometry& geometry() const override { return geometry_; }
    [[nodiscard]] fib::Reclamation reclamation() override { return fib::Reclamation(epochs_); }
    [[nodiscard]] OwnDevices* own_devices() override { return this; }
    [[nodiscard]] std::string_view forwarding(uint16_t) const override { return "split"; }
    [[nodiscard]] Decided decided(uint16_t port) const override {
        return {0, counters_.port(port).rx_packets};
    }

    void destroy_device(const std::string& name) override;
    Result<void> prepare(uint16_t port, uint32_t ifindex, const config::Interface& settings) override;
    Result<Attachment> attach(uint16_t port, uint32_t ifindex, const config::Interface& settings) override;
    void detach(uint16_t port) override;

    [[nodiscard]] pp_port_counters counters(uint16_t port) const override { return counters_.port(port); }
    void reset_counters(uint16_t port) override;
    [[nodiscard]] LatencyCounts latency(uint16_t port) const override { return counters_.latency(port); }
    [[nodiscard]] RouteCounterStore& route_counters() override { return route_counts_; }
    [[nodiscard]] std::vector<WorkerState> workers() override;
    Result<void> set_filters(const FilterSet& set) override;
    Result<void> set_guards(const GuardSet& set) override;
    [[nodiscard]] std::vector<pp_filter_counters> filter_counters(uint32_t first,
                                                                  uint32_t count) const override;
    Result<void> observe(const std::optional<pp_observing>& wanted, ObservationHandler on_record) override;
    [[nodiscard]] uint64_t lost_observations(uint16_t port) const override;
    [[nodiscard]] int descriptor() const override { return epoll_.get(); }
    void poll() override;
    void tick() override;
    void copy_returning() override;
    bool transmit(uint16_t port, std::span<const std::span<const uint8_t>> parts) override;

  protected:
    /// Makes sure that nobody else runs the instance and that its workers' CPUs are there.
    static Result<Fd> lock(const config::Config& config);
    StagelessDataplane(const config::Config& config, Fd lock, PuntHandler on_punt);
    Result<void> set_up_image(const fib::Capacity& capacity);
    /// The same in memory of the caller's, which outlives end().
    void set_up_image(const pp_fib_geometry& geometry, std::span<std::byte> memory);
    [[nodiscard]] fib::Epochs& epochs() { return epochs_; }
    /// The next worker, paused; it owns `io`.
    Worker& add_worker(std::unique_ptr<PortIo> io);
    /// For the destructor: workers and ports end before what they were made of.
    void end();

    /// Lets the port's NIC receive and send, or no more. Nothing happens if it does already, or does not.
    virtual Result<void> start_port(TapPort& port) = 0;
    virtual void stop_port(TapPort& port) = 0;
    /// Shows each port's link at its tap; are all up? While the dataplane starts.
    virtual bool show_links() = 0;
    [[nodiscard]] virtual std::vector<WorkerState::Queue> queues_of(unsigned worker) const = 0;
    /// Bytes of a frame of the host's or of the slow path's, at most.
    [[nodiscard]] virtual size_t longest_frame() const = 0;

    TapPort& add_port(std::unique_ptr<TapPort> port);
    [[nodiscard]] TapPort* port(uint16_t id) const;
    [[nodiscard]] TapPort* port(const std::string& name) const;
    /// All ports, which are of this type.
    template <class Port>
    [[nodiscard]] std::vector<Port*> ports_as() const {
        std::vector<Port*> all;
        all.reserve(ports_.size());
        for (const auto& [name, port] : ports_)
            all.push_back(static_cast<Port*>(port.get()));
        return all;
    }
    /// Routes over a port whose link is down are not in the FIB, and a large table takes a second to go
    /// there: it is to be loaded once, with the links as they will be. Waits for them, but not for ever.
    void wait_for_links();
    /// poll() is called when it becomes readable.
    void watch(int descriptor);
    [[nodiscard]] std::vector<Worker*> all_workers() const;
    [[nodiscard]] const std::string& instance() const { return instance_; }
    [[nodiscard]] const config::Workers& worker_settings() const { return workers_; }
    [[nodiscard]] WorkerCounters& counters_of(size_t worker) { return counters_.of(worker); }

  private:
    /// What a worker has of its own.
    struct Thread {
        Worker::Queues queues;
        std::unique_ptr<PortIo> io;
        std::unique_ptr<Worker> worker;
    };
    void poll_queues();
    void poll_observations();
    void poll_tap(const TapPort& port);

    std::string instance_;
    bool looked_for_left_ = false;  ///< devices of a daemon that was killed
    Fd lock_;
    PuntHandler on_punt_;
    ObservationHandler on_record_;
    config::Workers workers_;

    // In order of construction: each is used by what comes after it.
    HugeMemory image_;
    std::span<std::byte> image_bytes_;  ///< of it, or of memory that somebody else keeps
    pp_fib_geometry geometry_{};
    fib::Epochs epochs_;
    std::unique_ptr<FilterBlock> filters_;  ///< null: there are none
    PublishedFilters published_filters_{nullptr};
    std::unique_ptr<pp_guard> guard_;  ///< null: there has been none so far
    GuardSet guards_;                  ///< in force
    PublishedGuard published_guard_{nullptr};
    WorkerCounterSet counters_;
    WorkerRouteCounts<WorkerCounterSet> route_counts_{counters_};
    std::map<std::string, std::unique_ptr<TapPort>> ports_;
    Fd for_daemon_;  ///< eventfd: a worker has something for this thread
    std::vector<std::unique_ptr<Thread>> threads_;
    Fd epoll_;
};

}  // namespace pktpit::router
