// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/packet_io.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"

namespace pktpit::router {

using offload::EgressDescriptor;
using offload::HeaderSlice;
using offload::RxBuffer;
using offload::RxFrame;
using offload::Slot;
using offload::SlotOwner;
using offload::TxFrame;

namespace {

// Frames asked of a NIC at once. It does not say beforehand how long they are.
constexpr size_t group = 16;

}  // namespace

void NicPacketIo::index() {
    by_id_.fill(0);
    for (size_t at = 0; at < ports_.size(); at++)
        by_id_[ports_[at].id] = static_cast<uint16_t>(at + 1);
    turns_.resize(ports_.size());
    share_out();
}

// Else the rings of the first ports would take all of a small memory, and the last ones would receive
// nothing. A slot that a packet has taken along to another ring is missed by the port that it came in by, and
// by no other.
void NicPacketIo::share_out() {
    for (Port& port : ports_) {
        if (!slots_.has(port.region())) continue;
        const auto sharing = std::ranges::count_if(ports_, [&](const Port& other) {
            return other.region() == port.region() && other.part == port.part;
        });
        const size_t all = slots_.pool(port.region(), port.part).count();
        // From the daemon's own part of main memory it sends, and payloads are bounced.
        const bool daemons = port.region() == SlotMemory::main_memory && port.part == 0;
        const size_t kept = daemons ? all / 4 : 0;
        port.share = std::max<size_t>((all - kept) / static_cast<size_t>(sharing), 1);
    }
}

void NicPacketIo::add(const Port& port) {
    ports_.push_back(port);
    ports_.back().rx_ring = port.nic->rx_room();
    index();
}

void NicPacketIo::remove(uint16_t id) {
    std::erase_if(ports_, [&](const Port& port) { return port.id == id; });
    index();
}

void NicPacketIo::take_back(std::span<const Slot> left) {
    for (const Slot slot : left) {
        if (!slots_.has(slot.region)) continue;
        slots_.pool_of(slot).reclaim(slot);
    }
}

void NicPacketIo::fill(const Port& port) {
    offload::SlotPool& pool = slots_.pool(port.region(), port.part);
    const size_t free = port.nic->rx_room();
    const size_t held = port.rx_ring - std::min(port.rx_ring, free);
    std::array<Slot, batch> slots;
    std::array<RxBuffer, batch> buffers;
    for (size_t room = std::min(free, port.share - std::min(port.share, held)); room != 0;) {
        const size_t taken =
            pool.take(std::span(slots).first(std::min(room, batch)), SlotOwner::receive_ring);
        for (size_t i = 0; i < taken; i++)
            buffers[i] = {slots[i], slots_.header_iova(slots[i]), slots_.payload_iova(slots[i])};
        const size_t filled = port.nic->fill(std::span(buffers).first(taken));
        pool.give(std::span(slots).subspan(filled, taken - filled), SlotOwner::receive_ring);
        if (filled < batch) return;
        room -= std::min(room, filled);
    }
}

size_t NicPacketIo::receive(std::span<HeaderSlice> slices) {
    if (ports_.empty()) return 0;
    const uint64_t now = monotonic_nanoseconds();
    size_t count = 0;
    turns_.run(slices.size(), [&](size_t turn, size_t room, int64_t& deficit) {
        const Port& port = ports_[turn];
        size_t taken = 0;
        while (taken < room && deficit > 0) {
            const size_t most = std::min(room - taken, group);
            const size_t got = receive_from(port, slices.subspan(count, most), now);
            for (const HeaderSlice& slice : slices.subspan(count, got))
                deficit -= slice.frame_length + DeficitRoundRobin::wire_overhead;
            taken += got;
            count += got;
            if (got < most) break;
        }
        fill(port);
        return taken;
    });
    return count;
}

size_t NicPacketIo::receive_from(const Port& port, std::span<HeaderSlice> slices, uint64_t now) {
    std::array<RxFrame, batch> frames;
    std::array<Slot, batch> dropped;
    const size_t most = std::min(slices.size(), batch);
    const auto [received, given_up] =
        port.nic->receive(std::span(frames).first(most), std::span(dropped).first(most));
    if (given_up != 0) {
        give(std::span(dropped).first(given_up), SlotOwner::receive_ring);
        counters_.verdict(port.id, PP_DROP_RX_ERROR, given_up);
    }
    size_t count = 0;
    for (const RxFrame& frame : std::span(frames).first(received)) {
        // Nothing to decide by: a NIC that puts what it does not parse into the payload alone.
        if (frame.header_length == 0) {
            drop(port.id, PP_DROP_RX_ERROR, frame.slot, SlotOwner::receive_ring);
            continue;
        }
        slots_.pool_of(frame.slot).pass(frame.slot, SlotOwner::receive_ring, SlotOwner::control_loop);
        HeaderSlice& slice = slices[count++];
        slice.bytes = slots_.header(frame.slot);
        slice.length = static_cast<uint16_t>(std::min(frame.header_length, header_bytes));
        slice.port = port.id;
        slice.frame_length = frame.header_length + frame.payload_length;
        slice.veto = port.payload_lost && frame.payload_length != 0 ? PP_DROP_MEMORY_REVOKED : PP_NONE;
        slice.slot = frame.slot;
        slice.timestamp = now;
    }
    return count;
}

pp_verdict NicPacketIo::bounce(TxFrame& frame) {
    Slot copy;
    if (slots_.pool(SlotMemory::main_memory, 0).take({&copy, 1}, SlotOwner::control_loop) == 0)
        return PP_DROP_NO_SLOT;
    // The header stays in its cell; it is the payload that has to be where the port reaches it. So the header
    // is copied, too: its cell goes back with its slot.
    const auto moved = static_cast<std::ptrdiff_t>(frame.header - slots_.header_iova(frame.slot));
    uint8_t* to = slots_.header(copy) + moved;
    std::memcpy(to, slots_.header(frame.slot) + moved, frame.header_length);
    std::memcpy(slots_.main_payload(copy), peer_->readable(slots_.payload_offset(frame.slot)),
                frame.payload_length);
    slots_.pool_of(frame.slot).give({&frame.slot, 1}, SlotOwner::control_loop);
    frame.slot = copy;
    frame.header = slots_.iova_of(to);
    frame.payload = slots_.payload_iova(copy);
    return PP_NONE;
}

pp_verdict NicPacketIo::prepare(const Port& port, const EgressDescriptor& descriptor, TxFrame& frame) {
    frame = {descriptor.slot, slots_.iova_of(descriptor.header), slots_.payload_iova(descriptor.slot),
             descriptor.header_length, descriptor.payload_length};
    const bool reached = frame.slot.region == SlotMemory::main_memory || port.direct;
    return reached || frame.payload_length == 0 ? PP_NONE : bounce(frame);
}

void NicPacketIo::submit(std::span<const EgressDescriptor> descriptors) {
    // A pass a port: there are few, and each gets one doorbell.
    for (Port& port : ports_) {
        size_t count = 0;
        uint64_t bytes = 0;
        for (const EgressDescriptor& descriptor : descriptors) {
            if (descriptor.port != port.id) continue;
            TxFrame& frame = tx_[count];
            if (const pp_verdict refused = prepare(port, descriptor, frame); refused != PP_NONE) {
                drop(port.id, refused, frame.slot, SlotOwner::control_loop);
                continue;
            }
            slots_.pool_of(frame.slot).pass(frame.slot, SlotOwner::control_loop, SlotOwner::transmit_ring);
            count++;
        }
        if (count == 0) continue;
        const size_t taken = port.nic->transmit(std::span(tx_).first(count));
        for (size_t i = 0; i < taken; i++)
            bytes += tx_[i].header_length + tx_[i].payload_length;
        counters_.sent(port.id, taken, bytes);
        for (size_t i = taken; i < count; i++)
            drop(port.id, PP_DROP_EGRESS_FULL, tx_[i].slot, SlotOwner::transmit_ring);
    }
    for (const EgressDescriptor& descriptor : descriptors)
        if (!find(descriptor.port))
            drop(descriptor.port, PP_DROP_NO_EGRESS, descriptor.slot, SlotOwner::control_loop);
}

void NicPacketIo::release(std::span<const Slot> slots) {
    give(slots, SlotOwner::control_loop);
}

void NicPacketIo::complete() {
    std::array<Slot, batch> slots;
    for (const Port& port : ports_)
        for (size_t count = batch; count == batch;) {
            count = port.nic->completed(slots);
            give(std::span(slots).first(count), SlotOwner::transmit_ring);
        }
}

void NicPacketIo::give(std::span<const Slot> slots, SlotOwner owner) {
    for (const Slot& slot : slots)
        slots_.pool_of(slot).give({&slot, 1}, owner);
}

void NicPacketIo::drop(uint16_t port, pp_verdict verdict, Slot slot, SlotOwner owner) {
    counters_.verdict(port, verdict);
    if (owner != SlotOwner::receive_ring) note_refused(slot, verdict);
    give({&slot, 1}, owner);
}

bool NicPacketIo::copy_frame(const HeaderSlice& slice, std::span<uint8_t> frame) {
    std::memcpy(frame.data(), slice.bytes, slice.length);
    const auto rest = frame.subspan(slice.length);
    if (rest.empty()) return true;
    if (slice.slot.region == SlotMemory::peer_memory)
        return peer_->read(slots_.payload_offset(slice.slot), rest);
    std::memcpy(rest.data(), slots_.main_payload(slice.slot), rest.size());
    return true;
}

void NicPacketIo::arm() {
    for (const Port& port : ports_)
        port.nic->set_interrupts(true);
}

void NicPacketIo::disarm() {
    for (const Port& port : ports_) {
        port.nic->set_interrupts(false);
        port.nic->acknowledge_interrupt();  // and only then are packets looked for
    }
}

void NicPacketIo::look() {
    for (const Port& port : ports_) {
        if (port.link_up) port.link_up->store(port.nic->link().up, std::memory_order_relaxed);
        if (port.out_of_step && !port.nic->in_step())
            port.out_of_step->store(true, std::memory_order_relaxed);
    }
}

bool NicPacketIo::send(uint16_t id, std::span<const uint8_t> frame) {
    Port* port = find(id);
    if (!port || frame.size() > header_bytes + slots_.slot_bytes()) return false;
    Slot slot;
    if (slots_.pool(SlotMemory::main_memory, 0).take({&slot, 1}, SlotOwner::transmit_ring) == 0) return false;
    const size_t header = std::min<size_t>(frame.size(), header_bytes);
    std::memcpy(slots_.header(slot), frame.data(), header);
    std::memcpy(slots_.main_payload(slot), frame.data() + header, frame.size() - header);
    const TxFrame sent{slot, slots_.header_iova(slot), slots_.payload_iova(slot),
                       static_cast<uint32_t>(header), static_cast<uint32_t>(frame.size() - header)};
    if (port->nic->transmit({&sent, 1}) == 1) return true;
    give({&slot, 1}, SlotOwner::transmit_ring);
    return false;
}

}  // namespace pktpit::router
