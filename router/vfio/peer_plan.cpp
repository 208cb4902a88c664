// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/peer_plan.h"

#include "offload/nic/e1000e.h"
#include "offload/nic/layout.h"
#include "offload/peer_ops/device_memory.h"
#include "offload/peer_ops/operation.h"

namespace pktpit::router {
namespace {

constexpr uint64_t mib = 1 << 20;

uint64_t rounded(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

}  // namespace

PeerPlan plan_peer_memory(const config::Vfio& settings, uint64_t image_bytes, size_t ports) {
    using offload::whole_pages;
    constexpr uint64_t cache_line = 64;
    PeerPlan plan;
    plan.queue_slot_bytes =
        rounded(offload::peer_descriptor_bytes + peer_cell_bytes + settings.slot_bytes, cache_line);
    const uint64_t queue_bytes = whole_pages(settings.peer->queue_frames * plan.queue_slot_bytes);
    plan.to_host = offload::PeerMemoryMap::end;
    plan.from_host = plan.to_host + queue_bytes;
    plan.image = plan.from_host + queue_bytes;
    plan.image_bytes = image_bytes;
    plan.ports = rounded(plan.image + image_bytes, mib);

    const uint64_t entries = settings.rx_descriptors;
    plan.tx_ring = whole_pages(entries * offload::E1000e::rx_descriptor_bytes);
    plan.rings_bytes =
        plan.tx_ring + whole_pages(settings.tx_descriptors * offload::E1000e::tx_descriptor_bytes);
    plan.templates = plan.rings_bytes;
    plan.cells = plan.templates + whole_pages(entries * offload::E1000e::rx_descriptor_bytes);
    plan.payloads = plan.cells + whole_pages(entries * peer_cell_bytes);
    plan.port_bytes = whole_pages(plan.payloads + entries * settings.slot_bytes);
    plan.end = plan.port(ports);
    return plan;
}

}  // namespace pktpit::router
