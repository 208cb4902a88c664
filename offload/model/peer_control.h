// SPDX-License-Identifier: BSD-3-Clause
/// The control loop's part in peer operations: it compiles a program for each pair of NICs, writes it into
/// the ingress NIC's memory, and tells the NICs when the FIB's generation has changed, so that what was
/// compiled before is not executed any more. It has no part in any packet's way. One thread.
#pragma once

#include "offload/model/operations_firmware.h"

namespace pktpit::model {

struct PeerControlSettings {
    OperationsSettings operations;
    Time compile_time = 0;  ///< the CPU's, for a program
    Time wake_time = 0;     ///< from an interrupt to the control loop, economy
};

struct PeerControlCounters {
    uint64_t programs = 0;  ///< compiled and written
    uint64_t wakes = 0;
    uint64_t generations = 0;
    Time busy = 0;  ///< economy; in performance mode a core spins all the time
};

class PeerControl : public Actor {
  public:
    PeerControl(Fabric& fabric, std::vector<Nic*> nics, const PeerControlSettings& settings);
    /// Writes all programs, and begins to change the FIB if it is to.
    void start();
    /// The NIC has been added: what it needs, and what the others need for it.
    void added(unsigned nic);
    /// No more changes: for draining.
    void stop() { stopped_ = true; }
    void on_event(uint32_t what, uint64_t argument) override;

    [[nodiscard]] const PeerControlCounters& counters() const { return counters_; }
    void clear_counters() { counters_ = {}; }

  private:
    void change();
    void compile(unsigned ingress, unsigned egress);
    void upload(unsigned ingress, unsigned egress);
    void mmio(unsigned nic, uint64_t offset, std::span<const std::byte> bytes);

    Fabric& fabric_;
    std::vector<Nic*> nics_;
    PeerControlSettings settings_;
    uint64_t generation_ = 1;
    Time free_at_ = 0;
    bool stopped_ = false;
    PeerControlCounters counters_;
};

}  // namespace pktpit::model
