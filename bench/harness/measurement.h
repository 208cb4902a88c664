// SPDX-License-Identifier: BSD-3-Clause
/// One measurement: traffic through one topology for one window of time. Used by the measuring thread, which
/// itself only sleeps meanwhile.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "bench/harness/generator.h"
#include "bench/harness/sink.h"
#include "bench/harness/topology.h"

namespace pktpit::bench::harness {

/// Which core pays for what.
enum class Cores {
    two_core,  ///< generator on core 0; router and sink on core 1, in the NAPI thread of the router's ingress
    one_core,  ///< all on core 1, router and sink in the softirq that follows each batch
    no_io,     ///< frames come from memory and go nowhere: one core, no kernel
    free_receive,  ///< a router that is a process: it and what it sends on core 1, the receive softirq on
                   ///< core 0
};

std::string name_of(Cores cores);
std::string explain(Cores cores);

struct Timing {
    std::chrono::milliseconds warm_up{200};
    std::chrono::milliseconds window{600};
    unsigned batch = 64;  ///< frames handed over at a time
};

struct Sample {
    double mpps = 0;    ///< arrived at the sink, a microsecond
    uint64_t sent = 0;  ///< left the generator, warm-up included
    uint64_t arrived = 0;
    uint64_t refused_by_router = 0;  ///< found the router's ring full
    uint64_t refused_by_sink = 0;    ///< found the sink's ring full
    std::string faults;              ///< what the sink found wrong
};

inline constexpr unsigned generator_core = 0;  ///< and where testpmd's command line waits
inline constexpr unsigned router_core = 1;

/// Puts the router's and the sink's NAPI where `cores` says. Again after every attach or detach of XDP there:
/// the kernel makes NAPI, and its threads, anew.
void place_cores(const Topology& topology, Cores cores);
unsigned generator_cpu(Cores cores);
/// Frames on their way at most.
unsigned window_of(Cores cores);

Sample measure(const Topology& topology, Family family, Generator& generator, Cores cores,
               const Timing& timing, Arrival arrival = Arrival::routed);

}  // namespace pktpit::bench::harness
