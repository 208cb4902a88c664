// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/auto_ports.h"

#include <algorithm>

namespace pktpit::router {

Result<AutoPorts> AutoPorts::open(const PortMaps& maps) {
    AutoPorts ports;
    auto order = MappedImage::map(maps.order.get(), true);
    if (!order) return tl::unexpected(order.error());
    ports.order_ = std::move(*order);
    return ports;
}

Result<void> AutoPorts::begin_sampling(PortMaps& maps) {
    if (!readers_.empty()) return {};
    auto map = make_samples_map();
    if (!map) return tl::unexpected(map.error());
    auto mapped = MappedImage::map(map->get(), true);
    if (!mapped) return tl::unexpected(mapped.error());
    maps.samples = std::move(*map);
    samples_ = std::move(*mapped);
    readers_.resize(samples_.memory().size() / sizeof(pp_samples));
    return {};
}

void AutoPorts::collect(HotChoice& choice, WorkerCounterSet& workers) {
    auto* all = reinterpret_cast<pp_samples*>(samples_.memory().data());
    double decided_here = 0;
    for (size_t cpu = 0; cpu < readers_.size(); cpu++)
        decided_here += readers_[cpu].read(all[cpu], choice);
    double decided_there = 0;
    for (size_t worker = 0; worker < workers.workers(); worker++)
        decided_there += collect_log(choice, workers.of(worker).destinations());
    choice.passed(decided_here, decided_there);
}

double AutoPorts::collect_log(HotChoice& choice, DestinationLog& log) {
    seen_.clear();
    const uint64_t packets = log.drain([this](std::span<const pp_destination> part) {
        seen_.insert(seen_.end(), part.begin(), part.end());
    });
    // Those that were left out count as those that were not.
    const double each =
        seen_.empty() ? 0 : std::max(1.0, static_cast<double>(packets) / static_cast<double>(seen_.size()));
    for (const pp_destination& destination : seen_)
        choice.missed(destination, each);
    return static_cast<double>(packets);
}

void AutoPorts::guard(bool on) {
    __atomic_store_n(&order()->guarding, on ? 1U : 0U, __ATOMIC_SEQ_CST);
}

}  // namespace pktpit::router
