// SPDX-License-Identifier: BSD-3-Clause
/// The daemon's side of struct pp_order (bpf/abi.h): how long the port stages wait for a worker and for the
/// daemon, that the daemon moves, and what becomes known of the times that one of them stood still, with its
/// line in the log. The daemon's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "bpf/abi.h"
#include "config/config.h"
#include "router/dataplane/dataplane.h"
#include "router/loop/worker_counter_set.h"

namespace pktpit::router {

class Heartbeat {
  public:
    /// `order` outlives this.
    explicit Heartbeat(pp_order& order) : order_(&order) {}

    void configure(const config::Heartbeat& wanted);
    [[nodiscard]] bool watches_daemon() const {
        return settings_.on_daemon_loss == config::OnDaemonLoss::kernel;
    }
    [[nodiscard]] const config::Heartbeat& settings() const { return settings_; }

    /// Says that the daemon moves. In the log if it had not for long. `now`: CLOCK_MONOTONIC, nanoseconds.
    void beat(uint64_t now);
    /// In the log, if a stage of these ports has stood in since it was told last; after beat(). `names` by
    /// port.
    void tell(const std::map<uint16_t, std::string>& names, const WorkerCounterSet& workers);

    [[nodiscard]] StandIn stand_in(uint16_t port) const;
    /// Does the stage stand in for the worker of a queue right now?
    [[nodiscard]] bool stands_in(uint16_t port, uint32_t queue) const;
    /// The port is another device's from now on.
    void forget(uint16_t port);

  private:
    struct Told {
        uint64_t times = 0;
        uint64_t packets = 0;
        uint64_t stale = 0;
        uint64_t at = 0;
        bool now = false;
    };
    [[nodiscard]] pp_socket_order& socket(uint16_t port, uint32_t queue) const {
        return order_->sockets[port * size_t{PP_PORT_QUEUES} + queue];
    }

    pp_order* order_;
    config::Heartbeat settings_;
    uint64_t last_beat_ = 0;
    std::map<uint16_t, Told> told_;
};

/// Jiffies in so much time, rounded down, so that none waits longer; at least two, since the first is not
/// whole. 0 for 0.
uint32_t jiffies_in(uint64_t nanoseconds);

}  // namespace pktpit::router
