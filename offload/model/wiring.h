// SPDX-License-Identifier: BSD-3-Clause
/// How the NICs of a machine and their rings in main memory are put together, the same for an experiment and
/// for the daemon on modelled hardware: settings out of the profile, addresses out of a plan. Whoever runs
/// programs on modelled NICs calls it, once, before virtual time begins. Never loads a program. One thread.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "offload/model/build.h"
#include "offload/model/host.h"
#include "offload/model/peer_firmware.h"
#include "offload/model/pktpit_program.h"

namespace pktpit::model {

/// Main memory, given out from its beginning in pages.
class MemoryPlan {
  public:
    explicit MemoryPlan(uint64_t base) : next_(base) {}
    uint64_t take(uint64_t bytes);
    [[nodiscard]] uint64_t end() const { return next_; }

  private:
    uint64_t next_;
};

/// A machine's NICs, by index.
struct Nics {
    explicit Nics(Machine& machine);
    std::vector<std::unique_ptr<Nic>> all;
    std::vector<Nic*> pointers;
    std::vector<uint64_t> bars;
};

/// Rings between the CPU and each NIC.
struct RingShape {
    uint32_t entries = 1024;
    uint32_t rx_stride = HostRings::descriptor_bytes;
    uint32_t tx_stride = HostRings::descriptor_bytes;
};
/// Those of a program whose CPU is told of every slot.
RingShape ring_shape(const Profile& profile, const PktpitSettings& program);

/// `queues` of each NIC, NIC by NIC.
std::vector<HostRings> plan_rings(MemoryPlan& plan, size_t nics, const RingShape& shape, size_t queues = 1);
uint64_t plan_bounce_buffers(MemoryPlan& plan, const Profile& profile, size_t nics);
/// Main memory that both take; without `bounce` only the rings.
uint64_t planned_bytes(const Profile& profile, size_t nics, const RingShape& shape, size_t queues = 1,
                       bool bounce = true);

/// `slice`: bytes of a frame that go to the CPU.
PktpitSettings pktpit_settings(const Profile& profile, unsigned slice);
/// `packet_time`: the profile's constant.
CpuSettings cpu_settings(const Profile& profile, const char* packet_time);
PeerTransferSettings transfer_settings(const Profile& profile, Transfer transfer, uint64_t bounce_buffers);

}  // namespace pktpit::model
