// SPDX-License-Identifier: BSD-3-Clause
// Waiting for neighbours, and what happens when that ends.
#include <cstring>
#include <utility>

#include "router/slow_path/state.h"

namespace pktpit::router {

std::optional<pp_fib_adjacency> SlowPath::State::complete(const pp_fib_adjacency& adjacency,
                                                          const IpAddress& next_hop) const {
    if (adjacency.kind == PP_ADJ_FORWARD) return adjacency;
    if (adjacency.kind != PP_ADJ_INCOMPLETE && adjacency.kind != PP_ADJ_GLEAN) return std::nullopt;
    const auto mac = environment.neighbour(adjacency.interface, next_hop);
    if (!mac) return std::nullopt;
    pp_fib_adjacency completed = adjacency;
    std::memcpy(completed.dst_mac, mac->bytes.data(), mac->bytes.size());
    completed.kind = PP_ADJ_FORWARD;
    return completed;
}

void SlowPath::State::wait(const NeighbourKey& key, WaitingPacket packet, Clock::time_point now) {
    const NeighbourQueue::Pushed pushed = queue.push(key, std::move(packet), now);
    counters.add(Counter::neighbour_queued);
    counters.add(Counter::neighbour_queue_full, pushed.dropped_full);
    counters.add(Counter::neighbour_memory_full, pushed.dropped_memory);
    if (pushed.put_off) counters.add(Counter::neighbour_limit);
    if (!pushed.request) return;
    request({key});
}

void SlowPath::State::request(const std::vector<NeighbourKey>& neighbours) {
    counters.add(Counter::neighbour_requests, neighbours.size());
    for (const NeighbourKey& key : neighbours)
        environment.resolve(key.interface, key.next_hop);
}

void SlowPath::State::release(std::vector<WaitingPacket> packets, Clock::time_point now, bool give_up) {
    for (WaitingPacket& packet : packets) {
        if (packet.own)
            send_own(std::move(packet.bytes), packet.own_interface, packet.since, now, give_up);
        else
            handle(packet.ingress_port, packet.bytes, packet.since, now, give_up);
    }
}

bool SlowPath::State::transmit(uint16_t port, std::span<const Bytes> parts) {
    const bool sent = environment.transmit(port, parts);
    if (!sent) counters.add(Counter::transmit_failed);
    return sent;
}

}  // namespace pktpit::router
