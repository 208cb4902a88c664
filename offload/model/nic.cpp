// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/nic.h"

#include <algorithm>

#include "offload/model/tracer.h"

namespace pktpit::model {
namespace {

constexpr uint32_t transmitted_event = 0x80000000;
constexpr uint64_t page = 4096;

uint64_t to_page(uint64_t bytes) {
    return (bytes + page - 1) / page * page;
}

}  // namespace

NicLayout::NicLayout(unsigned nic_count, unsigned slots, unsigned window_slots, uint64_t fib_bytes)
    : nics(nic_count), window(window_slots) {
    landing = uint64_t{slots} * slot_bytes;
    rings = landing + uint64_t{nics} * window * slot_bytes;
    credits = to_page(rings + uint64_t{nics} * window * descriptor_bytes);
    registers = to_page(credits + uint64_t{nics} * 8);
    doorbells = registers + to_page(uint64_t{most_queues} * queue_register_bytes);
    programs = to_page(doorbells + uint64_t{nics} * 8);
    fib = to_page(programs + uint64_t{nics} * program_bytes);
    bytes = fib + to_page(fib_bytes);
}

Nic::Nic(Fabric& fabric, Endpoint& endpoint, unsigned index, const NicSettings& settings,
         const NicLayout& layout)
    : fabric_(fabric), endpoint_(endpoint), index_(index), settings_(settings), layout_(layout) {
    endpoint.attach(*this);
    for (const double gbps : settings.gbps)
        ports_.emplace_back().ps_per_byte = 8000 / gbps;
    meta_.resize(settings.slots);
    for (uint32_t i = settings.slots; i-- > 0;)
        free_slots_.push_back(i);
    threads_.resize(std::max(settings.threads, 1U));
}

uint32_t Nic::take_slot() {
    if (free_slots_.empty()) return no_slot;
    const uint32_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
}

void Nic::free_slot(uint32_t slot) {
    free_slots_.push_back(slot);
}

std::span<std::byte> Nic::begin_receive(unsigned port, uint32_t length, uint64_t packet) {
    counters_.received++;
    if (length > largest_frame) {
        counters_.too_long++;
        return {};
    }
    receiving_ = take_slot();
    if (receiving_ == no_slot) {
        counters_.no_slot++;
        return {};
    }
    meta_[receiving_] = {length, port, packet, 0, 0};
    return {frame_of(receiving_), length};
}

void Nic::received() {
    if (Tracer* tracer = fabric_.tracer(); tracer && settings_.receive_latency > 0) {
        const Time now = fabric_.events().now();
        tracer->step(meta_[receiving_].packet, name(), "receive", now, now + settings_.receive_latency);
    }
    firmware_->frame(receiving_);
}

void Nic::compute(Time cost, uint32_t what, uint64_t argument, uint64_t packet, const char* step,
                  Time not_before) {
    Time& thread = threads_[next_thread_];
    next_thread_ = (next_thread_ + 1) % threads_.size();
    const Time begin = std::max({fabric_.events().now(), not_before, thread});
    thread = begin + cost;
    counters_.firmware_time += cost;
    // Jobs of a kind end in the order of their coming, as packets have to leave.
    Time& last = last_of_kind_[what % last_of_kind_.size()];
    last = std::max(last, thread);
    if (Tracer* tracer = fabric_.tracer(); tracer && packet) tracer->step(packet, name(), step, begin, last);
    fabric_.events().schedule(last, *this, what, argument);
}

void Nic::transmit(unsigned port, const std::byte* frame, uint32_t length, uint64_t packet, uint64_t cookie) {
    EthernetPort& out = ports_[port];
    const Time begin = std::max(fabric_.events().now() + settings_.transmit_latency, out.free_at);
    out.free_at = begin + static_cast<Time>((length + settings_.frame_overhead) * out.ps_per_byte);
    out.sending.push({frame, length, packet, cookie});
    if (Tracer* tracer = fabric_.tracer(); tracer && packet)
        tracer->step(packet, name(), "transmit on port " + std::to_string(port), begin, out.free_at);
    fabric_.events().schedule(out.free_at, *this, transmitted_event, port);
}

void Nic::memory_written(uint64_t offset, uint32_t length, uint64_t packet) {
    if (offset >= layout_.rings && offset < layout_.fib) firmware_->written(offset, length, packet);
}

void Nic::dma_done(uint64_t cookie, DmaResult result) {
    firmware_->dma_done(cookie, result);
}

void Nic::on_event(uint32_t what, uint64_t argument) {
    if (what != transmitted_event) return firmware_->computed(what, argument);
    const Transmission done = ports_[argument].sending.pop();
    counters_.sent++;
    if (sink_)
        sink_->frame_sent(index_, static_cast<unsigned>(argument), {done.frame, done.length}, done.packet);
    firmware_->transmitted(done.cookie);
}

}  // namespace pktpit::model
