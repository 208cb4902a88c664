// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/operations_firmware.h"

#include <cassert>
#include <cstring>

#include "offload/peer_ops/queue.h"

namespace pktpit::model {
namespace {

constexpr unsigned sequence_bits = 48;
/// In a landing slot as in a slot: the frame behind the headroom, the descriptor in front of the frame.
constexpr uint32_t block_offset = slot_headroom - offload::peer_descriptor_bytes;
constexpr uint32_t most_block = offload::peer_descriptor_bytes + largest_frame;

}  // namespace

std::string_view to_string(OperationsMode mode) {
    return mode == OperationsMode::economy ? "economy" : "performance";
}

offload::PeerRing peer_ring(const NicLayout& layout, uint64_t egress_bar, uint64_t ingress_bar,
                            unsigned ingress, unsigned egress) {
    return {egress_bar + layout.landing_slot(ingress, 0) + block_offset,
            egress_bar + layout.doorbell(ingress),
            ingress_bar + layout.credit(egress),
            layout.window,
            most_block,
            slot_bytes};
}

OperationsFirmware::OperationsFirmware(Nic& nic, const PeerTransferSettings& transfer,
                                       std::vector<uint64_t> bars, Decider& decider, const Settings& settings)
    : PeerFirmware(nic, transfer, std::move(bars)),
      decider_(decider),
      settings_(settings),
      engine_(nic.fabric(), nic.endpoint(), *this, settings.engine),
      towards_(nic.layout().nics),
      seen_(nic.layout().nics) {
    register_windows();
}

/// What the control loop registers when the device is taken into service: its own slots and completion
/// counters, and of each other NIC what that one set apart for it.
void OperationsFirmware::register_windows() {
    const NicLayout& layout = nic_.layout();
    offload::PeerWindows& windows = engine_.windows();
    const auto add = [&](offload::PeerWindow window) {
        [[maybe_unused]] const auto good = windows.add(std::move(window));
        assert(good);
    };
    add({nic_.bar(), layout.landing, true, false, false, true, "own slots"});
    add({nic_.bar() + layout.credits, uint64_t{layout.nics} * 8, true, false, false, true, "completions"});
    for (unsigned egress = 0; egress < layout.nics; egress++) {
        if (egress == nic_.index()) continue;
        const auto ring = peer_ring(layout, bars()[egress], nic_.bar(), nic_.index(), egress);
        const std::string name = " of NIC " + std::to_string(egress);
        add({ring.slots - block_offset, uint64_t{ring.entries} * slot_bytes, false, true, false, false,
             "landing" + name});
        add({ring.doorbell, 8, false, false, true, false, "doorbell" + name});
    }
}

void OperationsFirmware::frame(uint32_t slot) {
    nic_.compute(settings_.ingress_time, first_own_event, slot, nic_.meta(slot).packet, "firmware: lookup",
                 nic_.fabric().events().now() + nic_.settings().receive_latency);
}

void OperationsFirmware::computed(uint32_t what, uint64_t argument) {
    if (what == first_own_event) {
        decided(static_cast<uint32_t>(argument));
    } else if (what == first_own_event + 1) {
        towards_[argument].timer = false;
        try_launch(static_cast<unsigned>(argument));
    } else if (what == first_own_event + 2) {
        announced(static_cast<unsigned>(argument >> sequence_bits),
                  argument & ((uint64_t{1} << sequence_bits) - 1));
    } else {
        PeerFirmware::computed(what, argument);
    }
}

void OperationsFirmware::decided(uint32_t slot) {
    const Nic::Meta& meta = nic_.meta(slot);
    const Egress egress = decider_.decide(nic_.index(), meta.port, nic_.frame_of(slot), meta.length);
    if (!egress.forward) {
        nic_.counters().no_route++;
        nic_.free_slot(slot);
    } else if (egress.nic == nic_.index()) {
        send(slot, egress);
    } else {
        towards_[egress.nic].waiting.push({slot, egress.port, nic_.fabric().events().now()});
        try_launch(egress.nic);
    }
}

void OperationsFirmware::try_launch(unsigned egress) {
    Towards& to = towards_[egress];
    if (to.waiting.empty() || engine_.busy(egress)) return;
    const size_t count = std::min<size_t>(to.waiting.size(), settings_.batch);
    if (settings_.mode == OperationsMode::economy && count < settings_.batch) {
        const Time due = to.waiting.front().since + settings_.commit_wait;
        if (due > nic_.fabric().events().now()) {
            if (!to.timer) nic_.fabric().events().schedule(due, nic_, first_own_event + 1, egress);
            to.timer = true;
            return;
        }
    }
    launch(egress, count);
}

void OperationsFirmware::launch(unsigned egress, size_t count) {
    Towards& to = towards_[egress];
    if (!engine_.ready(egress)) return ask_for_program(egress);
    packets_.clear();
    to.launched.clear();
    const NicLayout& layout = nic_.layout();
    for (size_t i = 0; i < count; i++) {
        const Waiting waiting = to.waiting.pop();
        to.launched.push_back(waiting);
        const Nic::Meta& meta = nic_.meta(waiting.slot);
        const uint64_t sequence = to.sequence + i;
        const auto entry = static_cast<uint32_t>(sequence & (layout.window - 1));
        const offload::PeerDescriptor descriptor{
            bars()[egress] + layout.landing_slot(nic_.index(), entry) + slot_headroom,
            static_cast<uint16_t>(meta.length), static_cast<uint8_t>(waiting.port),
            offload::peer_descriptor_lap(sequence, layout.window), static_cast<uint32_t>(meta.packet)};
        PeerPacket& packet = packets_.emplace_back();
        packet.offset = layout.slot(waiting.slot) + block_offset;
        packet.length = offload::peer_descriptor_bytes + meta.length;
        std::memcpy(nic_.memory(packet.offset), &descriptor, sizeof(descriptor));
        packet.cookie = written_cookie(waiting.slot);
        packet.packet = meta.packet;
    }
    packets_launched_ += count;
    engine_.launch(egress, to.sequence, packets_);
}

/// Once for each program that is missing: economy by an interrupt; in performance mode the control loop
/// knows.
void OperationsFirmware::ask_for_program(unsigned egress) {
    Towards& to = towards_[egress];
    if (to.asked) return;
    to.asked = true;
    if (settings_.mode == OperationsMode::performance) return;
    interrupts_++;
    const uint32_t which = nic_.index() << 16 | egress;
    nic_.dma().write_copy(settings_.msi_address, std::as_bytes(std::span(&which, 1)),
                          {Requester::no_cookie, 0, false, TlpType::msi});
}

void OperationsFirmware::launch_done(unsigned lane, const PeerOutcome& outcome) {
    Towards& to = towards_[lane];
    to.sequence += outcome.packets;
    for (size_t i = outcome.packets; i < to.launched.size(); i++) {
        nic_.counters().dma_errors++;
        nic_.free_slot(to.launched[i].slot);
    }
    try_launch(lane);
}

void OperationsFirmware::written(uint64_t offset, uint32_t, uint64_t) {
    const NicLayout& layout = nic_.layout();
    uint64_t value = 0;
    if (offset >= layout.programs) return;  // the register behind it counts
    if (offset >= layout.doorbells)
        return doorbell_in(static_cast<unsigned>((offset - layout.doorbells) / 8));
    if (offset >= layout.registers) {
        std::memcpy(&value, nic_.memory(offset), sizeof(value));
        if (offset - layout.registers == generation_register) engine_.set_generation(value);
        if (offset - layout.registers != program_register) return;
        const auto egress = static_cast<unsigned>(value >> 32);
        const uint64_t bytes = value & 0xffffffff;
        if (egress >= layout.nics || bytes > NicLayout::program_bytes) return;
        towards_[egress].asked = false;
        if (engine_.load({nic_.memory(layout.program(egress)), bytes})) try_launch(egress);
    } else if (offset >= layout.credits) {
        engine_.memory_written();
    }
    // Ring entries: the doorbell tells of them.
}

void OperationsFirmware::dma_done(uint64_t cookie, DmaResult result) {
    if (cookie >= PeerEngine::first_cookie && cookie <= PeerEngine::last_cookie)
        return engine_.dma_done(cookie, result);
    PeerFirmware::dma_done(cookie, result);
}

void OperationsFirmware::doorbell_in(unsigned from) {
    const NicLayout& layout = nic_.layout();
    uint64_t count = 0;
    std::memcpy(&count, nic_.memory(layout.doorbell(from)), sizeof(count));
    for (uint64_t& seen = seen_[from]; seen < count; seen++) {
        offload::PeerDescriptor descriptor;
        std::memcpy(&descriptor,
                    nic_.memory(block_offset +
                                layout.landing_slot(from, static_cast<uint32_t>(seen & (layout.window - 1)))),
                    sizeof(descriptor));
        nic_.compute(settings_.egress_time, first_own_event + 2, uint64_t{from} << sequence_bits | seen,
                     descriptor.cookie, "firmware: descriptor");
    }
}

/// The descriptor as it stands there: hardware does not know an old one from a new one, the model does.
void OperationsFirmware::announced(unsigned from, uint64_t sequence) {
    const NicLayout& layout = nic_.layout();
    const auto entry = static_cast<uint32_t>(sequence & (layout.window - 1));
    offload::PeerDescriptor descriptor;
    std::memcpy(&descriptor, nic_.memory(layout.landing_slot(from, entry) + block_offset),
                sizeof(descriptor));
    if (descriptor.lap != offload::peer_descriptor_lap(sequence, layout.window))
        nic_.counters().stale_descriptors++;
    if (descriptor.length == 0 || descriptor.length > largest_frame ||
        descriptor.port >= nic_.settings().gbps.size())
        return free_entry(from, entry);
    transmit_landing(from, entry, descriptor.port, descriptor.length, descriptor.cookie, slot_headroom);
}

}  // namespace pktpit::model
