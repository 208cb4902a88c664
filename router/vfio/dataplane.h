// SPDX-License-Identifier: BSD-3-Clause
/// The `vfio` dataplane: NICs driven from user space, payloads from NIC to NIC through peer memory, headers
/// to a worker's control loop. A port is a NIC, known by its PCI address, and a tap of the port's name.
///
/// It ends with the daemon: the kernel resets the NICs of a process that has gone, and a new daemon starts
/// them afresh. One thread, the daemon's loop; packets are the worker's (router/vfio/packet_io.h).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "offload/memory/iova_space.h"
#include "router/dataplane/stageless.h"
#include "router/vfio/device_events.h"
#include "router/vfio/packet_io.h"
#include "router/vfio/payload_memory.h"
#include "router/vfio/port.h"
#include "router/vfio/slot_domains.h"

namespace pktpit::router {

class VfioDataplane : public StagelessDataplane {
  public:
    /// Errors: another daemon runs the instance, no VFIO or IOMMU, no such memory, no main memory.
    static Result<std::unique_ptr<VfioDataplane>> open(const config::Config& config,
                                                       const fib::Capacity& capacity, PuntHandler on_punt);
    ~VfioDataplane() override;

    Result<void> create_device(const config::Interface& port) override;
    void destroy_device(const std::string& name) override;
    [[nodiscard]] std::optional<NicDetails> nic(uint16_t port) override;
    void poll() override;
    void tick() override;

  protected:
    Result<void> start_port(TapPort& port) override;
    void stop_port(TapPort& port) override;
    bool show_links() override;
    [[nodiscard]] std::vector<WorkerState::Queue> queues_of(unsigned worker) const override;
    [[nodiscard]] size_t longest_frame() const override;

  private:
    VfioDataplane(const config::Config& config, Fd lock, PuntHandler on_punt)
        : StagelessDataplane(config, std::move(lock), std::move(on_punt)), settings_(config.vfio) {}
    Result<void> set_up(const config::Config& config, const fib::Capacity& capacity);
    Result<void> set_up_iova_space();
    void take_back_what_has_come();
    void reset_out_of_step();
    Result<void> start_again(NicPort& port, bool payload_lost);
    Result<void> set_up_slots(const config::Config& config);
    void choose_payload_place(NicPort& port, config::PayloadPlace wanted) const;
    Result<void> check_slots(const NicPort* coming) const;
    [[nodiscard]] std::array<std::vector<uint32_t>, 2> ports_of_domains() const;
    Result<void> let_reach_slots(NicPort& port);
    void tell_shares() const;
    void stop(NicPort& port);
    void release_rings(NicPort& port);
    void device_removed(offload::PciAddress address);
    void stop_payload_use();
    [[nodiscard]] std::vector<NicPort*> nics() const { return ports_as<NicPort>(); }

    config::Vfio settings_;
    struct Wanted {
        config::Interface interface;
        std::string told;  ///< why a NIC that is there again cannot be had
    };
    std::map<std::string, Wanted> wanted_;  ///< by name; those that are no ports have gone
    unsigned ticks_ = 0;

    // In order of construction: each is used by what comes after it.
    offload::PciTree tree_;
    offload::VfioContainers containers_;
    std::unique_ptr<offload::IovaSpace> iova_space_;
    PayloadMemoryHandle payload_;
    std::unique_ptr<SlotMemory> slots_;
    std::unique_ptr<SlotDomains> domains_;
    NicPacketIo* io_ = nullptr;  ///< the worker's
    std::unique_ptr<DeviceEvents> events_;
};

}  // namespace pktpit::router
