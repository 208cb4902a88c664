// SPDX-License-Identifier: BSD-3-Clause
/// The `vfio` dataplane with a peer device (docs/peer.md): NICs whose rings, headers and payloads lie in the
/// memory of a device that polls them and forwards by itself, by programs and a FIB image that lie there,
/// too. What it cannot decide comes to a worker by a queue in that memory; what the worker sends goes by
/// another. As long as the NICs are open and the memory is there it needs neither this process nor its CPU.
///
/// One thread, the daemon's loop; packets are the device's, and the worker's (router/vfio/peer_packet_io.h).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "offload/memory/iova_space.h"
#include "router/dataplane/stageless.h"
#include "router/vfio/device_events.h"
#include "router/vfio/keeper.h"
#include "router/vfio/payload_memory.h"
#include "router/vfio/peer_host.h"
#include "router/vfio/peer_packet_io.h"
#include "router/vfio/port.h"

namespace pktpit::router {

class PeerDataplane : public StagelessDataplane {
  public:
    /// `keeper`: one that keeps nothing yet, or none. What an earlier daemon's keeps is let go first.
    /// Errors: another daemon runs the instance, no VFIO or IOMMU, no such memory or too little of it, a NIC
    /// that does not reach it by P2P or that there are no programs for.
    static Result<std::unique_ptr<PeerDataplane>> open(const config::Config& config,
                                                       const fib::Capacity& capacity, PuntHandler on_punt,
                                                       KeeperLink keeper);
    ~PeerDataplane() override;

    Result<void> create_device(const config::Interface& port) override;
    [[nodiscard]] std::string_view forwarding(uint16_t) const override { return "inline"; }
    [[nodiscard]] Decided decided(uint16_t port) const override;
    [[nodiscard]] pp_port_counters counters(uint16_t port) const override;
    void reset_counters(uint16_t port) override;
    [[nodiscard]] std::optional<NicDetails> nic(uint16_t port) override;
    void poll() override;
    void tick() override;
    void take_down() override { taken_down_ = true; }

  protected:
    Result<void> start_port(TapPort& port) override;
    void stop_port(TapPort& port) override;
    bool show_links() override;
    [[nodiscard]] std::vector<WorkerState::Queue> queues_of(unsigned) const override { return {}; }
    [[nodiscard]] size_t longest_frame() const override { return peer_cell_bytes + settings_.slot_bytes; }

  private:
    PeerDataplane(const config::Config& config, Fd lock, PuntHandler on_punt)
        : StagelessDataplane(config, std::move(lock), std::move(on_punt)), settings_(config.vfio) {}
    Result<void> set_up(const config::Config& config, const fib::Capacity& capacity, KeeperLink keeper);
    Result<void> open_memory(uint64_t image_bytes);
    void begin_keeping(KeeperLink keeper);
    void assign_lanes();
    Result<void> let_reach(const NicPort& port);
    [[nodiscard]] Result<uint8_t> lane_for(const NicPort& port) const;
    Result<void> write_rings(uint8_t lane, std::span<std::byte> part) const;
    [[nodiscard]] offload::PeerLaneCounters counted(uint16_t port) const;
    void publish();
    void watch_device();
    void memory_removed(offload::PciAddress address);
    void stop_use();
    [[nodiscard]] bool can_be_left() const;
    void leave();
    [[nodiscard]] std::vector<NicPort*> nics() const { return ports_as<NicPort>(); }

    config::Vfio settings_;
    bool runs_ = false;                     ///< the start was not refused
    bool taken_down_ = false;               ///< the end that was asked for
    std::map<std::string, uint8_t> lanes_;  ///< by name: fixed at the start
    struct Mapped {
        std::weak_ptr<offload::DmaDomain> domain;
        unsigned group;
    };
    std::vector<Mapped> mapped_;
    std::map<unsigned, offload::ByteRange> parts_;  ///< by IOMMU group: what its NICs may write
    std::array<offload::PeerLaneCounters, offload::most_peer_lanes> before_{};  ///< at the last reset
    bool owes_programs_ = false;
    PeerHost::State told_;

    // In order of construction: each is used by what comes after it.
    offload::PciTree tree_;
    offload::VfioContainers containers_;
    std::unique_ptr<Keeper> keeper_;  ///< null: there is none
    PayloadMemoryHandle memory_;
    PeerPlan plan_;
    offload::CpuMapping own_part_;  ///< of the memory: all but the ports' parts
    std::unique_ptr<PeerHost> host_;
    PeerPacketIo* io_ = nullptr;  ///< the worker's
    Fd timer_;                    ///< ends the worker's sleep: no interrupt comes from the device
    std::unique_ptr<DeviceEvents> events_;
};

}  // namespace pktpit::router
