// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/l3fwd.h"

#include <algorithm>
#include <cstring>

#include "offload/model/rss.h"

namespace pktpit::model {
namespace {

enum Cookie : uint64_t { slot_written = 1, rx_fetched, tx_fetched, frame_read };
constexpr unsigned kind_shift = 56;
constexpr uint32_t receive_event = 0;
constexpr uint32_t writeback_event = 1;
constexpr uint32_t header_bytes = 34;  // Ethernet and IPv4: what forwarding looks at

constexpr unsigned queue_shift = 32;

uint64_t make_cookie(uint64_t kind, size_t queue, uint64_t value) {
    return kind << kind_shift | uint64_t{queue} << queue_shift | value;
}

}  // namespace

L3fwdFirmware::L3fwdFirmware(Nic& nic, const std::vector<HostRings>& rings, const L3fwdSettings& settings)
    : nic_(nic), settings_(settings), queues_(rings.size()) {
    for (size_t i = 0; i < rings.size(); i++) {
        queues_[i].rings = rings[i];
        queues_[i].read.resize(rings[i].entries);
        queues_[i].rx.copy.resize(rings[i].entries);
        queues_[i].tx.copy.resize(rings[i].entries);
    }
}

void L3fwdFirmware::frame(uint32_t slot) {
    const Time latency = nic_.settings().receive_latency;
    if (latency == 0) return computed(receive_event, slot);
    nic_.fabric().events().schedule(nic_.fabric().events().now() + latency, nic_, receive_event, slot);
}

void L3fwdFirmware::computed(uint32_t what, uint64_t argument) {
    if (what == writeback_event) return look_at_deadline(argument);
    const auto slot = static_cast<uint32_t>(argument);
    const size_t queue =
        rss_queue({nic_.frame_of(slot), nic_.meta(slot).length}, static_cast<uint32_t>(queues_.size()));
    queues_[queue].waiting.push(slot);
    deliver_waiting(queue);
}

void L3fwdFirmware::deliver_waiting(size_t index) {
    Queue& queue = queues_[index];
    Fetched& rx = queue.rx;
    const Time now = nic_.fabric().events().now();
    while (!queue.waiting.empty() && rx.used < rx.got) {
        const uint32_t slot = queue.waiting.pop();
        const uint64_t entry = rx.used++ & (queue.rings.entries - 1);
        const Nic::Meta& meta = nic_.meta(slot);
        HostDescriptor descriptor = rx.copy[entry];
        nic_.dma().write(descriptor.address, nic_.frame_of(slot), meta.length,
                         {make_cookie(slot_written, 0, slot), meta.packet, false, TlpType::memory_write});
        descriptor.length = static_cast<uint16_t>(meta.length);
        descriptor.port = static_cast<uint8_t>(meta.port);
        descriptor.done = 1;
        descriptor.packet = static_cast<uint32_t>(meta.packet);
        if (queue.written_back + 1 == rx.used) queue.deadline = now + settings_.writeback_wait;
        rx.copy[entry] = descriptor;
        if (rx.used % settings_.writeback_batch == 0) {
            write_back(queue);
        } else if (!queue.timer) {
            queue.timer = true;
            nic_.fabric().events().schedule(queue.deadline, nic_, writeback_event, index);
        }
    }
    fetch(index, rx, queue.rings.rx, rx_fetched, settings_.prefetched);
}

/// The copies are what is written: the host gives none of them out again before it has seen it.
void L3fwdFirmware::write_back(Queue& queue) {
    const uint64_t entries = queue.rings.entries;
    while (queue.written_back < queue.rx.used) {
        const uint64_t entry = queue.written_back & (entries - 1);
        const uint64_t count = std::min(queue.rx.used - queue.written_back, entries - entry);
        queue.written_back += count;
        nic_.dma().write(
            queue.rings.rx + entry * HostRings::descriptor_bytes,
            reinterpret_cast<const std::byte*>(&queue.rx.copy[entry]),
            static_cast<uint32_t>(count * HostRings::descriptor_bytes),
            {Requester::no_cookie, queue.rx.copy[entry + count - 1].packet, false, TlpType::memory_write});
    }
}

void L3fwdFirmware::look_at_deadline(size_t index) {
    Queue& queue = queues_[index];
    queue.timer = false;
    if (queue.written_back == queue.rx.used) return;
    if (queue.deadline <= nic_.fabric().events().now()) return write_back(queue);
    // That line has gone; another has begun since.
    queue.timer = true;
    nic_.fabric().events().schedule(queue.deadline, nic_, writeback_event, index);
}

/// Whole batches: a ring's end or its tail alone make smaller ones.
void L3fwdFirmware::fetch(size_t queue, Fetched& ring, uint64_t base, uint64_t kind, uint64_t most,
                          uint64_t packet) {
    const uint64_t entries = ring.copy.size();
    while (ring.asked < ring.posted && ring.asked - ring.used < most) {
        const uint64_t entry = ring.asked & (entries - 1);
        const uint64_t count =
            std::min({uint64_t{settings_.fetch}, ring.posted - ring.asked, entries - entry});
        if (kind == rx_fetched && count < settings_.fetch && ring.used < ring.got) return;
        ring.asked += count;
        nic_.dma().read(base + entry * HostRings::descriptor_bytes,
                        reinterpret_cast<std::byte*>(&ring.copy[entry]),
                        static_cast<uint32_t>(count * HostRings::descriptor_bytes),
                        {make_cookie(kind, queue, count), packet, false, TlpType::memory_write});
    }
}

void L3fwdFirmware::written(uint64_t offset, uint32_t, uint64_t packet) {
    const uint64_t place = offset - nic_.layout().registers;
    const size_t index = place / NicLayout::queue_register_bytes;
    if (offset < nic_.layout().registers || index >= queues_.size()) return;
    const uint64_t which = place % NicLayout::queue_register_bytes;
    Queue& queue = queues_[index];
    uint64_t count = 0;
    std::memcpy(&count, nic_.memory(offset), sizeof(count));
    if (which == rx_tail_register) {
        queue.rx.posted = count;
        fetch(index, queue.rx, queue.rings.rx, rx_fetched, settings_.prefetched);
    } else if (which == tx_tail_register) {
        queue.tx.posted = count;
        fetch(index, queue.tx, queue.rings.tx, tx_fetched, queue.rings.entries, packet);
    }
}

void L3fwdFirmware::dma_done(uint64_t cookie, DmaResult result) {
    const auto value = static_cast<uint32_t>(cookie);
    const size_t index = cookie >> queue_shift & ((1U << (kind_shift - queue_shift)) - 1);
    Queue& queue = queues_[index];
    switch (cookie >> kind_shift) {
        case slot_written:
            nic_.free_slot(value);
            start_sending();
            break;
        case rx_fetched:
            queue.rx.got += value;
            deliver_waiting(index);
            break;
        case tx_fetched:
            queue.tx.got += value;
            start_sending();
            break;
        case frame_read: {
            Nic::Meta& meta = nic_.meta(value);
            if (result != DmaResult::done) meta.length = 0;
            queue.read[meta.user] = uint64_t{value} + 1;
            send_what_was_read(queue);
            break;
        }
        default:
            break;
    }
}

/// Queues take turns, a frame each.
void L3fwdFirmware::start_sending() {
    for (size_t idle = 0; idle < queues_.size();) {
        if (queues_[turn_].tx.used == queues_[turn_].tx.got) {
            idle++;
        } else {
            const uint32_t slot = nic_.take_slot();
            if (slot == Nic::no_slot) return;
            idle = 0;
            send_next(turn_, slot);
        }
        turn_ = turn_ + 1 < queues_.size() ? turn_ + 1 : 0;
    }
}

void L3fwdFirmware::send_next(size_t index, uint32_t slot) {
    Queue& queue = queues_[index];
    const uint64_t entry = queue.tx.used++ & (queue.rings.entries - 1);
    const HostDescriptor& descriptor = queue.tx.copy[entry];
    nic_.meta(slot) = {descriptor.length, descriptor.port, descriptor.packet, entry};
    nic_.dma().read(descriptor.address, nic_.frame_of(slot), descriptor.length,
                    {make_cookie(frame_read, index, slot), descriptor.packet, false, TlpType::memory_write});
}

/// In the ring's order, whatever order reads end in. The CPU may have the buffers back: it is told so a batch
/// at a time.
void L3fwdFirmware::send_what_was_read(Queue& queue) {
    for (;;) {
        uint64_t& read = queue.read[queue.head & (queue.rings.entries - 1)];
        if (read == 0) break;
        const auto slot = static_cast<uint32_t>(read - 1);
        read = 0;
        queue.head++;
        const Nic::Meta& meta = nic_.meta(slot);
        if (meta.length > 0) {
            nic_.transmit(meta.port, nic_.frame_of(slot), meta.length, meta.packet, slot);
        } else {
            nic_.counters().dma_errors++;
            nic_.free_slot(slot);
        }
    }
    if (queue.head / settings_.head_batch == queue.told / settings_.head_batch) return;
    queue.told = queue.head;
    nic_.dma().write_copy(queue.rings.tx_head, std::as_bytes(std::span(&queue.told, 1)), {});
}

void L3fwdFirmware::transmitted(uint64_t cookie) {
    nic_.free_slot(static_cast<uint32_t>(cookie));
    start_sending();
}

L3fwdHost::L3fwdHost(Fabric& fabric, std::vector<Nic*> nics, std::vector<HostRings> rings,
                     const CpuSettings& settings, Decider& decider, uint64_t buffers)
    : HostCpu(fabric, std::move(nics), std::move(rings), settings), decider_(decider) {
    size_t all = settings.burst;
    for (const HostRings& ring : rings_) {
        rings_of_.emplace_back().tx_buffers.resize(ring.entries);
        rx_buffers_.emplace_back(ring.entries);
        all += size_t{2} * ring.entries;
    }
    for (size_t i = all; i-- > 0;)
        free_.push_back(buffers + i * slot_bytes);
}

void L3fwdHost::start() {
    for (size_t ring = 0; ring < rings_of_.size(); ring++) {
        for (uint64_t entry = 0; entry < rings_[ring].entries; entry++)
            post(ring, entry);
        doorbell(ring, rx_tail_register, rings_[ring].entries);
    }
}

void L3fwdHost::post(size_t ring, uint64_t entry) {
    HostDescriptor descriptor;
    descriptor.address = free_.back();
    free_.pop_back();
    rx_buffers_[ring][entry] = descriptor.address;
    const uint64_t place = rings_[ring].rx + entry * sizeof(descriptor);
    std::memcpy(memory(place), &descriptor, sizeof(descriptor));
    touch(place, sizeof(descriptor), true);
}

size_t L3fwdHost::ready(size_t index, size_t most) {
    const HostRings& ring = rings_[index];
    size_t count = 0;
    for (; count < most; count++) {
        const uint64_t entry = (rings_of_[index].taken + count) & (ring.entries - 1);
        HostDescriptor descriptor;
        std::memcpy(&descriptor, memory(ring.rx + entry * sizeof(descriptor)), sizeof(descriptor));
        if (!descriptor.done) break;
    }
    return count;
}

/// A descriptor and the frame's header for each.
size_t L3fwdHost::misses(size_t index, size_t count) {
    if (!fabric_.root().memory().llc().there()) return 0;
    size_t misses = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t entry = (rings_of_[index].taken + i) & (rings_[index].entries - 1);
        misses += touch(rings_[index].rx + entry * HostRings::descriptor_bytes, HostRings::descriptor_bytes);
        misses += touch(rx_buffers_[index][entry], header_bytes);
    }
    return misses;
}

