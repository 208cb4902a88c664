// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/socket_io.h"

#include <linux/if_xdp.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "router/forward/partial_checksum.h"

namespace pktpit::router {

using offload::EgressDescriptor;
using offload::HeaderSlice;
using offload::Slot;
using offload::SlotOwner;

namespace {

constexpr uint32_t batch = 64;

bool kernel_has_all(const xsk_ring_prod& transmit) {
    return __atomic_load_n(transmit.consumer, __ATOMIC_ACQUIRE) ==
           __atomic_load_n(transmit.producer, __ATOMIC_RELAXED);
}

}  // namespace

void SocketIo::add(uint16_t id, const DeviceSockets& device) {
    Port port{id, {}, 0};
    for (const auto& socket : device.sockets())
        if (socket->worker == worker_ && socket->receives && (socket->filling || socket->filled != 0)) {
            if (!socket->order.begun())
                socket->order =
                    SocketOrder::begin(order_.sockets[id * size_t{PP_PORT_QUEUES} + socket->rings->queue]);
            port.queues.push_back(socket.get());
        }
    std::erase_if(ports_, [&](const Port& other) { return other.id == id; });
    if (!port.queues.empty()) ports_.push_back(port);
    divide_slots();
    for (PortSocket* socket : port.queues)
        fill(*socket, shares_.of_idle_ring(receiving_, free_slots()));

    PortSocket* sender = device.sender(worker_);
    if (egress_[id] == sender) return;
    sender->zero_copy = device.zero_copy();
    egress_[id] = sender;
    senders_.push_back(sender);
    staged_.reserve(senders_.size());
    by_ring_.resize(std::max<size_t>(by_ring_.size(), sender->rings->number + size_t{1}));
    by_ring_[sender->rings->number] = sender;
}

void SocketIo::remove(uint16_t id) {
    for (const Port& port : ports_)
        if (port.id == id)
            for (PortSocket* socket : port.queues)
                look_at(*socket);
    std::erase_if(ports_, [&](const Port& port) { return port.id == id; });
    divide_slots();
    returns_.take(worker_, [this](uint32_t index) { sent(index); });
    if (PortSocket* sender = std::exchange(egress_[id], nullptr)) {
        std::erase(senders_, sender);
        by_ring_[sender->rings->number] = nullptr;
    }
}

std::vector<Slot> SocketIo::retire(uint16_t ring) {
    auto left = pool_.retire(ring);
    retired_ += static_cast<uint32_t>(left.size());
    return left;
}

void SocketIo::reclaim(std::span<const Slot> slots) {
    for (const Slot slot : slots)
        pool_.reclaim(slot);
    retired_ -= static_cast<uint32_t>(slots.size());
}

offload::SlotCounts SocketIo::slots() const {
    offload::SlotCounts counts;
    counts.total = pool_.count();
    counts.free = free_slots();
    counts.retired = retired_;
    counts.receive = receiving_;
    for (const PortSocket* socket : senders_)
        counts.transmit += socket->sending;
    return counts;
}

void SocketIo::divide_slots() {
    turns_.resize(ports_.size());
    uint32_t rings = 0;
    receiving_ = 0;
    for (const Port& port : ports_)
        for (const PortSocket* socket : port.queues) {
            rings += socket->filling;
            receiving_ += socket->filled;
        }
    shares_.divide_among(rings);
}

void SocketIo::fill(PortSocket& socket, uint32_t wanted) {
    if (!socket.filling) return;
    xsk_ring_prod& ring = socket.rings->fill;
    std::array<Slot, batch> slots;
    while (socket.filled < wanted) {
        const auto taken = static_cast<uint32_t>(pool_.take(
            std::span(slots).first(std::min(wanted - socket.filled, batch)), SlotOwner::receive_ring));
        uint32_t index = 0;
        if (taken == 0 || xsk_ring_prod__reserve(&ring, taken, &index) != taken) {
            pool_.give(std::span(slots).first(taken), SlotOwner::receive_ring);
            return;
        }
        for (uint32_t i = 0; i < taken; i++) {
            *xsk_ring_prod__fill_addr(&ring, index + i) = PacketMemory::offset_of(worker_, slots[i].index);
            pool_.place(slots[i].index, socket.rings->number);
        }
        xsk_ring_prod__submit(&ring, taken);
        socket.filled += taken;
        receiving_ += taken;
    }
}

size_t SocketIo::receive(std::span<HeaderSlice> slices) {
    if (ports_.empty()) return 0;
    if (counters_.destinations().watching()) tell_order();
    uint64_t now = 0;  // not read for nothing
    size_t count = 0;
    return turns_.run(slices.size(), [&](size_t turn, size_t room, int64_t& deficit) {
        Port& port = ports_[turn];
        const size_t before = count;
        const size_t queues = port.queues.size();
        for (size_t i = 0; i < queues && count - before < room && deficit > 0; i++) {
            PortSocket& socket = *port.queues[port.first];
            const uint32_t filled = socket.filled;
            count += receive_from(socket, slices.subspan(count, room - (count - before)), deficit, now);
            const bool busy = socket.filled != filled;
            fill(socket, busy ? shares_.of_ring(receiving_, free_slots())
                              : shares_.of_idle_ring(receiving_, free_slots()));
            if (xsk_ring_prod__needs_wakeup(&socket.rings->fill))
                (void)recvfrom(socket.descriptor(), nullptr, 0, MSG_DONTWAIT, nullptr, nullptr);
            port.first = port.first + 1 < queues ? port.first + 1 : 0;
        }
        return count - before;
    });
}

bool SocketIo::waits_to_send() const {
    return std::ranges::any_of(senders_,
                               [](const PortSocket* socket) { return !kernel_has_all(socket->tx); });
}

// What was taken before has been submitted since, and has left once the kernel has emptied the rings.
void SocketIo::tell_order() {
    if (waits_to_send()) return;
    for (const Port& port : ports_)
        for (PortSocket* socket : port.queues)
            if (socket->last_number && counters_.destinations().watches(port.id))
                socket->order.left(*socket->last_number);
}

bool SocketIo::take(PortSocket& socket, const xdp_desc& descriptor, bool voids, HeaderSlice& slice) {
    uint8_t* bytes = memory_.at(descriptor.addr);
    const Slot slot{static_cast<uint8_t>(worker_), PacketMemory::index_of(descriptor.addr)};
    if (voids && socket.order.is_void(SocketOrder::number_of(bytes))) [[unlikely]] {
        counters_.received(socket.port, 1, descriptor.len);
        counters_.verdict(socket.port, PP_DROP_STALE);
        pool_.give({&slot, 1}, SlotOwner::receive_ring);
        return false;
    }
    if (socket.completes_checksums) complete_checksum({bytes, descriptor.len});
    slice = HeaderSlice();
    slice.bytes = bytes;
    __builtin_prefetch(slice.bytes, 1);
    slice.length = static_cast<uint16_t>(std::min<uint32_t>(descriptor.len, PP_SLICE_BYTES));
    slice.port = socket.port;
    slice.frame_length = descriptor.len;
    slice.slot = slot;
    pool_.pass(slot, SlotOwner::receive_ring, SlotOwner::control_loop);
    return true;
}

size_t SocketIo::receive_from(PortSocket& socket, std::span<HeaderSlice> slices, int64_t& deficit,
                              uint64_t& now) {
    const SocketOrder before = socket.order;
    const bool voids = socket.order.look();
    // The stage has stood in since the last complete(), and the next would not see it any more. Frames that
    // are in hand have not left: submit() has to see it, to drop them by name. So this socket waits until
    // then.
    if (socket.order.void_to() != before.void_to()) [[unlikely]] {
        if (in_hand_) {
            socket.order = before;
            return 0;
        }
        take_back_all();
    }
    uint32_t index = 0;
    const uint32_t got = xsk_ring_cons__peek(&socket.rx, static_cast<uint32_t>(slices.size()), &index);
    if (got == 0) {
        socket.order.found_empty();
        return 0;
    }
    if (now == 0) now = monotonic_nanoseconds();
    uint32_t seen = 0;
    size_t taken = 0;
    const uint8_t* last = nullptr;
    while (seen < got && deficit > 0) {
        const xdp_desc* descriptor = xsk_ring_cons__rx_desc(&socket.rx, index + seen++);
        last = memory_.at(descriptor->addr);
        deficit -= descriptor->len + DeficitRoundRobin::wire_overhead;
        if (!take(socket, *descriptor, voids, slices[taken])) continue;
        slices[taken++].timestamp = now;
    }
    if (seen != 0) {
        // The last one's number says enough.
        socket.last_number = SocketOrder::number_of(last);
        socket.order.took(socket.last_number);
    }
    in_hand_ |= taken != 0;
    if (seen != got) xsk_ring_cons__cancel(&socket.rx, got - seen);
    if (seen != 0) xsk_ring_cons__release(&socket.rx, seen);
    socket.filled -= seen;
    receiving_ -= seen;
    return taken;
}

size_t SocketIo::stage(PortSocket& socket, std::span<const EgressDescriptor> descriptors) {
    const auto room = static_cast<uint32_t>(std::min<size_t>(
        xsk_prod_nb_free(&socket.tx, static_cast<uint32_t>(descriptors.size())), descriptors.size()));
    uint32_t index = 0;
    if (room == 0 || xsk_ring_prod__reserve(&socket.tx, room, &index) != room) return 0;
    if (socket.staged == 0) staged_.push_back(&socket);
    const uint16_t ring = socket.rings->number;
    uint64_t bytes = 0;
    for (const EgressDescriptor& descriptor : descriptors.first(room)) {
        xdp_desc* entry = xsk_ring_prod__tx_desc(&socket.tx, index++);
        entry->addr = memory_.offset_of(descriptor.header);
        entry->len = descriptor.header_length + descriptor.payload_length;
        entry->options = 0;
        pool_.pass(descriptor.slot, SlotOwner::control_loop, SlotOwner::transmit_ring);
        pool_.place(descriptor.slot.index, ring);
        bytes += entry->len;
    }
    socket.staged += room;
    socket.staged_bytes += bytes;
    return room;
}

// In copy mode this is what sends. A system call for nothing costs as much as half a frame: only what the
// kernel has not taken yet is worth one, and now and then frames that it has not said to be sent (drivers
// with zero copy may look at them no sooner).
void SocketIo::kick(PortSocket& socket) {
    const xsk_ring_prod& ring = socket.tx;
    const bool overdue = socket.sending != 0 && (++socket.kicks_spared & 63) == 0;
    if ((!kernel_has_all(ring) || overdue) && xsk_ring_prod__needs_wakeup(&ring))
        (void)sendto(socket.descriptor(), nullptr, 0, MSG_DONTWAIT, nullptr, 0);
}

void SocketIo::submit(std::span<const EgressDescriptor> descriptors) {
    while (!descriptors.empty()) {
        const uint16_t port = descriptors.front().port;
        const auto other = std::ranges::find_if(
            descriptors, [port](const EgressDescriptor& descriptor) { return descriptor.port != port; });
        const auto run = descriptors.first(static_cast<size_t>(other - descriptors.begin()));
        descriptors = descriptors.subspan(run.size());
        PortSocket* socket = egress_[port];
        const size_t staged = socket ? stage(*socket, run) : 0;
        for (const EgressDescriptor& descriptor : run.subspan(staged))
            drop(port, socket ? PP_DROP_EGRESS_FULL : PP_DROP_NO_EGRESS, descriptor.slot);
    }
    for (PortSocket* socket : staged_) {
        if (overtaken_at_the_last_moment()) [[unlikely]] {
            take_back(*socket);
            continue;
        }
        const uint32_t leaving = std::exchange(socket->staged, 0);
        xsk_ring_prod__submit(&socket->tx, leaving);
        kick(*socket);
        socket->sending += leaving;
        counters_.sent(socket->port, leaving, std::exchange(socket->staged_bytes, 0));
    }
    staged_.clear();
    in_hand_ = false;
}

bool SocketIo::overtaken() const {
    return std::ranges::any_of(ports_, [](const Port& port) {
        return std::ranges::any_of(port.queues,
                                   [](const PortSocket* socket) { return socket->order.overtaken(); });
    });
}

// As late as can be: who is stopped between this and the doorbell sends late, one batch at most.
bool SocketIo::overtaken_at_the_last_moment() {
    for (const Port& port : ports_)
        for (PortSocket* socket : port.queues)
            socket->order.moving();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return overtaken();
}

// The kernel takes them when it is called, unless the driver does by itself: then only what it has not been
// told of yet is ours.
void SocketIo::take_back(PortSocket& socket) {
    xsk_ring_prod& ring = socket.tx;
    const uint32_t told = __atomic_load_n(ring.producer, __ATOMIC_RELAXED);
    const uint32_t begin = socket.zero_copy ? told : __atomic_load_n(ring.consumer, __ATOMIC_ACQUIRE);
    const uint32_t published = told - begin;
    const uint32_t count = published + std::exchange(socket.staged, 0);
    if (count == 0) return;
    uint64_t published_bytes = 0;
    for (uint32_t i = 0; i < count; i++) {
        const xdp_desc* entry = xsk_ring_prod__tx_desc(&ring, begin + i);
        if (i < published) published_bytes += entry->len;
        const Slot slot{static_cast<uint8_t>(worker_), PacketMemory::index_of(entry->addr)};
        note_refused(slot, PP_DROP_STALE);
        pool_.give({&slot, 1}, SlotOwner::transmit_ring);
    }
    socket.staged_bytes = 0;
    socket.sending -= published;
    ring.cached_prod = begin;
    __atomic_store_n(ring.producer, begin, __ATOMIC_RELEASE);
    counters_.sent(socket.port, -uint64_t{published}, -published_bytes);
    counters_.verdict(socket.port, PP_DROP_STALE, count);
}

void SocketIo::take_back_all() {
    for (PortSocket* socket : senders_)
        take_back(*socket);
}

void SocketIo::release(std::span<const Slot> slots) {
    pool_.give(slots, SlotOwner::control_loop);
}

void SocketIo::complete() {
    in_hand_ = false;
    returns_.take(worker_, [this](uint32_t index) { sent(index); });
    if (overtaken()) [[unlikely]]
        take_back_all();
    for (PortSocket* socket : senders_) {
        if (socket->sending == 0) continue;
        kick(*socket);
        reap(*socket->rings);
    }
}

// A ring of completions has one reader at a time. Who finds another at it leaves it to him: his own slots
// come back to him by and by.
void SocketIo::reap(QueueRings& rings) {
    if (rings.shared && rings.reaping.test_and_set(std::memory_order_acquire)) return;
    uint32_t index = 0;
    const uint32_t done = xsk_ring_cons__peek(&rings.completion, socket_ring_entries, &index);
    std::array<Slot, batch> own;
    uint32_t count = 0;
    const auto give_own = [&] {
        by_ring_[rings.number]->sending -= count;
        pool_.give(std::span(own).first(count), SlotOwner::transmit_ring);
        count = 0;
    };
    for (uint32_t i = 0; i < done; i++) {
        const uint64_t offset = *xsk_ring_cons__comp_addr(&rings.completion, index + i);
        const unsigned owner = PacketMemory::worker_of(offset);
        if (owner != worker_) {
            returns_.put(worker_, owner, PacketMemory::index_of(offset));
            continue;
        }
        own[count++] = {static_cast<uint8_t>(worker_), PacketMemory::index_of(offset)};
        if (count == own.size()) give_own();
    }
    if (count != 0) give_own();
    if (done != 0) xsk_ring_cons__release(&rings.completion, done);
    if (rings.shared) rings.reaping.clear(std::memory_order_release);
}

void SocketIo::sent(uint32_t index) {
    by_ring_[pool_.ring_of(index)]->sending--;
    const Slot slot{static_cast<uint8_t>(worker_), index};
    pool_.give({&slot, 1}, SlotOwner::transmit_ring);
}

void SocketIo::drop(uint16_t port, pp_verdict verdict, Slot slot) {
    counters_.verdict(port, verdict);
    note_refused(slot, verdict);
    pool_.give({&slot, 1}, SlotOwner::control_loop);
}

bool SocketIo::copy_frame(const HeaderSlice& slice, std::span<uint8_t> frame) {
    std::memcpy(frame.data(), slice.bytes, slice.frame_length);
    return true;
}

void SocketIo::arm() {
    for (const Port& port : ports_)
        for (PortSocket* socket : port.queues)
            socket->order.expect_nothing();
}

void SocketIo::look() {
    for (const Port& port : ports_)
        for (PortSocket* socket : port.queues) {
            look_at(*socket);
            fill(*socket, shares_.of_ring(receiving_, free_slots()));
        }
}

void SocketIo::look_at(PortSocket& socket) {
    xdp_statistics statistics{};
    socklen_t length = sizeof statistics;
    if (getsockopt(socket.descriptor(), SOL_XDP, XDP_STATISTICS, &statistics, &length) != 0) return;
    const uint64_t dropped = statistics.rx_dropped + statistics.rx_ring_full;
    const uint64_t more = dropped - std::exchange(socket.dropped, dropped);
    if (more == 0) return;
    counters_.received(socket.port, more, 0);
    counters_.verdict(socket.port, PP_DROP_SPLIT_FULL, more);
}

}  // namespace pktpit::router
