// SPDX-License-Identifier: BSD-3-Clause
/// The real daemon in a topology's router namespace: configured, started, killed and started again as a user
/// would, with a routes file a family and the sink as a static neighbour. Its files lie below /run, which
/// must be the benchmark's own (make_private_mounts()). One thread.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/topology.h"
#include "bench/harness/workload.h"

namespace pktpit::bench::wire {

struct DaemonSettings {
    std::string forwarding = "inline";  ///< of the xdp dataplane: inline, split or auto
    std::string polling = "busy";       ///< of its workers
    std::string dpdk_driver = {};       ///< the dpdk dataplane on this driver; empty: the xdp dataplane
    unsigned busy_budget = 0;           ///< net_af_xdp's
    /// A group of the aggregation service, whose two workers are behind the source's port.
    bool aggregation = false;
};

/// That group.
inline constexpr std::array<const char*, 2> sum_workers{"198.18.0.2", "198.18.0.3"};
inline constexpr const char* sum_key = "5f3a1c9e7b2d4680";
inline constexpr uint16_t sum_port = 5005;

class PktpitDaemon {
  public:
    /// Writes the configuration; starts nothing. The topology must outlive this.
    PktpitDaemon(std::string binary, const harness::Topology& topology,
                 const std::vector<const harness::Workload*>& workloads, DaemonSettings settings = {});
    /// Stops the daemon if it runs, so that it takes away what it has pinned.
    ~PktpitDaemon();
    PktpitDaemon(const PktpitDaemon&) = delete;
    PktpitDaemon& operator=(const PktpitDaemon&) = delete;

    /// Returns how long it took until the daemon said that it is ready (sd_notify). Throws Failure with the
    /// end of its log if it ends instead, or takes longer than a minute.
    std::chrono::milliseconds start();
    /// kill -9; returns when the process is gone.
    void kill();
    /// Waits until its own thread has nothing left to do: a large table is written once more when links come
    /// up, and beside real-time threads on every core it would never get to it.
    void settle() const;
    /// Its workers get the router's core, in real time; it stands still (SIGSTOP), and goes on.
    void place_workers() const;
    [[nodiscard]] pid_t pid() const { return pid_; }
    void freeze() const;
    void thaw() const;

  private:
    [[nodiscard]] std::string name_of(const harness::Port& port) const;
    void write_configuration(const std::vector<const harness::Workload*>& workloads) const;
    void wait_until_ready(int notifications);
    [[nodiscard]] std::string log_end() const;

    std::string binary_;
    const harness::Topology* topology_;
    std::string folder_;
    DaemonSettings settings_;
    pid_t pid_ = -1;
};

}  // namespace pktpit::bench::wire