void L3fwdHost::process(size_t index, size_t count) {
    const HostRings& ring = rings_[index];
    const size_t nic = nic_of(index);
    uint64_t last = 0;
    uint64_t touched = 0;  // bit i: NIC i got something to send
    for (size_t i = 0; i < count; i++) {
        const uint64_t entry = rings_of_[index].taken++ & (ring.entries - 1);
        HostDescriptor descriptor;
        std::memcpy(&descriptor, memory(ring.rx + entry * sizeof(descriptor)), sizeof(descriptor));
        last = descriptor.packet;
        trace(descriptor.packet, "burst: poll, lookup");
        const uint64_t buffer = rx_buffers_[index][entry];
        const Egress egress =
            decider_.decide(static_cast<unsigned>(nic), descriptor.port, memory(buffer), descriptor.length);
        if (egress.forward && send(ring_to(egress.nic, index), egress, descriptor, buffer)) {
            touched |= uint64_t{1} << egress.nic;
        } else {
            counters_.no_route += !egress.forward;
            free_.push_back(buffer);
        }
        post(index, entry);
    }
    for (size_t to = 0; touched != 0; to++, touched >>= 1) {
        if (!(touched & 1)) continue;
        const size_t egress = ring_to(to, index);
        doorbell(egress, tx_tail_register, rings_of_[egress].tx_tail, last);
    }
    doorbell(index, rx_tail_register, rings_of_[index].taken + ring.entries);
}

