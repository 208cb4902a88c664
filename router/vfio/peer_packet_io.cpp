// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/peer_packet_io.h"

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "offload/peer_ops/queue.h"

namespace pktpit::router {

using offload::EgressDescriptor;
using offload::HeaderSlice;
using offload::PeerDescriptor;
using offload::PeerMemoryMap;
using offload::Slot;

namespace {

template <class T>
T& word(std::span<std::byte> memory, uint64_t offset) {
    return *reinterpret_cast<T*>(memory.data() + offset);
}

}  // namespace

PeerPacketIo::PeerPacketIo(PeerHost& host, const config::Vfio& settings, fib::Epochs& epochs,
                           WorkerCounters& counters)
    : host_(host),
      epochs_(epochs),
      counters_(counters),
      patience_(uint64_t{settings.peer->patience_ms} * 1'000'000),
      queue_frames_(settings.peer->queue_frames),
      slot_bytes_(host.plan().queue_slot_bytes),
      frame_bytes_(headroom + slot_bytes_),
      memory_(frames * frame_bytes_) {
    for (uint32_t index = frames; index-- > 0;)
        free_.push_back(index);
}

void PeerPacketIo::remove(uint16_t id) {
    std::erase_if(ports_, [id](const Port& port) { return port.id == id; });
}

const PeerPacketIo::Port* PeerPacketIo::of_lane(uint8_t lane) const {
    const auto found = std::ranges::find(ports_, lane, &Port::lane);
    return found == ports_.end() ? nullptr : &*found;
}

const PeerPacketIo::Port* PeerPacketIo::of_id(uint16_t id) const {
    const auto found = std::ranges::find(ports_, id, &Port::id);
    return found == ports_.end() ? nullptr : &*found;
}

void PeerPacketIo::watch_device(uint64_t now) {
    const uint64_t turns = revoked_ ? turns_ : host_.turns();
    const bool first = !readers_[0];
    if (first) {
        // A reader is made by the thread that it reads in.
        for (auto& reader : readers_)
            reader.emplace(epochs_).enter();
        seen_at_ = now;
    }
    if (turns != turns_ || first) {
        turns_ = turns;
        seen_at_ = now;
        silent_.store(false, std::memory_order_relaxed);
        auto& older = *readers_[1 - newer_];
        if (older.inside()) older.leave();
        older.enter();
        newer_ = 1 - newer_;
        return;
    }
    if (now - seen_at_ < patience_ || !readers_[newer_]->inside()) return;
    if (!revoked_) host_.withdraw();
    withdrawn_.store(true, std::memory_order_relaxed);
    silent_.store(true, std::memory_order_relaxed);
    for (auto& reader : readers_)
        if (reader->inside()) reader->leave();
}

size_t PeerPacketIo::receive(std::span<HeaderSlice> slices) {
    const uint64_t now = monotonic_nanoseconds();
    watch_device(now);
    if (revoked_) return 0;
    const std::span<std::byte> memory = host_.memory();
    const auto tail =
        static_cast<uint32_t>(offload::load_shared(word<uint64_t>(memory, PeerMemoryMap::to_host_tail)));
    if (tail - taken_ > queue_frames_) {  // no ring of ours has so many
        malformed_.fetch_add(1, std::memory_order_relaxed);
        taken_ = tail;
    }
    size_t count = 0;
    for (; taken_ != tail && count < slices.size() && !free_.empty(); taken_++) {
        const std::byte* at =
            memory.data() + host_.plan().to_host + (taken_ & (queue_frames_ - 1)) * slot_bytes_;
        PeerDescriptor descriptor;
        std::memcpy(&descriptor, at, sizeof descriptor);
        const Port* from = of_lane(descriptor.port);
        constexpr uint16_t ethernet_header = 14;
        if (!from || descriptor.length < ethernet_header ||
            descriptor.length > slot_bytes_ - sizeof descriptor) {
            malformed_.fetch_add(1, std::memory_order_relaxed);
            continue;
        }
        const uint32_t index = free_.back();
        free_.pop_back();
        std::memcpy(frame(index), at + sizeof descriptor, descriptor.length);
        HeaderSlice& slice = slices[count++];
        slice = {};
        slice.bytes = frame(index);
        slice.length = std::min<uint16_t>(descriptor.length, PP_SLICE_BYTES);
        slice.port = from->id;
        slice.frame_length = descriptor.length;
        slice.slot = {0, index};
        slice.timestamp = now;
    }
    offload::store_shared(word<uint32_t>(memory, PeerMemoryMap::to_host_completions), taken_);
    return count;
}

bool PeerPacketIo::put(const Port& port, std::span<const std::span<const uint8_t>> parts) {
    if (revoked_) return false;
    const std::span<std::byte> memory = host_.memory();
    const auto done = offload::load_shared(word<uint32_t>(memory, PeerMemoryMap::from_host_completions));
    if (static_cast<uint32_t>(put_) - done >= queue_frames_) return false;
    std::byte* at = memory.data() + host_.plan().from_host + (put_ & (queue_frames_ - 1)) * slot_bytes_;
    size_t length = 0;
    for (const auto& part : parts) {
        if (part.size() > slot_bytes_ - sizeof(PeerDescriptor) - length) return false;
        std::memcpy(at + sizeof(PeerDescriptor) + length, part.data(), part.size());
        length += part.size();
    }
    const PeerDescriptor descriptor{0, static_cast<uint16_t>(length), port.lane, 0, 0};
    std::memcpy(at, &descriptor, sizeof descriptor);
    offload::store_shared(word<uint64_t>(memory, PeerMemoryMap::from_host_tail), ++put_);
    return true;
}

void PeerPacketIo::submit(std::span<const EgressDescriptor> descriptors) {
    for (const EgressDescriptor& descriptor : descriptors) {
        const Port* to = of_id(descriptor.port);
        // What is behind the header that came in lies behind its slice, whatever the new one's length.
        const uint8_t* payload = frame(descriptor.slot.index) + PP_SLICE_BYTES;
        const std::array<std::span<const uint8_t>, 2> parts{
            std::span<const uint8_t>(descriptor.header, descriptor.header_length),
            std::span<const uint8_t>(payload, descriptor.payload_length)};
        if (to && put(*to, parts)) {
            counters_.sent(descriptor.port, 1, descriptor.header_length + descriptor.payload_length);
        } else {
            const pp_verdict why = to ? PP_DROP_EGRESS_FULL : PP_DROP_NO_EGRESS;
            counters_.verdict(descriptor.port, why);
            note_refused(descriptor.slot, why);
        }
        free_.push_back(descriptor.slot.index);
    }
}

void PeerPacketIo::release(std::span<const Slot> slots) {
    for (const Slot& slot : slots)
        free_.push_back(slot.index);
}

bool PeerPacketIo::copy_frame(const HeaderSlice& slice, std::span<uint8_t> frame) {
    std::memcpy(frame.data(), slice.bytes, std::min<size_t>(frame.size(), slice.frame_length));
    return true;
}

bool PeerPacketIo::send(uint16_t id, std::span<const uint8_t> frame) {
    const Port* to = of_id(id);
    return to && frame.size() > 14 && put(*to, {&frame, 1});
}

void PeerPacketIo::look() {
    for (const Port& port : ports_)
        if (port.link_up) port.link_up->store(port.nic->link().up, std::memory_order_relaxed);
}

}  // namespace pktpit::router
