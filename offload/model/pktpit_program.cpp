// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/pktpit_program.h"

#include <algorithm>
#include <cstring>

#include "offload/model/rss.h"

namespace pktpit::model {
namespace {

constexpr size_t ethernet_header = 14;
constexpr size_t ipv4_header = 20;
constexpr size_t ipv4_destination = ethernet_header + 16;
constexpr unsigned place_shift = 32;                  // in cookies and arguments, above counts and entries
constexpr uint64_t slices_sent = uint64_t{17} << 56;  // and the queue: the cookie behind first_own_cookie's

}  // namespace

PktpitFirmware::PktpitFirmware(Nic& nic, const PeerTransferSettings& transfer, std::vector<uint64_t> bars,
                               const std::vector<HostRings>& rings, const PktpitSettings& settings)
    : PeerFirmware(nic, transfer, std::move(bars)), settings_(settings) {
    for (size_t i = 0; i < rings.size(); i++) {
        queues_.emplace_back(rings[i], DescriptorWriter(nic, rings[i].rx, rings[i].entries,
                                                        settings.descriptor_batch, slices_sent | i));
        queues_[i].answers.resize(size_t{rings[i].entries} * settings.answer_stride());
    }
}

void PktpitFirmware::frame(uint32_t slot) {
    const Time there = nic_.fabric().events().now() + nic_.settings().receive_latency;
    if (settings_.own)
        nic_.compute(settings_.lookup_time, first_own_event + 2, slot, nic_.meta(slot).packet,
                     "firmware: lookup", there);
    else
        nic_.compute(settings_.ingress_time, first_own_event, slot, nic_.meta(slot).packet, "firmware: slice",
                     there);
}

/// What the NIC's own FIB does not hold is the CPU's to decide.
void PktpitFirmware::look_up(uint32_t slot) {
    const Nic::Meta& meta = nic_.meta(slot);
    const Egress egress = settings_.own->decide(nic_.index(), meta.port, nic_.frame_of(slot), meta.length);
    if (egress.forward) {
        nic_.counters().fib_hits++;
        return send(slot, egress);
    }
    nic_.counters().fib_misses++;
    nic_.compute(settings_.ingress_time, first_own_event, slot, meta.packet, "firmware: slice");
}

void PktpitFirmware::computed(uint32_t what, uint64_t argument) {
    if (what == first_own_event) {
        const auto slot = static_cast<uint32_t>(argument);
        Queue& queue = queues_[rss_queue({nic_.frame_of(slot), nic_.meta(slot).length},
                                         static_cast<uint32_t>(queues_.size()))];
        queue.waiting.push(slot);
        ask_host(queue);
    } else if (what == first_own_event + 1) {
        answered(queues_[argument >> place_shift], static_cast<uint32_t>(argument));
    } else if (what == first_own_event + 2) {
        look_up(static_cast<uint32_t>(argument));
    } else {
        PeerFirmware::computed(what, argument);
    }
}

void PktpitFirmware::ask_host(Queue& queue) {
    const HostRings& rings = queue.rings;
    while (!queue.waiting.empty() && queue.told < queue.room) {
        const uint32_t slot = queue.waiting.pop();
        const Nic::Meta& meta = nic_.meta(slot);
        std::byte* frame = nic_.frame_of(slot);
        SliceDescriptor descriptor{slot, static_cast<uint16_t>(meta.length), static_cast<uint8_t>(meta.port),
                                   1,    static_cast<uint32_t>(meta.packet), {}};
        if (meta.length >= ethernet_header + ipv4_header)
            std::memcpy(descriptor.destination.data(), frame + ipv4_destination, 4);
        const uint64_t entry = rings.rx + (queue.told++ & (rings.entries - 1)) * rings.rx_stride;
        if (settings_.slice == 0) {
            queue.slices.put(std::as_bytes(std::span(&descriptor, 1)), meta.packet);
            continue;
        }
        const Requester::Options options{Requester::no_cookie, meta.packet, false, TlpType::memory_write};
        // The descriptor last: what the CPU sees of it says that the slice is there. The slot is ours until
        // the answer.
        nic_.dma().write(entry + sizeof(descriptor), frame, std::min(settings_.slice, meta.length), options);
        nic_.dma().write_copy(entry, std::as_bytes(std::span(&descriptor, 1)), options);
    }
}

void PktpitFirmware::written(uint64_t offset, uint32_t length, uint64_t packet) {
    if (offset < nic_.layout().registers) return PeerFirmware::written(offset, length, packet);
    const uint64_t place = offset - nic_.layout().registers;
    const size_t index = place / NicLayout::queue_register_bytes;
    if (index >= queues_.size()) return;
    uint64_t count = 0;
    std::memcpy(&count, nic_.memory(offset), sizeof(count));
    if (place % NicLayout::queue_register_bytes == rx_tail_register) {
        queues_[index].room = count;
        ask_host(queues_[index]);
    } else {
        queues_[index].answers_posted = count;
        fetch_answers(index, packet);
    }
}

void PktpitFirmware::fetch_answers(size_t index, uint64_t packet) {
    Queue& queue = queues_[index];
    const HostRings& rings = queue.rings;
    while (queue.answers_asked < queue.answers_posted) {
        const uint64_t entry = queue.answers_asked & (rings.entries - 1);
        const uint64_t count = std::min(
            {uint64_t{settings_.fetch}, queue.answers_posted - queue.answers_asked, rings.entries - entry});
        queue.answers_asked += count;
        const uint32_t stride = settings_.answer_stride();
        nic_.dma().read(rings.tx + entry * stride, &queue.answers[entry * stride],
                        static_cast<uint32_t>(count * stride),
                        {first_own_cookie | uint64_t{index} << place_shift | count, packet, false,
                         TlpType::memory_write});
    }
}

void PktpitFirmware::dma_done(uint64_t cookie, DmaResult result) {
    if (cookie < first_own_cookie) return PeerFirmware::dma_done(cookie, result);
    if (cookie >= slices_sent) return queues_[cookie - slices_sent].slices.done();
    const uint64_t index = (cookie - first_own_cookie) >> place_shift;
    Queue& queue = queues_[index];
    for (auto left = static_cast<uint32_t>(cookie); left > 0; left--) {
        const uint64_t entry = queue.answers_got++ & (queue.rings.entries - 1);
        nic_.compute(settings_.answer_time, first_own_event + 1, index << place_shift | entry,
                     answer_at(queue, entry).packet, "firmware: egress descriptor");
    }
}

EgressAnswer PktpitFirmware::answer_at(const Queue& queue, size_t entry) const {
    EgressAnswer answer;
    std::memcpy(&answer, &queue.answers[entry * settings_.answer_stride()], sizeof(answer));
    return answer;
}

/// Where the old one ended the new one ends; what is behind it stays where it is.
void PktpitFirmware::replace_header(const EgressAnswer& answer, const std::byte* header) {
    Nic::Meta& meta = nic_.meta(answer.slot);
    meta.shift += answer.replaced - answer.header_length;
    meta.length = std::min<uint32_t>(meta.length - answer.replaced + answer.header_length, answer.length);
    std::memcpy(nic_.start_of(answer.slot), header, answer.header_length);
}

void PktpitFirmware::answered(Queue& queue, size_t entry) {
    const EgressAnswer answer = answer_at(queue, entry);
    if (answer.forward) {
        if (answer.header_length > 0)
            replace_header(answer, &queue.answers[entry * settings_.answer_stride()] + sizeof(answer));
        return send(answer.slot, {true, answer.nic, answer.port});
    }
    nic_.counters().no_route++;
    nic_.free_slot(answer.slot);
}

PktpitHost::PktpitHost(Fabric& fabric, std::vector<Nic*> nics, std::vector<HostRings> rings,
                       const CpuSettings& settings, Decider& decider, const PktpitSettings& program)
    : HostCpu(fabric, std::move(nics), std::move(rings), settings),
      decider_(decider),
      program_(program),
      taken_(rings_.size()) {}

void PktpitHost::start() {
    for (size_t nic = 0; nic < nics_.size(); nic++)
        give_rings(nic);
}

size_t PktpitHost::ready(size_t index, size_t most) {
    const HostRings& ring = rings_[index];
    size_t count = 0;
    for (; count < most; count++) {
        const uint64_t entry = (taken_[index] + count) & (ring.entries - 1);
        SliceDescriptor descriptor;
        std::memcpy(&descriptor, memory(ring.rx + entry * ring.rx_stride), sizeof(descriptor));
        if (!descriptor.valid) break;
    }
    return count;
}

Egress PktpitHost::decide(size_t nic, const SliceDescriptor& descriptor, uint64_t entry_address) {
    const auto index = static_cast<unsigned>(nic);
    if (program_.slice > 0)
        return decider_.decide(index, descriptor.port, memory(entry_address + sizeof(descriptor)),
                               descriptor.length);
    std::array<std::byte, ethernet_header + ipv4_header> header{};
    header[12] = std::byte{0x08};
    header[14] = std::byte{0x45};
    std::memcpy(&header[ipv4_destination], descriptor.destination.data(), 4);
    return decider_.decide(index, descriptor.port, header.data(), descriptor.length);
}

size_t PktpitHost::misses(size_t index, size_t count) {
    if (!fabric_.root().memory().llc().there()) return 0;
    const HostRings& ring = rings_[index];
    size_t misses = 0;
    for (size_t i = 0; i < count; i++)
        misses +=
            touch(ring.rx + ((taken_[index] + i) & (ring.entries - 1)) * ring.rx_stride, ring.rx_stride);
    return misses;
}

void PktpitHost::process(size_t index, size_t count) {
    const HostRings& ring = rings_[index];
    uint64_t last = 0;
    for (size_t i = 0; i < count; i++) {
        const uint64_t entry = taken_[index]++ & (ring.entries - 1);
        const uint64_t address = ring.rx + entry * ring.rx_stride;
        SliceDescriptor descriptor;
        std::memcpy(&descriptor, memory(address), sizeof(descriptor));
        last = descriptor.packet;
        trace(descriptor.packet, "burst: poll, lookup");
        const Egress egress = decide(nic_of(index), descriptor, address);
        counters_.no_route += !egress.forward;
        const EgressAnswer answer{descriptor.slot,
                                  egress.nic,
                                  static_cast<uint8_t>(egress.port),
                                  egress.forward,
                                  descriptor.packet,
                                  0,
                                  0};
        const uint64_t place = ring.tx + entry * program_.answer_stride();
        std::memcpy(memory(place), &answer, sizeof(answer));
        touch(place, sizeof(answer), true);
        descriptor.valid = 0;
        std::memcpy(memory(address), &descriptor, sizeof(descriptor));
        touch(address, sizeof(descriptor), true);
    }
    doorbell(index, tx_tail_register, taken_[index], last);
    doorbell(index, rx_tail_register, taken_[index] + ring.entries);
}

}  // namespace pktpit::model
