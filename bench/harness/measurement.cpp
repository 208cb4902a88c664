// SPDX-License-Identifier: BSD-3-Clause
#include "bench/harness/measurement.h"

#include <thread>

#include "bench/harness/device.h"

namespace pktpit::bench::harness {

using SteadyClock = std::chrono::steady_clock;

std::string name_of(Cores cores) {
    switch (cores) {
        case Cores::two_core:
            return "two-core";
        case Cores::one_core:
            return "one-core";
        case Cores::free_receive:
            return "free-receive";
        case Cores::no_io:
            return "cpu";
    }
    return {};
}

std::string explain(Cores cores) {
    switch (cores) {
        case Cores::two_core:
            return "generator on core 0; router and sink on core 1: the NAPI thread of the router's ingress "
                   "port, and "
                   "the router's process where it has one";
        case Cores::one_core:
            return "generator, router and sink all on core 1, one batch after the other";
        case Cores::free_receive:
            return "generator and the router's receive softirq on core 0; the router's process, what it "
                   "sends and the "
                   "sink on core 1";
        case Cores::no_io:
            return "one core forwards; frames come from memory and go nowhere";
    }
    return {};
}

unsigned window_of(Cores cores) {
    return cores == Cores::free_receive ? PB_WIDE_WINDOW : PB_WINDOW;
}

unsigned generator_cpu(Cores cores) {
    return cores == Cores::one_core ? router_core : generator_core;
}

void place_cores(const Topology& topology, Cores cores) {
    const bool threaded = cores == Cores::two_core;
    const InNamespace here(topology.router());
    set_threaded_napi(topology.ingress().device, threaded, router_core);
}

Sample measure(const Topology& topology, Family family, Generator& generator, Cores cores,
               const Timing& timing, Arrival arrival) {
    const Sink sink(topology, family, Sink::Mode::count, generator, arrival);
    place_cores(topology, cores);
    const uint64_t router_refusals = topology.refused_by_router();
    const uint64_t sink_refusals = topology.refused_by_sink();
    generator.start(generator_cpu(cores), timing.batch, window_of(cores));
    std::this_thread::sleep_for(timing.warm_up);
    const auto before = sink.counters();
    const auto begin = SteadyClock::now();
    std::this_thread::sleep_for(timing.window);
    const auto after = sink.counters();
    const std::chrono::duration<double, std::micro> elapsed = SteadyClock::now() - begin;

    Sample sample;
    sample.sent = generator.stop();
    // What is still in the router's ring arrives within a millisecond or two.
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    const auto all = sink.counters();
    sample.mpps = static_cast<double>(after.frames - before.frames) / elapsed.count();
    sample.arrived = all.frames;
    sample.refused_by_router = topology.refused_by_router() - router_refusals;
    sample.refused_by_sink = topology.refused_by_sink() - sink_refusals;
    sample.faults = describe_faults(all);
    return sample;
}

}  // namespace pktpit::bench::harness
