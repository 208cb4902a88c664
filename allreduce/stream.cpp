// SPDX-License-Identifier: BSD-3-Clause
#include "allreduce/stream.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>

namespace pktpit::allreduce {
namespace {

static_assert(std::endian::native == std::endian::little, "the protocol is little-endian, and nothing swaps");

using std::chrono::microseconds;

/// How often flights are looked through for what is lost.
constexpr microseconds look_every{500};
/// A chunk without a result, though one that was sent so much later has its own, was lost on its way here or
/// there. Packets of one port do not overtake each other by more.
constexpr microseconds reordering{4000};
/// Nothing tells of a lost chunk where none was sent behind it, or where other workers are late: first soon,
/// then seldom, since a worker that computes on for seconds is no loss.
constexpr microseconds first_patience{10000};
constexpr unsigned most_doublings = 6;

}  // namespace

std::optional<pa_header> read_header(std::span<const uint8_t> datagram) {
    pa_header header{};
    if (datagram.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, datagram.data(), sizeof header);
    if (header.magic != PA_MAGIC) return std::nullopt;
    return header;
}

Stream::Stream(const Epoch& epoch) : epoch_(epoch), flights_(epoch.slots) {
    assert(std::has_single_bit(epoch.slots));
}

uint64_t Stream::add(std::unique_ptr<Message> message) {
    const uint32_t chunks = message->chunks();
    messages_.push_back({std::move(message), added_, chunks, chunks});
    added_ += chunks;
    const uint64_t number = first_message_ + messages_.size() - 1;
    // An empty one is done when those before it are.
    while (!messages_.empty() && messages_.front().left == 0) {
        messages_.pop_front();
        first_message_++;
    }
    return number;
}

microseconds Stream::patience(const Flight& flight) const {
    return first_patience * (1U << std::min(flight.tries - 1, most_doublings));
}

// RFC 8985's idea of time, not of numbers: what was sent before something that has been answered since.
void Stream::look_for_lost(Time now) {
    if (now - looked_ < look_every || under_way_ == 0) return;
    looked_ = now;
    lost_.clear();
    for (size_t slot = 0; slot < flights_.size(); slot++) {
        const Flight& flight = flights_[slot];
        if (!flight.of) continue;
        const bool overtaken = flight.tries < 4 && flight.sent + reordering * flight.tries < newest_answered_;
        if (overtaken || now - flight.sent >= patience(flight)) lost_.push_back(static_cast<uint16_t>(slot));
    }
}

size_t Stream::next(Time now, std::span<uint8_t> datagram) {
    look_for_lost(now);
    while (!lost_.empty()) {
        Flight& flight = flights_[lost_.back()];
        lost_.pop_back();
        if (!flight.of) continue;
        counts_.again++;
        return write(flight, now, datagram);
    }
    while (next_in_ < messages_.size() && next_ - messages_[next_in_].first >= messages_[next_in_].chunks)
        next_in_++;
    if (next_in_ >= messages_.size()) return 0;
    Placed& placed = messages_[next_in_];
    Flight& flight = flights_[next_ & (epoch_.slots - 1U)];
    if (flight.of || !placed.message->ready(next_ - placed.first)) return 0;
    flight = {&placed, next_, 0, now};
    next_++;
    under_way_++;
    counts_.sent++;
    return write(flight, now, datagram);
}

size_t Stream::write(Flight& flight, Time now, std::span<uint8_t> datagram) {
    const uint32_t at = flight.chunk - flight.of->first;
    const uint32_t slots = epoch_.slots;
    pa_header header{};
    header.magic = PA_MAGIC;
    header.kind = PA_ADD;
    header.type = static_cast<uint8_t>(epoch_.type | ((flight.chunk & slots) != 0 ? PA_VERSION_BIT : 0));
    header.chunk = flight.chunk;
    header.key = epoch_.key;
    header.epoch = epoch_.number;
    header.slot = static_cast<uint16_t>(flight.chunk & (slots - 1));
    header.count = flight.of->message->count(at);
    header.worker = epoch_.worker;
    const size_t bytes = header.count * bytes_of(epoch_.type);
    assert(datagram.size() >= sizeof header + bytes);
    header.exponent = flight.of->message->write(at, datagram.subspan(sizeof header, bytes));
    std::memcpy(datagram.data(), &header, sizeof header);
    flight.sent = now;
    flight.tries++;
    return sizeof header + bytes;
}

bool Stream::receive(std::span<const uint8_t> datagram) {
    const auto header = read_header(datagram);
    if (!header || header->kind != PA_RESULT || header->key != epoch_.key || header->epoch != epoch_.number ||
        header->worker != epoch_.worker) {
        counts_.ignored++;
        return false;
    }
    Flight& flight = flights_[header->chunk & (epoch_.slots - 1U)];
    if (!flight.of || flight.chunk != header->chunk) {
        counts_.repeated++;
        return false;
    }
    const uint32_t at = flight.chunk - flight.of->first;
    const auto elements = datagram.subspan(sizeof *header);
    if (header->count != flight.of->message->count(at) ||
        elements.size() != header->count * bytes_of(epoch_.type)) {
        counts_.ignored++;
        return false;
    }
    flight.of->message->read(at, elements, header->exponent);
    flight.of->left--;
    newest_answered_ = std::max(newest_answered_, flight.sent);
    flight.of = nullptr;
    under_way_--;
    counts_.results++;
    while (!messages_.empty() && messages_.front().left == 0) {
        messages_.pop_front();
        first_message_++;
        next_in_ -= next_in_ > 0 ? 1 : 0;
    }
    return true;
}

Time Stream::wake_at(Time now) const {
    if (under_way_ == 0) return now + std::chrono::seconds(1);
    return now + look_every;
}

}  // namespace pktpit::allreduce
