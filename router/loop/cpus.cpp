// SPDX-License-Identifier: BSD-3-Clause
#include "router/loop/cpus.h"

#include <sched.h>

#include <algorithm>

namespace pktpit::router {
namespace {

constexpr size_t most_cpus = 8192;

}  // namespace

std::vector<uint16_t> usable_cpus() {
    std::vector<uint16_t> cpus;
    std::vector<cpu_set_t> set(most_cpus / CPU_SETSIZE);
    const size_t bytes = set.size() * sizeof(cpu_set_t);
    if (sched_getaffinity(0, bytes, set.data()) != 0) return cpus;
    for (size_t cpu = 0; cpu < most_cpus; cpu++)
        if (CPU_ISSET_S(cpu, bytes, set.data())) cpus.push_back(static_cast<uint16_t>(cpu));
    return cpus;
}

std::string cpu_list(const std::vector<uint16_t>& cpus) {
    std::string text;
    for (size_t i = 0; i < cpus.size();) {
        size_t last = i;
        while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1)
            last++;
        text += (text.empty() ? "" : ",") + std::to_string(cpus[i]);
        if (last != i) text += "-" + std::to_string(cpus[last]);
        i = last + 1;
    }
    return text;
}

Result<void> check_cpus(const config::Workers& workers, const std::vector<uint16_t>& usable) {
    for (size_t i = 0; i < workers.cpus.size(); i++)
        if (std::ranges::find(usable, workers.cpus[i]) == usable.end())
            return fail("/workers/cpus/" + std::to_string(i),
                        "there is no CPU " + std::to_string(workers.cpus[i]) + " that pktpitd may use",
                        "one of " + cpu_list(usable),
                        "`lscpu -e` lists the CPUs; a cpuset or taskset takes some away");
    return {};
}

}  // namespace pktpit::router
