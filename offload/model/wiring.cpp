// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/wiring.h"

#include <bit>

namespace pktpit::model {

uint64_t MemoryPlan::take(uint64_t bytes) {
    constexpr uint64_t page = 4096;
    const uint64_t at = next_;
    next_ += (bytes + page - 1) / page * page;
    return at;
}

Nics::Nics(Machine& machine) {
    for (unsigned i = 0; i < machine.nic_endpoints.size(); i++) {
        all.push_back(std::make_unique<Nic>(*machine.fabric, *machine.nic_endpoints[i], i,
                                            machine.nic_settings[i], machine.layout));
        pointers.push_back(all.back().get());
        bars.push_back(all.back()->bar());
    }
}

RingShape ring_shape(const Profile& profile, const PktpitSettings& program) {
    return {std::bit_ceil(profile.count("nic.slots")), program.stride(), program.answer_stride()};
}

std::vector<HostRings> plan_rings(MemoryPlan& plan, size_t nics, const RingShape& shape, size_t queues) {
    std::vector<HostRings> rings(nics * queues);
    for (HostRings& ring : rings) {
        ring.entries = shape.entries;
        ring.rx_stride = shape.rx_stride;
        ring.rx = plan.take(uint64_t{shape.entries} * shape.rx_stride);
        ring.tx = plan.take(uint64_t{shape.entries} * shape.tx_stride);
        ring.tx_head = plan.take(64);
    }
    return rings;
}

uint64_t plan_bounce_buffers(MemoryPlan& plan, const Profile& profile, size_t nics) {
    return plan.take(uint64_t{nics} * nics * profile.count("nic.window") * slot_bytes);
}

uint64_t planned_bytes(const Profile& profile, size_t nics, const RingShape& shape, size_t queues,
                       bool bounce) {
    MemoryPlan plan(0);
    if (bounce) plan_bounce_buffers(plan, profile, nics);
    plan_rings(plan, nics, shape, queues);
    return plan.end();
}

PktpitSettings pktpit_settings(const Profile& profile, unsigned slice) {
    PktpitSettings settings;
    settings.slice = slice;
    settings.ingress_time = profile.ns("nic.slice_ns");
    settings.answer_time = profile.ns("nic.answer_ns");
    settings.fetch = profile.count("nic.descriptor_fetch");
    settings.descriptor_batch = profile.count("nic.descriptor_batch");
    return settings;
}

CpuSettings cpu_settings(const Profile& profile, const char* packet_time) {
    CpuSettings settings;
    settings.cores = profile.count("cpu.cores");
    settings.burst = profile.count("cpu.burst");
    settings.burst_time = profile.ns("cpu.burst_ns");
    settings.poll_time = profile.ns("cpu.poll_ns");
    settings.packet_time = profile.ns(packet_time);
    settings.miss_time =
        from_ns(profile.value("memory.read_latency_ns") / profile.value("cpu.misses_at_once"));
    return settings;
}

PeerTransferSettings transfer_settings(const Profile& profile, Transfer transfer, uint64_t bounce_buffers) {
    PeerTransferSettings settings;
    settings.transfer = transfer;
    settings.egress_time = profile.ns("nic.egress_ns");
    settings.bounce_buffers = bounce_buffers;
    settings.descriptor_batch = profile.count("nic.descriptor_batch");
    return settings;
}

}  // namespace pktpit::model
