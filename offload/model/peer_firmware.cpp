// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/peer_firmware.h"

#include <cstring>

namespace pktpit::model {
namespace {

constexpr uint32_t descriptor_event = 1;

enum Cookie : uint64_t {
    slot_written = 1,  ///< a slot's frame has been sent away
    slot_filled,       ///< a frame has been read into a slot
    landing_sent,      ///< transmitted from a landing slot
    slot_sent,         ///< transmitted from a slot of ours
    frames_pushed,     ///< bounce: the read behind them has been answered
    descriptors_sent,  ///< towards a NIC
};

uint64_t make_cookie(Cookie kind, uint64_t value) {
    return kind << 56 | value;
}

uint64_t pack(unsigned from, uint32_t entry) {
    return uint64_t{from} << 32 | entry;
}

}  // namespace

std::string_view to_string(Transfer transfer) {
    return transfer == Transfer::write ? "write" : transfer == Transfer::read ? "read" : "bounce";
}

PeerFirmware::PeerFirmware(Nic& nic, const PeerTransferSettings& settings, std::vector<uint64_t> bars)
    : nic_(nic),
      settings_(settings),
      bars_(std::move(bars)),
      outgoing_(bars_.size()),
      incoming_(bars_.size()),
      held_(nic.settings().slots) {
    for (Outgoing& to : outgoing_)
        to.slots.resize(nic.layout().window);
    for (unsigned to = 0; to < bars_.size(); to++)
        rings_.emplace_back(nic, bars_[to] + nic.layout().ring_entry(nic.index(), 0), nic.layout().window,
                            settings.descriptor_batch, make_cookie(descriptors_sent, to));
    for (Incoming& from : incoming_) {
        from.done.resize(nic.layout().window);
        from.filled.resize(nic.layout().window);
    }
}

void PeerFirmware::send(uint32_t slot, Egress egress) {
    if (egress.nic == nic_.index()) {
        const Nic::Meta& meta = nic_.meta(slot);
        nic_.transmit(egress.port, nic_.start_of(slot), meta.length, meta.packet,
                      make_cookie(slot_sent, slot));
        return;
    }
    Outgoing& to = outgoing_[egress.nic];
    if (to.sent - to.returned == nic_.layout().window || !to.waiting.empty())
        to.waiting.push({slot, egress});
    else
        push(slot, egress);
}

void PeerFirmware::push(uint32_t slot, Egress egress) {
    Outgoing& to = outgoing_[egress.nic];
    const NicLayout& layout = nic_.layout();
    const auto entry = static_cast<uint32_t>(to.sent++ & (layout.window - 1));
    const Nic::Meta& meta = nic_.meta(slot);
    Descriptor descriptor{0, static_cast<uint16_t>(meta.length), static_cast<uint8_t>(egress.port), 1,
                          static_cast<uint32_t>(meta.packet)};
    const Requester::Options payload{make_cookie(slot_written, slot), meta.packet, settings_.relaxed_payload,
                                     TlpType::memory_write};
    to.slots[entry] = slot;
    switch (settings_.transfer) {
        case Transfer::write:
            descriptor.where = layout.landing_slot(nic_.index(), entry);
            nic_.dma().write(bars_[egress.nic] + descriptor.where, nic_.start_of(slot), meta.length, payload);
            break;
        case Transfer::read:
            descriptor.where =
                nic_.bar() + layout.slot(slot) + slot_headroom + static_cast<int64_t>(meta.shift);
            break;
        case Transfer::bounce:
            descriptor.where =
                settings_.bounce_buffers +
                ((uint64_t{nic_.index()} * layout.nics + egress.nic) * layout.window + entry) * slot_bytes;
            // Its dma_done() may come at once.
            held_[slot] = {egress.nic, entry, descriptor};
            nic_.dma().write(descriptor.where, nic_.start_of(slot), meta.length, payload);
            return;
    }
    announce({egress.nic, entry, descriptor});
}

void PeerFirmware::announce(const Announcement& announcement) {
    rings_[announcement.nic].put(std::as_bytes(std::span(&announcement.descriptor, 1)),
                                 announcement.descriptor.packet);
}

void PeerFirmware::push_frames() {
    if (pushing_ > 0 || unpushed_.empty()) return;
    pushing_ = unpushed_.size();
    const Descriptor& last = unpushed_[pushing_ - 1].descriptor;
    nic_.dma().read(last.where, pushed_.data(), 4,
                    {make_cookie(frames_pushed, 0), last.packet, false, TlpType::memory_write});
}

PeerFirmware::Descriptor PeerFirmware::read_descriptor(unsigned from, uint32_t entry) {
    Descriptor descriptor;
    std::memcpy(&descriptor, nic_.memory(nic_.layout().ring_entry(from, entry)), sizeof(descriptor));
    return descriptor;
}

void PeerFirmware::written(uint64_t offset, uint32_t length, uint64_t packet) {
    const NicLayout& layout = nic_.layout();
    if (offset >= layout.credits) return credit_in(static_cast<unsigned>((offset - layout.credits) / 8));
    const uint64_t first = (offset - layout.rings) / NicLayout::descriptor_bytes;
    const uint64_t count = length / NicLayout::descriptor_bytes;
    for (uint64_t index = first; index < first + count; index++) {
        const auto from = static_cast<unsigned>(index / layout.window);
        const auto entry = static_cast<uint32_t>(index % layout.window);
        nic_.compute(settings_.egress_time, descriptor_event, pack(from, entry),
                     count == 1 ? packet : read_descriptor(from, entry).packet, "firmware: descriptor");
    }
}

void PeerFirmware::computed(uint32_t what, uint64_t argument) {
    if (what == descriptor_event)
        descriptor_in(static_cast<unsigned>(argument >> 32), static_cast<uint32_t>(argument));
}

void PeerFirmware::descriptor_in(unsigned from, uint32_t entry) {
    if (settings_.transfer == Transfer::write) {
        const Descriptor descriptor = read_descriptor(from, entry);
        transmit_landing(from, entry, descriptor.port, descriptor.length, descriptor.packet);
    } else {
        waiting_fetches_.push(pack(from, entry));
        fetch_waiting();
    }
}

uint64_t PeerFirmware::written_cookie(uint32_t slot) {
    return make_cookie(slot_written, slot);
}

void PeerFirmware::transmit_landing(unsigned from, uint32_t entry, unsigned port, uint32_t length,
                                    uint64_t packet, uint32_t headroom) {
    nic_.transmit(port, nic_.memory(nic_.layout().landing_slot(from, entry) + headroom), length, packet,
                  make_cookie(landing_sent, pack(from, entry)));
}

void PeerFirmware::fetch_waiting() {
    while (!waiting_fetches_.empty()) {
        const uint64_t next = waiting_fetches_.front();
        const uint32_t slot = nic_.take_slot();
        if (slot == Nic::no_slot) return;
        waiting_fetches_.pop();
        const auto from = static_cast<unsigned>(next >> 32);
        const auto entry = static_cast<uint32_t>(next);
        const Descriptor descriptor = read_descriptor(from, entry);
        nic_.meta(slot) = {descriptor.length, descriptor.port, descriptor.packet, next, 0};
        nic_.dma().read(descriptor.where, nic_.frame_of(slot), descriptor.length,
                        {make_cookie(slot_filled, slot), descriptor.packet, false, TlpType::memory_write});
    }
}

void PeerFirmware::dma_done(uint64_t cookie, DmaResult result) {
    const auto slot = static_cast<uint32_t>(cookie);
    if (cookie >> kind_shift == descriptors_sent) {
        rings_[slot].done();
    } else if (cookie >> kind_shift == frames_pushed) {
        for (; pushing_ > 0; pushing_--)
            announce(unpushed_.pop());
        push_frames();
    } else if (cookie >> kind_shift == slot_written) {
        if (settings_.transfer == Transfer::bounce) {
            unpushed_.push(held_[slot]);
            push_frames();
        }
        nic_.free_slot(slot);
        fetch_waiting();
    } else if (cookie >> kind_shift == slot_filled) {
        Nic::Meta& meta = nic_.meta(slot);
        const auto from = static_cast<unsigned>(meta.user >> 32);
        const auto entry = static_cast<uint32_t>(meta.user);
        if (result != DmaResult::done) meta.length = 0;
        incoming_[from].filled[entry] = slot + 1;
        send_filled(from);
        free_entry(from, entry);
    }
}

void PeerFirmware::send_filled(unsigned from) {
    Incoming& in = incoming_[from];
    for (;;) {
        uint64_t& filled = in.filled[in.next_sent & (nic_.layout().window - 1)];
        if (filled == 0) return;
        const auto slot = static_cast<uint32_t>(filled - 1);
        filled = 0;
        in.next_sent++;
        const Nic::Meta& meta = nic_.meta(slot);
        if (meta.length > 0) {
            nic_.transmit(meta.port, nic_.frame_of(slot), meta.length, meta.packet,
                          make_cookie(slot_sent, slot));
        } else {
            nic_.counters().dma_errors++;
            nic_.free_slot(slot);
            fetch_waiting();
        }
    }
}

void PeerFirmware::transmitted(uint64_t cookie) {
    if (cookie >> kind_shift == landing_sent) {
        const uint64_t value = cookie & ((uint64_t{1} << kind_shift) - 1);
        free_entry(static_cast<unsigned>(value >> 32), static_cast<uint32_t>(value));
    } else {
        nic_.free_slot(static_cast<uint32_t>(cookie));
        fetch_waiting();
    }
}

/// Entries go back in the ring's order, a batch at a time.
void PeerFirmware::free_entry(unsigned from, uint32_t entry) {
    Incoming& in = incoming_[from];
    const NicLayout& layout = nic_.layout();
    in.done[entry] = true;
    for (size_t next = in.freed & (layout.window - 1); in.done[next]; next = in.freed & (layout.window - 1)) {
        in.done[next] = false;
        in.freed++;
    }
    const uint64_t whole = in.freed / nic_.settings().credit_batch * nic_.settings().credit_batch;
    if (whole == in.told) return;
    in.told = whole;
    nic_.dma().write_copy(bars_[from] + layout.credit(nic_.index()), std::as_bytes(std::span(&in.told, 1)),
                          {});
}

void PeerFirmware::credit_in(unsigned from) {
    Outgoing& to = outgoing_[from];
    uint64_t returned = 0;
    std::memcpy(&returned, nic_.memory(nic_.layout().credit(from)), sizeof(returned));
    while (to.returned < returned) {
        const uint32_t slot = to.slots[to.returned++ & (nic_.layout().window - 1)];
        if (settings_.transfer == Transfer::read) nic_.free_slot(slot);
    }
    while (!to.waiting.empty() && to.sent - to.returned < nic_.layout().window) {
        const auto [slot, egress] = to.waiting.pop();
        push(slot, egress);
    }
    fetch_waiting();
}

}  // namespace pktpit::model
