// SPDX-License-Identifier: BSD-3-Clause
#include "bench/wire/kill_restart.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "bench/harness/generator.h"
#include "bench/harness/sink.h"
#include "bench/harness/topology.h"
#include "bench/wire/pktpit_daemon.h"

namespace pktpit::bench::wire {
namespace {

using std::this_thread::sleep_for;

}  // namespace

report::KillRestartResult test_kill_restart(const harness::Workload& workload, harness::Cores cores,
                                            const harness::Timing& timing, const KillRestartPlan& plan,
                                            harness::Progress& progress) {
    report::KillRestartResult result;
    result.family = workload.prefixes.front().address.family;
    result.cores = cores;
    result.workload = workload.description;
    result.kills = plan.kills;

    const harness::Topology topology;
    PktpitDaemon daemon(plan.binary, topology, {&workload});
    daemon.start();
    harness::Generator generator(topology, result.family, workload.destinations);
    result.full_mpps = harness::measure(topology, result.family, generator, cores, timing).mpps;
    progress.step(fmt::format("full rate {:.3f} Mpps", result.full_mpps));

    const harness::Sink sink(topology, result.family, harness::Sink::Mode::sequence, generator);
    harness::place_cores(topology, cores);
    const uint64_t router_refusals = topology.refused_by_router();
    const uint64_t sink_refusals = topology.refused_by_sink();
    const auto begin = std::chrono::steady_clock::now();
    generator.start_paced(harness::generator_cpu(cores), timing.batch, result.full_mpps * 1e6 / 2);
    for (unsigned kill = 0; kill < plan.kills; kill++) {
        sleep_for(plan.alive);
        daemon.kill();
        const auto killed = std::chrono::steady_clock::now();
        sleep_for(plan.dead);
        const auto start = daemon.start();
        result.longest_start = std::max(result.longest_start, start);
        result.without_daemon +=
            std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - killed);
        progress.step(fmt::format("kill -9 and restart {}: ready after {} ms", kill + 1, start.count()));
    }
    sleep_for(plan.alive);
    result.sent = generator.stop();
    const std::chrono::duration<double, std::micro> elapsed = std::chrono::steady_clock::now() - begin;
    result.offered_mpps = static_cast<double>(result.sent) / elapsed.count();
    const auto counters = harness::drain(sink, result.sent);
    result.arrived = counters.frames;
    result.late = counters.late;
    result.faults = harness::describe_faults(counters);
    result.refused_by_router = topology.refused_by_router() - router_refusals;
    result.refused_by_sink = topology.refused_by_sink() - sink_refusals;
    return result;
}

size_t kill_restart_steps(const KillRestartPlan& plan) {
    return 1 + plan.kills;
}

}  // namespace pktpit::bench::wire
