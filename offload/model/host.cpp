// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/host.h"

#include <algorithm>

#include "offload/model/tracer.h"

namespace pktpit::model {
namespace {

constexpr uint32_t poll_event = 0;
constexpr uint32_t burst_event = 1;

}  // namespace

HostCpu::HostCpu(Fabric& fabric, std::vector<Nic*> nics, std::vector<HostRings> rings,
                 const CpuSettings& settings)
    : fabric_(fabric),
      nics_(std::move(nics)),
      rings_(std::move(rings)),
      settings_(settings),
      cores_(std::max(settings.cores, 1U)),
      queues_(std::max<size_t>(nics_.empty() ? 1 : rings_.size() / nics_.size(), 1)) {
    for (size_t i = 0; i < cores_.size(); i++)
        cores_[i].next = i;
    for (size_t i = 0; i < rings_.size(); i++)
        places_.push_back({rings_[i].rx, i});
    std::ranges::sort(places_, {}, &Place::begin);
    fabric.root().watch(this);
}

void HostCpu::memory_written(uint64_t address, uint32_t, uint64_t) {
    const auto behind = std::ranges::upper_bound(places_, address, {}, &Place::begin);
    if (behind == places_.begin()) return;
    const size_t index = std::prev(behind)->ring;
    const HostRings& ring = rings_[index];
    if (address >= ring.rx + uint64_t{ring.entries} * ring.rx_stride) return;
    const size_t core = index % cores_.size();
    if (cores_[core].awake) return;
    cores_[core].awake = true;
    fabric_.events().schedule(fabric_.events().now() + settings_.poll_time, *this, poll_event, core);
}

void HostCpu::poll(size_t index) {
    Core& core = cores_[index];
    const size_t step = cores_.size();
    // Rings of this core: index, index + step, …
    const size_t own = index < rings_.size() ? (rings_.size() - index + step - 1) / step : 0;
    for (size_t i = 0; i < own; i++) {
        const size_t ring = core.next;
        core.next = core.next + step < rings_.size() ? core.next + step : index;
        core.count = ready(ring, settings_.burst);
        if (core.count == 0) continue;
        core.ring = ring;
        core.begin = fabric_.events().now();
        const Time cost = settings_.burst_time + core.count * settings_.packet_time +
                          misses(ring, core.count) * settings_.miss_time;
        core.busy += cost;
        fabric_.events().schedule(core.begin + cost, *this, burst_event, index);
        return;
    }
    core.awake = false;
}

CpuCounters HostCpu::counters() const {
    CpuCounters counters = counters_;
    for (const Core& core : cores_) {
        counters.busy += core.busy;
        counters.busiest = std::max(counters.busiest, core.busy);
    }
    return counters;
}

void HostCpu::clear_counters() {
    counters_ = {};
    for (Core& core : cores_)
        core.busy = 0;
}

void HostCpu::give_rings(size_t nic) {
    for (size_t queue = 0; queue < queues_; queue++) {
        const size_t ring = nic * queues_ + queue;
        doorbell(ring, rx_tail_register, rings_[ring].entries);
    }
}

void HostCpu::on_event(uint32_t what, uint64_t argument) {
    if (what == burst_event) {
        const Core& core = cores_[argument];
        counters_.bursts++;
        counters_.packets += core.count;
        process(core.ring, core.count);
    }
    poll(argument);
}

void HostCpu::doorbell(size_t ring, uint64_t which, uint64_t count, uint64_t packet) {
    counters_.doorbells++;
    const Nic& nic = *nics_[nic_of(ring)];
    const uint64_t address =
        nic.bar() + nic.layout().registers + ring % queues_ * NicLayout::queue_register_bytes + which;
    const auto bytes = std::as_bytes(std::span(&count, 1));
    fabric_.root().mmio_write(address, bytes.data(), static_cast<uint32_t>(bytes.size()), packet);
}

void HostCpu::trace(uint64_t packet, const char* step) {
    Tracer* tracer = fabric_.tracer();
    if (!tracer || packet == 0) return;
    const Time now = fabric_.events().now();
    for (const Core& core : cores_)
        if (core.awake && core.begin <= now && core.count > 0)
            return tracer->step(packet, "CPU", step, core.begin, now);
}

}  // namespace pktpit::model
