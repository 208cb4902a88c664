// SPDX-License-Identifier: BSD-3-Clause
/// Waits until no port stage runs that could have read the image before the call: memory of it may then be
/// used again. XDP programs run with bottom halves off inside an RCU read-side section, so it takes an RCU
/// grace period of the kernel. Used by XdpDataplane; one thread.
///
/// membarrier(MEMBARRIER_CMD_GLOBAL) is synchronize_rcu() (kernel/sched/membarrier.c) and wants no rights,
/// but is refused with EINVAL where CPUs run without a tick (nohz_full). There, storing into a map of maps
/// does it: kernel/bpf/syscall.c, maybe_wait_bpf_programs(), calls synchronize_rcu() after each change of a
/// BPF_MAP_TYPE_ARRAY_OF_MAPS from user space, and promises that programs which may still have the old inner
/// map have ended when the call returns (since Linux 4.20). That RCU is the one of XDP, too: since Linux 4.20
/// a grace period also waits for sections with bottom halves or preemption off.
#pragma once

#include "base/fd.h"
#include "base/result.h"

namespace pktpit::router {

class RcuBarrier {
  public:
    RcuBarrier() = default;
    /// Which of the two this kernel has is found out here.
    static Result<RcuBarrier> make();
    /// With the map of maps, whatever membarrier() says; for tests.
    static Result<RcuBarrier> make_by_map();

    void wait() const;
    [[nodiscard]] bool by_map() const { return static_cast<bool>(outer_); }

  private:
    Fd inner_;
    Fd outer_;
};

}  // namespace pktpit::router
