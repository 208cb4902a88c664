// SPDX-License-Identifier: BSD-3-Clause
#include "router/model/slice_host.h"

#include <algorithm>
#include <cstring>

namespace pktpit::router {
namespace {

model::CpuSettings with_small_bursts(model::CpuSettings settings) {
    settings.burst = std::min<unsigned>(settings.burst, SliceHost::most_slices);
    return settings;
}

}  // namespace

SliceHost::SliceHost(model::Fabric& fabric, std::vector<model::Nic*> nics,
                     std::vector<model::HostRings> rings, model::CpuSettings settings,
                     const model::PktpitSettings& program)
    : HostCpu(fabric, std::move(nics), std::move(rings), with_small_bursts(settings)),
      program_(program),
      taken_(nics_.size()),
      answered_(nics_.size()) {
    burst_.reserve(most_slices);
}

void SliceHost::start() {
    for (size_t nic = 0; nic < nics_.size(); nic++)
        doorbell(nic, model::rx_tail_register, rings_[nic].entries);
}

size_t SliceHost::ready(size_t nic, size_t most) {
    const model::HostRings& ring = rings_[nic];
    size_t count = 0;
    for (; count < most; count++) {
        const uint64_t entry = (taken_[nic] + count) & (ring.entries - 1);
        model::SliceDescriptor descriptor;
        std::memcpy(&descriptor, memory(ring.rx + entry * ring.rx_stride), sizeof(descriptor));
        if (!descriptor.valid) break;
    }
    return count;
}

void SliceHost::process(size_t nic, size_t count) {
    const model::HostRings& ring = rings_[nic];
    for (size_t i = 0; i < count; i++) {
        const uint64_t entry = taken_[nic]++ & (ring.entries - 1);
        std::byte* at = memory(ring.rx + entry * ring.rx_stride);
        Slice slice;
        slice.nic = static_cast<unsigned>(nic);
        std::memcpy(&slice.descriptor, at, sizeof(slice.descriptor));
        slice.bytes = at + sizeof(slice.descriptor);
        model::SliceDescriptor taken = slice.descriptor;
        taken.valid = 0;
        std::memcpy(at, &taken, sizeof(taken));
        burst_.push_back(slice);
    }
    left_ = count;
    trace(burst_.back().descriptor.packet, "burst: poll, lookup");
}

void SliceHost::answer(size_t index, model::EgressAnswer answer, std::span<const uint8_t> header) {
    const Slice& slice = burst_[index];
    const model::HostRings& ring = rings_[slice.nic];
    const uint64_t entry = answered_[slice.nic]++ & (ring.entries - 1);
    std::byte* at = memory(ring.tx + entry * program_.answer_stride());
    answer.slot = slice.descriptor.slot;
    answer.packet = slice.descriptor.packet;
    std::memcpy(at, &answer, sizeof(answer));
    if (!header.empty()) std::memcpy(at + sizeof(answer), header.data(), header.size());
    counters_.no_route += !answer.forward;
    if (--left_ > 0) return;
    // A burst is of one NIC.
    const unsigned nic = slice.nic;
    const uint64_t last = burst_.back().descriptor.packet;
    burst_.clear();
    doorbell(nic, model::tx_tail_register, answered_[nic], last);
    doorbell(nic, model::rx_tail_register, taken_[nic] + ring.entries);
}

}  // namespace pktpit::router
