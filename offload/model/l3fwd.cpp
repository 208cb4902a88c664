// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/l3fwd.h"

#include <algorithm>
#include <cstring>

namespace pktpit::model {
namespace {

enum Cookie : uint64_t { slot_written = 1, rx_fetched, tx_fetched, frame_read };
constexpr unsigned kind_shift = 56;
constexpr uint64_t receive_event = 0;

uint64_t make_cookie(uint64_t kind, uint64_t value) {
    return kind << kind_shift | value;
}

}  // namespace

L3fwdFirmware::L3fwdFirmware(Nic& nic, const HostRings& rings, const L3fwdSettings& settings)
    : nic_(nic), rings_(rings), settings_(settings), read_(rings.entries) {
    rx_.copy.resize(rings.entries);
    tx_.copy.resize(rings.entries);
}

void L3fwdFirmware::frame(uint32_t slot) {
    const Time latency = nic_.settings().receive_latency;
    if (latency == 0) return computed(receive_event, slot);
    nic_.fabric().events().schedule(nic_.fabric().events().now() + latency, nic_, receive_event, slot);
}

void L3fwdFirmware::computed(uint32_t, uint64_t argument) {
    waiting_.push(static_cast<uint32_t>(argument));
    deliver_waiting();
}

void L3fwdFirmware::deliver_waiting() {
    while (!waiting_.empty() && rx_.used < rx_.got) {
        const uint32_t slot = waiting_.pop();
        const uint64_t entry = rx_.used++ & (rings_.entries - 1);
        const Nic::Meta& meta = nic_.meta(slot);
        HostDescriptor descriptor = rx_.copy[entry];
        nic_.dma().write(descriptor.address, nic_.frame_of(slot), meta.length,
                         {make_cookie(slot_written, slot), meta.packet, false, TlpType::memory_write});
        descriptor.length = static_cast<uint16_t>(meta.length);
        descriptor.port = static_cast<uint8_t>(meta.port);
        descriptor.done = 1;
        descriptor.packet = static_cast<uint32_t>(meta.packet);
        nic_.dma().write_copy(rings_.rx + entry * sizeof(descriptor),
                              std::as_bytes(std::span(&descriptor, 1)),
                              {Requester::no_cookie, meta.packet, false, TlpType::memory_write});
    }
    fetch(rx_, rings_.rx, rx_fetched, settings_.prefetched);
}

/// Whole batches: a ring's end or its tail alone make smaller ones.
void L3fwdFirmware::fetch(Fetched& ring, uint64_t base, uint64_t kind, uint64_t most, uint64_t packet) {
    while (ring.asked < ring.posted && ring.asked - ring.used < most) {
        const uint64_t entry = ring.asked & (rings_.entries - 1);
        const uint64_t count =
            std::min({uint64_t{settings_.fetch}, ring.posted - ring.asked, rings_.entries - entry});
        if (kind == rx_fetched && count < settings_.fetch && ring.used < ring.got) return;
        ring.asked += count;
        nic_.dma().read(base + entry * HostRings::descriptor_bytes,
                        reinterpret_cast<std::byte*>(&ring.copy[entry]),
                        static_cast<uint32_t>(count * HostRings::descriptor_bytes),
                        {make_cookie(kind, count), packet, false, TlpType::memory_write});
    }
}

void L3fwdFirmware::written(uint64_t offset, uint32_t, uint64_t packet) {
    const uint64_t which = offset - nic_.layout().registers;
    uint64_t count = 0;
    std::memcpy(&count, nic_.memory(offset), sizeof(count));
    if (which == rx_tail_register) {
        rx_.posted = count;
        fetch(rx_, rings_.rx, rx_fetched, settings_.prefetched);
    } else if (which == tx_tail_register) {
        tx_.posted = count;
        fetch(tx_, rings_.tx, tx_fetched, rings_.entries, packet);
    }
}

void L3fwdFirmware::dma_done(uint64_t cookie, DmaResult result) {
    const uint64_t value = cookie & ((uint64_t{1} << kind_shift) - 1);
    switch (cookie >> kind_shift) {
        case slot_written:
            nic_.free_slot(static_cast<uint32_t>(value));
            start_sending();
            break;
        case rx_fetched:
            rx_.got += value;
            deliver_waiting();
            break;
        case tx_fetched:
            tx_.got += value;
            start_sending();
            break;
        case frame_read: {
            const auto slot = static_cast<uint32_t>(value);
            Nic::Meta& meta = nic_.meta(slot);
            if (result != DmaResult::done) meta.length = 0;
            read_[meta.user] = slot + 1;
            send_what_was_read();
            break;
        }
        default:
            break;
    }
}

void L3fwdFirmware::start_sending() {
    while (tx_.used < tx_.got) {
        const uint32_t slot = nic_.take_slot();
        if (slot == Nic::no_slot) return;
        const uint64_t entry = tx_.used++ & (rings_.entries - 1);
        const HostDescriptor& descriptor = tx_.copy[entry];
        nic_.meta(slot) = {descriptor.length, descriptor.port, descriptor.packet, entry};
        nic_.dma().read(descriptor.address, nic_.frame_of(slot), descriptor.length,
                        {make_cookie(frame_read, slot), descriptor.packet, false, TlpType::memory_write});
    }
}

/// In the ring's order, whatever order reads end in. The CPU may have the buffers back: it is told so a batch
/// at a time.
void L3fwdFirmware::send_what_was_read() {
    for (;;) {
        uint64_t& read = read_[head_ & (rings_.entries - 1)];
        if (read == 0) break;
        const auto slot = static_cast<uint32_t>(read - 1);
        read = 0;
        head_++;
        const Nic::Meta& meta = nic_.meta(slot);
        if (meta.length > 0) {
            nic_.transmit(meta.port, nic_.frame_of(slot), meta.length, meta.packet, slot);
        } else {
            nic_.counters().dma_errors++;
            nic_.free_slot(slot);
        }
    }
    if (head_ / settings_.head_batch == told_ / settings_.head_batch) return;
    told_ = head_;
    nic_.dma().write_copy(rings_.tx_head, std::as_bytes(std::span(&told_, 1)), {});
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
        queues_.emplace_back().tx_buffers.resize(ring.entries);
        rx_buffers_.emplace_back(ring.entries);
        all += size_t{2} * ring.entries;
    }
    for (size_t i = all; i-- > 0;)
        free_.push_back(buffers + i * slot_bytes);
}

