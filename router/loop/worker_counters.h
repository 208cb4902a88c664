// SPDX-License-Identifier: BSD-3-Clause
/// What a worker counts: written by it alone, read by the daemon at any time. No lock and no atomic
/// read-modify-write: the worker is the only writer.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "bpf/abi.h"
#include "bpf/filter_layout.h"
#include "config/filter.h"
#include "router/loop/destination_log.h"
#include "router/loop/latency.h"
#include "router/loop/port_counters.h"

namespace pktpit::router {

class WorkerCounters {
  public:
    WorkerCounters()
        : ports_(PP_MAX_PORTS),
          routes_(PP_ROUTE_COUNTERS),
          cleared_(PP_ROUTE_COUNTERS),
          latency_(PP_MAX_PORTS) {}

    // The worker's.
    void received(uint16_t port, uint64_t packets, uint64_t bytes) {
        add(ports_[port].rx_packets, packets);
        add(ports_[port].rx_bytes, bytes);
    }
    void sent(uint16_t port, uint64_t packets, uint64_t bytes) {
        add(ports_[port].tx_packets, packets);
        add(ports_[port].tx_bytes, bytes);
    }
    void verdict(uint16_t port, pp_verdict verdict, uint64_t packets = 1) {
        add(ports_[port].verdict[verdict], packets);
    }
    void route(uint16_t counter, uint64_t bytes) {
        add(routes_[counter].packets, 1);
        add(routes_[counter].bytes, bytes);
    }
    /// Of a rule of a filter; `make_filter_counters()` has been called before there are any.
    void filter(uint32_t counter, uint64_t bytes) {
        Route* all = filters_.load(std::memory_order_acquire);
        if (!all) return;
        add(all[counter].packets, 1);
        add(all[counter].bytes, bytes);
    }
    /// Packets that came in by the port: from when they were taken from it to the doorbell of the batch that
    /// they left in.
    void took(uint16_t port, uint64_t nanoseconds, uint64_t packets) {
        latency_[port].add(nanoseconds, packets);
    }

    /// Where packets of auto ports go.
    [[nodiscard]] DestinationLog& destinations() { return destinations_; }

    // The daemon's. reset_port() only while no worker counts for the port.
    [[nodiscard]] pp_port_counters port(uint16_t port) const {
        const Port& from = ports_[port];
        pp_port_counters values{};
        values.rx_packets = from.rx_packets.load(std::memory_order_relaxed);
        values.rx_bytes = from.rx_bytes.load(std::memory_order_relaxed);
        values.tx_packets = from.tx_packets.load(std::memory_order_relaxed);
        values.tx_bytes = from.tx_bytes.load(std::memory_order_relaxed);
        for (size_t i = 0; i < PP_VERDICT_CAPACITY; i++)
            values.verdict[i] = from.verdict[i].load(std::memory_order_relaxed);
        return values;
    }
    [[nodiscard]] pp_port_counters all_ports() const {
        pp_port_counters sum{};
        for (uint16_t id = 0; id < PP_MAX_PORTS; id++)
            add_counters(sum, port(id));
        return sum;
    }
    /// Since clear_route().
    [[nodiscard]] pp_route_counters route(uint16_t counter) const {
        const pp_route_counters& before = cleared_[counter];
        return {routes_[counter].packets.load(std::memory_order_relaxed) - before.packets,
                routes_[counter].bytes.load(std::memory_order_relaxed) - before.bytes};
    }
    /// Room for all counters of filters that there may be: 8 MiB, once there are filters.
    void make_filter_counters() {
        if (filter_memory_) return;
        filter_memory_.reset(new Route[2 * config::most_filter_counters + 1]);
        filters_.store(filter_memory_.get(), std::memory_order_release);
    }
    [[nodiscard]] pp_filter_counters filter(uint32_t counter) const {
        if (!filter_memory_) return {};
        const Route& one = filter_memory_[counter];
        return {one.packets.load(std::memory_order_relaxed), one.bytes.load(std::memory_order_relaxed)};
    }
    [[nodiscard]] LatencyCounts latency(uint16_t port) const { return latency_[port].read(); }
    void reset_port(uint16_t port) {
        ports_[port] = Port();
        latency_[port].reset();
    }
    /// The worker is the only one that writes its counts; so what they are now is remembered instead.
    void clear_route(uint16_t counter) {
        cleared_[counter] = {routes_[counter].packets.load(std::memory_order_relaxed),
                             routes_[counter].bytes.load(std::memory_order_relaxed)};
    }

  private:
    struct Counter : std::atomic<uint64_t> {
        Counter() : std::atomic<uint64_t>(0) {}
        Counter& operator=(const Counter& other) {
            store(other.load(std::memory_order_relaxed), std::memory_order_relaxed);
            return *this;
        }
    };
    struct Port {
        Counter rx_packets, rx_bytes, tx_packets, tx_bytes;
        std::array<Counter, PP_VERDICT_CAPACITY> verdict;
    };
    struct Route {
        Counter packets, bytes;
    };
    static void add(Counter& counter, uint64_t more) {
        counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
    }

    std::vector<Port> ports_;
    std::vector<Route> routes_;
    std::vector<pp_route_counters> cleared_;
    std::vector<LatencyHistogram> latency_;  ///< by ingress port
    DestinationLog destinations_;
    std::unique_ptr<Route[]> filter_memory_;
    std::atomic<Route*> filters_{nullptr};
};

}  // namespace pktpit::router
