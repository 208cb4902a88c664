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
      cores_(std::max(settings.cores, 1U)) {
    for (size_t i = 0; i < cores_.size(); i++)
        cores_[i].next = i;
    fabric.root().watch(this);
}

void HostCpu::memory_written(uint64_t address, uint32_t, uint64_t) {
    for (size_t nic = 0; nic < rings_.size(); nic++) {
        const HostRings& ring = rings_[nic];
        if (address < ring.rx || address >= ring.rx + uint64_t{ring.entries} * ring.rx_stride) continue;
        const size_t core = nic % cores_.size();
        if (cores_[core].awake) return;
        cores_[core].awake = true;
        fabric_.events().schedule(fabric_.events().now() + settings_.poll_time, *this, poll_event, core);
        return;
    }
}

void HostCpu::poll(size_t index) {
    Core& core = cores_[index];
    const size_t step = cores_.size();
    const size_t own = (nics_.size() - index + step - 1) / step;  // NICs of this core: index, index + step, …
    for (size_t i = 0; i < own; i++) {
        const size_t nic = core.next;
        core.next = core.next + step < nics_.size() ? core.next + step : index;
        core.count = ready(nic, settings_.burst);
        if (core.count == 0) continue;
        core.nic = nic;
        core.begin = fabric_.events().now();
        const Time cost = settings_.burst_time + core.count * settings_.packet_time;
        counters_.busy += cost;
        fabric_.events().schedule(core.begin + cost, *this, burst_event, index);
        return;
    }
    core.awake = false;
}

void HostCpu::on_event(uint32_t what, uint64_t argument) {
    if (what == burst_event) {
        const Core& core = cores_[argument];
        counters_.bursts++;
        counters_.packets += core.count;
        process(core.nic, core.count);
    }
    poll(argument);
}

void HostCpu::doorbell(size_t nic, uint64_t which, uint64_t count, uint64_t packet) {
    counters_.doorbells++;
    const uint64_t address = nics_[nic]->bar() + nics_[nic]->layout().registers + which;
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