void L3fwdHost::start() {
    for (size_t nic = 0; nic < queues_.size(); nic++) {
        for (uint64_t entry = 0; entry < rings_[nic].entries; entry++)
            post(nic, entry);
        doorbell(nic, rx_tail_register, rings_[nic].entries);
    }
}

void L3fwdHost::post(size_t nic, uint64_t entry) {
    HostDescriptor descriptor;
    descriptor.address = free_.back();
    free_.pop_back();
    rx_buffers_[nic][entry] = descriptor.address;
    std::memcpy(memory(rings_[nic].rx + entry * sizeof(descriptor)), &descriptor, sizeof(descriptor));
}

size_t L3fwdHost::ready(size_t nic, size_t most) {
    const HostRings& ring = rings_[nic];
    size_t count = 0;
    for (; count < most; count++) {
        const uint64_t entry = (queues_[nic].taken + count) & (ring.entries - 1);
        HostDescriptor descriptor;
        std::memcpy(&descriptor, memory(ring.rx + entry * sizeof(descriptor)), sizeof(descriptor));
        if (!descriptor.done) break;
    }
    return count;
}

void L3fwdHost::process(size_t nic, size_t count) {
    const HostRings& ring = rings_[nic];
    uint64_t last = 0;
    uint64_t touched = 0;  // bit i: NIC i got something to send
    for (size_t i = 0; i < count; i++) {
        const uint64_t entry = queues_[nic].taken++ & (ring.entries - 1);
        HostDescriptor descriptor;
        std::memcpy(&descriptor, memory(ring.rx + entry * sizeof(descriptor)), sizeof(descriptor));
        last = descriptor.packet;
        trace(descriptor.packet, "burst: poll, lookup");
        const uint64_t buffer = rx_buffers_[nic][entry];
        const Egress egress =
            decider_.decide(static_cast<unsigned>(nic), descriptor.port, memory(buffer), descriptor.length);
        if (egress.forward && send(egress, descriptor, buffer)) {
            touched |= uint64_t{1} << egress.nic;
        } else {
            counters_.no_route += !egress.forward;
            free_.push_back(buffer);
        }
        post(nic, entry);
    }
    for (size_t to = 0; touched != 0; to++, touched >>= 1)
        if (touched & 1) doorbell(to, tx_tail_register, queues_[to].tx_tail, last);
    doorbell(nic, rx_tail_register, queues_[nic].taken + ring.entries);
}

bool L3fwdHost::send(const Egress& egress, const HostDescriptor& received, uint64_t buffer) {
    Queue& queue = queues_[egress.nic];
    const HostRings& ring = rings_[egress.nic];
    reclaim(egress.nic);
    if (queue.tx_tail - queue.tx_reclaimed == ring.entries) {
        counters_.tx_full++;
        return false;
    }
    const uint64_t entry = queue.tx_tail++ & (ring.entries - 1);
    const HostDescriptor descriptor{buffer, received.length, static_cast<uint8_t>(egress.port), 0,
                                    received.packet};
    queue.tx_buffers[entry] = buffer;
    std::memcpy(memory(ring.tx + entry * sizeof(descriptor)), &descriptor, sizeof(descriptor));
    return true;
}

void L3fwdHost::reclaim(size_t nic) {
    Queue& queue = queues_[nic];
    uint64_t head = 0;
    std::memcpy(&head, memory(rings_[nic].tx_head), sizeof(head));
    while (queue.tx_reclaimed < head)
        free_.push_back(queue.tx_buffers[queue.tx_reclaimed++ & (rings_[nic].entries - 1)]);
}

}  // namespace pktpit::model