bool L3fwdHost::send(size_t to, const Egress& egress, const HostDescriptor& received, uint64_t buffer) {
    Queue& queue = rings_of_[to];
    const HostRings& ring = rings_[to];
    reclaim(to);
    if (queue.tx_tail - queue.tx_reclaimed == ring.entries) {
        counters_.tx_full++;
        return false;
    }
    const uint64_t entry = queue.tx_tail++ & (ring.entries - 1);
    const HostDescriptor descriptor{buffer, received.length, static_cast<uint8_t>(egress.port), 0,
                                    received.packet};
    queue.tx_buffers[entry] = buffer;
    const uint64_t place = ring.tx + entry * sizeof(descriptor);
    std::memcpy(memory(place), &descriptor, sizeof(descriptor));
    touch(place, sizeof(descriptor), true);
    touch(buffer, header_bytes, true);
    return true;
}

void L3fwdHost::reclaim(size_t ring) {
    Queue& queue = rings_of_[ring];
    uint64_t head = 0;
    std::memcpy(&head, memory(rings_[ring].tx_head), sizeof(head));
    while (queue.tx_reclaimed < head)
        free_.push_back(queue.tx_buffers[queue.tx_reclaimed++ & (rings_[ring].entries - 1)]);
}

}  // namespace pktpit::model
