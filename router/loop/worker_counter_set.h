// SPDX-License-Identifier: BSD-3-Clause
/// The counters of all workers of a dataplane: each worker writes its own, the daemon reads the sums.
#pragma once

#include <memory>
#include <vector>

#include "router/loop/worker_counters.h"

namespace pktpit::router {

class WorkerCounterSet {
  public:
    explicit WorkerCounterSet(size_t workers) {
        for (size_t i = 0; i < workers; i++)
            each_.push_back(std::make_unique<WorkerCounters>());
    }
    [[nodiscard]] size_t workers() const { return each_.size(); }
    [[nodiscard]] WorkerCounters& of(size_t worker) { return *each_[worker]; }
    [[nodiscard]] const WorkerCounters& of(size_t worker) const { return *each_[worker]; }

    [[nodiscard]] pp_port_counters port(uint16_t port) const {
        pp_port_counters sum{};
        for (const auto& one : each_)
            add_counters(sum, one->port(port));
        return sum;
    }
    [[nodiscard]] pp_route_counters route(uint16_t counter) const {
        pp_route_counters sum{};
        for (const auto& one : each_) {
            const pp_route_counters more = one->route(counter);
            sum.packets += more.packets;
            sum.bytes += more.bytes;
        }
        return sum;
    }
    void make_filter_counters() {
        for (const auto& one : each_)
            one->make_filter_counters();
    }
    [[nodiscard]] pp_filter_counters filter(uint32_t counter) const {
        pp_filter_counters sum{};
        for (const auto& one : each_) {
            const pp_filter_counters more = one->filter(counter);
            sum.packets += more.packets;
            sum.bytes += more.bytes;
        }
        return sum;
    }
    [[nodiscard]] LatencyCounts latency(uint16_t port) const {
        LatencyCounts sum;
        for (const auto& one : each_)
            sum.add(one->latency(port));
        return sum;
    }
    /// Only while no worker counts for the port.
    void reset_port(uint16_t port) {
        for (const auto& one : each_)
            one->reset_port(port);
    }
    void clear_route(uint16_t counter) {
        for (const auto& one : each_)
            one->clear_route(counter);
    }

  private:
    std::vector<std::unique_ptr<WorkerCounters>> each_;
};

}  // namespace pktpit::router
