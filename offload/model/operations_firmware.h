// SPDX-License-Identifier: BSD-3-Clause
/// P2PNIC by peer operations: the ingress NIC looks the route up and hands batches of packets to the engine
/// (peer_engine.h), which executes what the control loop compiled for the egress; the egress NIC learns of a
/// batch by its doorbell and reads the descriptors in front of the frames in its own memory. Each NIC plays
/// both parts. One thread.
#pragma once

#include "offload/model/peer_engine.h"
#include "offload/model/peer_firmware.h"
#include "offload/peer_ops/compiler.h"

namespace pktpit::model {

/// What the modes of the slides mean here. performance: the control loop spins and compiles as soon as the
/// FIB has changed; the NIC commits what it has whenever the engine is free. economy: the control loop
/// sleeps and compiles what an MSI asks for; the NIC commits full batches, or what has waited long enough.
enum class OperationsMode : uint8_t { economy, performance };
std::string_view to_string(OperationsMode mode);

struct OperationsSettings {
    OperationsMode mode = OperationsMode::economy;
    unsigned batch = 20;  ///< packets of one commit, at most: the slides' batch size
    offload::PeerCompileOptions compile;
    Time generation_every = 0;  ///< the FIB changes so often; 0: never
};

/// Registers of the host, beside host.h's.
inline constexpr uint64_t generation_register = 128;
inline constexpr uint64_t program_register = 192;  ///< egress << 32 | bytes: a program has been written

class OperationsFirmware : public PeerFirmware, private PeerEngineClient {
  public:
    struct Settings {
        OperationsMode mode = OperationsMode::economy;
        unsigned batch = 20;
        Time ingress_time = 0;
        Time egress_time = 0;
        Time commit_wait = 0;      ///< economy: the oldest packet of a batch waits no longer
        uint64_t msi_address = 0;  ///< where an interrupt is written to
        PeerEngineSettings engine;
    };
    OperationsFirmware(Nic& nic, const PeerTransferSettings& transfer, std::vector<uint64_t> bars,
                       Decider& decider, const Settings& settings);

    void frame(uint32_t slot) override;
    void computed(uint32_t what, uint64_t argument) override;
    void written(uint64_t offset, uint32_t length, uint64_t packet) override;
    void dma_done(uint64_t cookie, DmaResult result) override;

    [[nodiscard]] const PeerEngine& engine() const { return engine_; }
    [[nodiscard]] uint64_t packets_launched() const { return packets_launched_; }
    [[nodiscard]] uint64_t interrupts() const { return interrupts_; }

  private:
    struct Waiting {
        uint32_t slot = 0;
        uint16_t port = 0;
        Time since = 0;
    };
    struct Towards {  ///< one egress NIC
        Ring<Waiting> waiting;
        std::vector<Waiting> launched;
        uint64_t sequence = 0;
        bool timer = false;
        bool asked = false;  ///< for a program
    };

    void register_windows();
    void decided(uint32_t slot);
    void try_launch(unsigned egress);
    void launch(unsigned egress, size_t count);
    void ask_for_program(unsigned egress);
    void launch_done(unsigned lane, const PeerOutcome& outcome) override;
    void doorbell_in(unsigned from);
    void announced(unsigned from, uint64_t sequence);

    Decider& decider_;
    Settings settings_;
    PeerEngine engine_;
    std::vector<Towards> towards_;
    std::vector<uint64_t> seen_;  ///< by ingress NIC: entries that its doorbells told of
    std::vector<PeerPacket> packets_;
    uint64_t packets_launched_ = 0;
    uint64_t interrupts_ = 0;
};

/// What the programs of NIC `ingress` for NIC `egress` work on.
offload::PeerRing peer_ring(const NicLayout& layout, uint64_t egress_bar, uint64_t ingress_bar,
                            unsigned ingress, unsigned egress);

}  // namespace pktpit::model
