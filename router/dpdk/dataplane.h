// SPDX-License-Identifier: BSD-3-Clause
/// The `dpdk` dataplane: any Ethernet device that DPDK has a driver for. A port is such a device and a tap of
/// the port's name, for the host's own traffic; a worker's control loop decides about every packet. It ends
/// with the daemon.
///
/// One thread, the daemon's loop; packets are the worker's (router/dpdk/packet_io.h).
#pragma once

#include <memory>

#include "router/dataplane/stageless.h"
#include "router/dpdk/eal.h"
#include "router/dpdk/packet_io.h"
#include "router/dpdk/payload.h"
#include "router/dpdk/port.h"

namespace pktpit::router {

class DpdkDataplane : public StagelessDataplane {
  public:
    /// Errors: another daemon runs the instance; EAL does not start; a device that cannot be opened; no
    /// memory.
    static Result<std::unique_ptr<DpdkDataplane>> open(const config::Config& config,
                                                       const fib::Capacity& capacity, PuntHandler on_punt);
    ~DpdkDataplane() override;

    Result<void> create_device(const config::Interface& port) override;
    [[nodiscard]] std::optional<NicDetails> nic(uint16_t port) override;
    void tick() override;

  protected:
    Result<void> start_port(TapPort& port) override;
    void stop_port(TapPort& port) override;
    bool show_links() override;
    [[nodiscard]] std::vector<WorkerState::Queue> queues_of(unsigned worker) const override;
    [[nodiscard]] size_t longest_frame() const override;

  private:
    DpdkDataplane(const config::Config& config, Fd lock, PuntHandler on_punt)
        : StagelessDataplane(config, std::move(lock), std::move(on_punt)), settings_(config.dpdk) {}
    Result<void> set_up(const config::Config& config, const fib::Capacity& capacity);
    Result<void> start_eal(uint32_t mbufs);
    Result<void> set_up_payload();
    void start_workers();
    Result<void> start_device(const EthPort& port);
    Result<void> start(EthPort& port);
    void stop(EthPort& port);
    void reopen(EthPort& port);
    [[nodiscard]] std::vector<EthPort*> devices() const { return ports_as<EthPort>(); }

    config::Dpdk settings_;

    // In order of construction: each is used by what comes after it.
    std::unique_ptr<Eal> eal_;
    MbufPool packets_;
    std::unique_ptr<PayloadMemory> payload_;
    std::vector<std::unique_ptr<EthDevice>> others_;  ///< devices that are no ports
    std::vector<EthPacketIo*> ios_;                   ///< the workers'
};

}  // namespace pktpit::router
