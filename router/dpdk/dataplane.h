/// The `dpdk` dataplane: any Ethernet device that DPDK has a driver for. A port is such a device and a tap of
/// the port's name, for the host's own traffic; a worker's control loop decides about every packet. It ends
/// with the daemon.
///
/// One thread, the daemon's loop; packets are the worker's (router/dpdk/packet_io.h).
#pragma once

#include <map>
#include <memory>

#include "fib/huge_memory.h"
#include "router/dataplane/dataplane.h"
#include "router/dataplane/route_counts.h"
#include "router/dpdk/eal.h"
#include "router/dpdk/packet_io.h"
#include "router/dpdk/payload.h"
#include "router/dpdk/port.h"
#include "router/loop/worker.h"
#include "router/loop/worker_counter_set.h"

namespace pktpit::router {

class DpdkDataplane : public Dataplane {
  public:
    /// Errors: another daemon runs the instance; EAL does not start; a device that cannot be opened; no
    /// memory.
    static Result<std::unique_ptr<DpdkDataplane>> open(const config::Config& config,
                                                       const fib::Capacity& capacity, PuntHandler on_punt);
    ~DpdkDataplane() override;

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
    Result<std::vector<uint32_t>> commit() override { return std::vector<uint32_t>{}; }

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
    /// What a worker has of its own.
    struct Thread {
        Worker::Queues queues;
        std::unique_ptr<EthPacketIo> io;
        std::unique_ptr<Worker> worker;
    };
    DpdkDataplane(const config::Config& config, Fd lock, PuntHandler on_punt)
        : instance_(config.instance),
          lock_(std::move(lock)),
          on_punt_(std::move(on_punt)),
          settings_(config.dpdk),
          workers_(config.workers),
          counters_(config.workers.count) {}
    Result<void> set_up(const config::Config& config, const fib::Capacity& capacity);
    Result<void> start_eal(uint32_t mbufs);
    Result<void> set_up_payload();
    Result<void> start_workers();
    void wait_for_links();
    [[nodiscard]] std::vector<Worker*> all_workers() const;
    Result<void> start_device(const EthPort& port);
    Result<void> start(EthPort& port);
    void stop(EthPort& port);
    void reopen(EthPort& port);
    void watch(int descriptor);
    void poll_queues();
    void poll_observations();
    void poll_tap(const EthPort& port);
    EthPort* by_id(uint16_t id) const;

    std::string instance_;
    Fd lock_;
    PuntHandler on_punt_;
    ObservationHandler on_record_;
    config::Dpdk settings_;
    config::Workers workers_;
    const std::map<uint32_t, uint16_t> no_ports_;

    // In order of construction: each is used by what comes after it.
    fib::HugeMemory image_;
    pp_fib_geometry geometry_{};
    fib::Epochs epochs_;
    WorkerCounterSet counters_;
    WorkerRouteCounts<WorkerCounterSet> route_counts_{counters_};
    std::unique_ptr<Eal> eal_;
    MbufPool packets_;
    std::unique_ptr<PayloadMemory> payload_;
    std::vector<std::unique_ptr<EthDevice>> others_;  ///< devices that are no ports
    std::map<std::string, std::unique_ptr<EthPort>> ports_;
    Fd for_daemon_;  ///< eventfd: a worker has something for this thread
    std::vector<std::unique_ptr<Thread>> threads_;
    Fd epoll_;
};

}  // namespace pktpit::router
