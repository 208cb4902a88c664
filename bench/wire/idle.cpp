// SPDX-License-Identifier: BSD-3-Clause
#include "bench/wire/idle.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <thread>

#include "bench/harness/failure.h"
#include "bench/harness/topology.h"
#include "bench/wire/pktpit_daemon.h"

namespace pktpit::bench::wire {
namespace {

/// Seconds of CPU time that a process and its threads have taken.
double cpu_seconds(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    std::getline(file, text);
    const size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) throw harness::Failure("pktpitd is gone");
    std::istringstream fields(text.substr(name_end + 1));
    std::string skipped;
    for (int i = 0; i < 11; i++)
        fields >> skipped;
    double user = 0, kernel = 0;
    fields >> user >> kernel;
    return (user + kernel) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

std::vector<report::IdleUse> measure_idle(const std::string& pktpitd, const harness::Workload& workload,
                                          std::chrono::seconds time, harness::Progress& progress) {
    std::vector<report::IdleUse> uses;
    for (const char* polling : {"busy", "adaptive", "interrupt"}) {
        const harness::Topology topology;
        PktpitDaemon daemon(pktpitd, topology, {&workload}, {.forwarding = "split", .polling = polling});
        daemon.start();
        std::this_thread::sleep_for(std::chrono::seconds(1));
        const double before = cpu_seconds(daemon.pid());
        const auto begin = std::chrono::steady_clock::now();
        std::this_thread::sleep_for(time);
        const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
        uses.push_back({polling, (cpu_seconds(daemon.pid()) - before) / elapsed.count()});
        progress.step(fmt::format("idle, polling {}: {:.1f} % of a CPU", polling, uses.back().share * 100));
    }
    return uses;
}

}  // namespace pktpit::bench::wire
