// SPDX-License-Identifier: BSD-3-Clause
/// What is sampled of packets, and what ports have counted, sent to sFlow collectors (docs/sflow.md). One
/// thread, the daemon's. Sockets are UDP and never wait: what a collector's socket does not take is lost and
/// counted, and a collector that is gone slows nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "bpf/abi.h"
#include "config/config.h"
#include "router/observe/observation.h"
#include "router/sflow/datagram.h"

namespace pktpit::router {

class SflowExporter {
  public:
    using Time = std::chrono::steady_clock::time_point;
    /// What it asks of the rest of the daemon, by port.
    struct Sources {
        std::function<pp_port_counters(uint16_t port)> counters;
        std::function<uint64_t(uint16_t port)> lost;  ///< samples that found no room on their way, ever
    };
    struct Port {
        uint32_t ifindex = 0;  ///< 0: its device is absent
        bool up = false;
        uint32_t one_in = 0;  ///< packets; 0: it is not sampled
        bool operator==(const Port&) const = default;
    };
    /// Flow samples between two ticks: more of them would take the daemon's time from others.
    static constexpr uint32_t most_per_tick = 1000;
    using Ports = std::map<uint16_t, Port>;
    struct Counts {
        uint64_t flow_samples = 0;
        uint64_t counter_samples = 0;
        uint64_t skipped = 0;    ///< samples above most_per_tick
        uint64_t datagrams = 0;  ///< sent, to each collector
        uint64_t not_sent = 0;   ///< that a collector's socket did not take
    };

    SflowExporter(Sources sources, Time started) : sources_(std::move(sources)), started_(started) {}

    /// From now on these collectors and these ports. A collector without a route is tried again with each
    /// datagram. Errors: no socket, or an agent's datagrams cannot go that way; all goes on as before.
    Result<void> configure(const config::Sflow& wanted);
    void set_ports(Ports ports) { ports_ = std::move(ports); }
    [[nodiscard]] const Ports& ports() const { return ports_; }
    [[nodiscard]] const config::Sflow& settings() const { return settings_; }
    /// Does anybody want samples?
    [[nodiscard]] bool is_on() const { return !collectors_.empty(); }
    /// Bytes of a frame that go with its sample.
    [[nodiscard]] uint32_t header_bytes() const { return settings_.header_bytes; }

    /// A packet that was observed, where one in `observed_one_in` is: taken or not, so that the port's rate
    /// comes out.
    void observe(const Observation& seen, uint32_t observed_one_in);
    /// Every 100 ms: what waits is sent, and counters when it is time.
    void tick(Time now);
    [[nodiscard]] const Counts& counts() const { return counts_; }

  private:
    struct Collector {
        config::SflowCollector address;
        Fd socket;
    };
    struct Sequences {
        uint32_t flow = 0, counter = 0;
        uint64_t skipped = 0;
    };
    static Result<Collector> open(const config::SflowCollector& address);
    [[nodiscard]] SflowOutput output_of(const Observation& seen) const;
    template <class Sample>
    void add(const Sample& sample);
    void send();

    Sources sources_;
    Time started_;
    config::Sflow settings_;
    std::vector<Collector> collectors_;
    Ports ports_;
    std::map<uint16_t, Sequences> sequences_;
    std::optional<SflowDatagram> waiting_;
    uint32_t datagram_ = 0;
    uint32_t in_this_tick_ = 0;
    std::optional<Time> counters_due_;
    std::minstd_rand random_;
    Counts counts_;
};

/// Where a packet of this verdict went, other than out of a port.
SflowOutput sflow_output_of(pp_verdict verdict);

}  // namespace pktpit::router
