// SPDX-License-Identifier: BSD-3-Clause
/// The `model` dataplane: ports of modelled NICs on a modelled PCIe fabric (offload/model), in virtual time,
/// with the daemon's own control loop deciding about real frames. No packet of it is on a real bus, and no
/// figure of it is a measurement. It ends with the daemon.
///
/// One thread, the daemon's loop; packets are the worker's (router/model/packet_io.h).
#pragma once

#include "router/dataplane/stageless.h"
#include "router/model/packet_io.h"
#include "router/model/port.h"

namespace pktpit::router {

class ModelDataplane : public StagelessDataplane {
  public:
    /// Errors: another daemon runs the instance; no such topology or profile, or a broken one; a port that
    /// the topology does not have; a wire's.
    static Result<std::unique_ptr<ModelDataplane>> open(const config::Config& config,
                                                        const fib::Capacity& capacity, PuntHandler on_punt);
    ~ModelDataplane() override;

    Result<void> create_device(const config::Interface& port) override;
    [[nodiscard]] std::optional<NicDetails> nic(uint16_t port) override;
    [[nodiscard]] std::string modelled() const override { return about_; }
    /// Of virtual time.
    [[nodiscard]] LatencyCounts latency(uint16_t port) const override { return io_->latency(port); }
    void reset_counters(uint16_t port) override;
    void tick() override;

  protected:
    Result<void> start_port(TapPort& port) override;
    void stop_port(TapPort& port) override;
    bool show_links() override;
    [[nodiscard]] std::vector<WorkerState::Queue> queues_of(unsigned worker) const override;
    [[nodiscard]] size_t longest_frame() const override { return model::largest_frame; }

  private:
    ModelDataplane(const config::Config& config, Fd lock, PuntHandler on_punt)
        : StagelessDataplane(config, std::move(lock), std::move(on_punt)), config_(config) {}
    Result<void> set_up(const fib::Capacity& capacity);
    Result<size_t> choose_nic_port(const config::Interface& interface) const;
    void start(ModelPort& port);
    void stop(ModelPort& port);
    void reopen(ModelPort& port);
    [[nodiscard]] bool all_in_fib() const;
    [[nodiscard]] std::vector<ModelPort*> model_ports() const { return ports_as<ModelPort>(); }

    config::Config config_;
    std::string about_;
    ModelPacketIo* io_ = nullptr;  ///< the worker's
    bool begun_ = false;           ///< the FIB has been seen with all links up
};

}  // namespace pktpit::router
