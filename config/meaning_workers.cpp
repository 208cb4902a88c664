// SPDX-License-Identifier: BSD-3-Clause
#include <map>

#include "base/json/pointer.h"
#include "config/meaning.h"

namespace pktpit::config {

void check_workers(const Config& settings, Errors& errors) {
    const Workers& workers = settings.workers;
    if (!workers.cpus.empty() && workers.cpus.size() != workers.count)
        errors.push_back({"/workers/count",
                          std::to_string(workers.count) + " workers, but " +
                              std::to_string(workers.cpus.size()) + " in \"cpus\"",
                          "a CPU for each worker", "without \"count\" there are as many workers as CPUs"});
    std::map<uint16_t, size_t> first;
    for (size_t i = 0; i < workers.cpus.size(); i++)
        if (const auto [other, is_new] = first.try_emplace(workers.cpus[i], i); !is_new)
            errors.push_back({at("/workers/cpus", i),
                              "CPU " + std::to_string(workers.cpus[i]) + " is that of worker " +
                                  std::to_string(other->second) + " already",
                              "a CPU of its own for each worker", ""});
    if (settings.dataplane == "model" && workers.count > 1)
        errors.push_back({"/workers/count", "found " + std::to_string(workers.count),
                          "1 with \"dataplane\": \"model\": virtual time has one thread",
                          "the cores that are modelled are the profile's cpu.cores"});
    if (settings.dataplane == "vfio" && workers.count > 1)
        errors.push_back({"/workers/count", "found " + std::to_string(workers.count),
                          "1 with \"dataplane\": \"vfio\": one worker drives all of its NICs", ""});
}

}  // namespace pktpit::config
