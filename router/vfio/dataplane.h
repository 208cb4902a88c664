/// The `vfio` dataplane: NICs driven from user space, payloads from NIC to NIC through peer memory, headers
/// to a worker's control loop. A port is a NIC, known by its PCI address, and a tap of the port's name.
///
/// It ends with the daemon: the kernel resets the NICs of a process that has gone, and a new daemon starts
/// them afresh. One thread, the daemon's loop; packets are the worker's (router/vfio/worker.h).
#pragma once

#include <map>
#include <memory>

#include "fib/huge_memory.h"
#include "offload/memory/iova_space.h"
#include "router/dataplane/dataplane.h"
#include "router/dataplane/route_counts.h"
#include "router/vfio/device_events.h"
#include "router/vfio/packet_io.h"
#include "router/vfio/payload_memory.h"
#include "router/vfio/port.h"

namespace pktpit::router {

class VfioDataplane : public Dataplane {
  public:
    /// Errors: another daemon runs the instance, no VFIO or IOMMU, no such memory, no main memory.
    static Result<std::unique_ptr<VfioDataplane>> open(const config::Config& config,
                                                       const fib::Capacity& capacity, PuntHandler on_punt);
    ~VfioDataplane() override;

    [[nodiscard]] std::span<std::byte> image_memory() const override { return image_.bytes(); }
    [[nodiscard]] const pp_fib_geometry& geometry() const override { return geometry_; }
    [[nodiscard]] fib::Reclamation reclamation() override { return fib::Reclamation(epochs_); }
    void set_port_table(fib::TableId) override {}
    void set_hot_table(fib::TableId) override {}
    [[nodiscard]] std::string_view forwarding(uint16_t) const override { return "split"; }
    void collect_traffic(HotChoice&) override {}
    void guard_order(bool) override {}
    [[nodiscard]] Decided decided(uint16_t port) const override {
        return {0, counters_.port(port).rx_packets};
    }
    [[nodiscard]] const std::map<uint32_t, uint16_t>& previous_ports() const override { return no_ports_; }

    Result<void> create_device(const config::Interface& port) override;
    void destroy_device(const std::string& name) override;
    Result<void> prepare(uint16_t port, uint32_t ifindex, const config::Interface& settings) override;
    Result<Attachment> attach(uint16_t port, uint32_t ifindex, const config::Interface& settings) override;
    void detach(uint16_t port) override;
    Result<std::vector<uint32_t>> commit() override;

    [[nodiscard]] pp_port_counters counters(uint16_t port) const override { return counters_.port(port); }
    void reset_counters(uint16_t port) override;
    [[nodiscard]] LatencyCounts latency(uint16_t port) const override { return counters_.latency(port); }
    [[nodiscard]] RouteCounterStore& route_counters() override { return route_counts_; }
    [[nodiscard]] std::optional<NicDetails> nic(uint16_t port) override;
    [[nodiscard]] std::vector<WorkerState> workers() override;
    Result<void> observe(const std::optional<pp_observing>& wanted, ObservationHandler on_record) override;
    [[nodiscard]] uint64_t lost_observations(uint16_t port) const override;
    [[nodiscard]] int descriptor() const override { return epoll_.get(); }
    void poll() override;
    void tick() override;
    [[nodiscard]] uint64_t malformed_punts() const override { return 0; }  // no foreign bytes in between
    bool transmit(uint16_t port, std::span<const std::span<const uint8_t>> parts) override;
    /// Nothing can go on without the daemon.
    void leave_running(bool) override {}

  private:
    static constexpr size_t observations_per_poll = 1024;
    VfioDataplane(const config::Config& config, Fd lock, PuntHandler on_punt)
        : instance_(config.instance),
          lock_(std::move(lock)),
          on_punt_(std::move(on_punt)),
          settings_(config.vfio),
          workers_(config.workers) {}
    Result<void> set_up(const config::Config& config, const fib::Capacity& capacity);
    void wait_for_links();
    Result<void> set_up_iova_space();
    Result<void> set_up_slots(const config::Config& config);
    void choose_payload_place(NicPort& port, config::PayloadPlace wanted) const;
    Result<void> start(NicPort& port);
    void stop(NicPort& port);
    void release_rings(NicPort& port);
    void watch(int descriptor);
    void poll_queue();
    void poll_observations();
    void poll_tap(NicPort& port);
    void device_removed(offload::PciAddress address);
    void stop_payload_use();
    NicPort* by_id(uint16_t id) const;

    std::string instance_;
    Fd lock_;
    PuntHandler on_punt_;
    ObservationHandler on_record_;
    config::Vfio settings_;
    config::Workers workers_;
    const std::map<uint32_t, uint16_t> no_ports_;

    // In order of construction: each is used by what comes after it.
    fib::HugeMemory image_;
    pp_fib_geometry geometry_{};
    fib::Epochs epochs_;
    WorkerCounters counters_;
    WorkerRouteCounts<WorkerCounters> route_counts_{counters_};
    offload::PciTree tree_;
    std::unique_ptr<offload::VfioContainer> container_;
    std::unique_ptr<offload::IovaSpace> iova_space_;
    PayloadMemoryHandle payload_;
    std::unique_ptr<SlotMemory> slots_;
    std::unique_ptr<NicPacketIo> io_;
    Worker::Queues queues_;
    std::map<std::string, std::unique_ptr<NicPort>> ports_;
    std::unique_ptr<Worker> worker_;
    Fd epoll_;
    std::unique_ptr<DeviceEvents> events_;
};

}  // namespace pktpit::router
