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
/// A chunk that is lost again and again is asked for more and more seldom.
constexpr unsigned most_doublings = 6;

}  // namespace

std::optional<pa_header> read_header(std::span<const uint8_t> datagram) {
    pa_header header{};
    if (datagram.size() < sizeof header) return std::nullopt;
    std::memcpy(&header, datagram.data(), sizeof header);
    if (header.magic != PA_MAGIC) return std::nullopt;
    return header;
}

Stream::Stream(const Epoch& epoch) : epoch_(epoch), flights_(epoch.slots), window_(epoch.slots) {
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

void Stream::limit_window(size_t most) {
    window_.limit(static_cast<uint32_t>(std::min<size_t>(most, epoch_.slots)));
}

// RFC 8985: when it has had as long as what was sent later and has been answered, and longer.
std::optional<Time> Stream::lost_at(const Flight& flight) const {
    if (!flight.of || flight.transmission >= answered_) return std::nullopt;
    const unsigned doublings = std::min(flight.tries - 1, most_doublings);
    return flight.sent + answered_after_ + round_trips_.reordering() * (1U << doublings);
}

void Stream::look_for_lost(Time now) {
    if (under_way_ == 0 || now - looked_ < look_every) return;
    looked_ = now;
    lost_.clear();
    // From the newest chunk to the oldest: they are the last `slots` before next_.
    for (uint32_t back = 1; back <= epoch_.slots; back++) {
        const uint32_t slot = (next_ - back) & (epoch_.slots - 1U);
        const auto lost = lost_at(flights_[slot]);
        if (!lost || now < *lost) continue;
        lost_.push_back(static_cast<uint16_t>(slot));
        window_.lost();
    }
    if (lost_.empty() && now - progress_ >= round_trips_.timeout()) time_out(now);
}

void Stream::time_out(Time now) {
    progress_ = now;
    round_trips_.timed_out();
    for (uint32_t back = epoch_.slots; back > 0 && lost_.size() < probes_; back--) {
        const uint32_t slot = (next_ - back) & (epoch_.slots - 1U);
        if (flights_[slot].of) lost_.push_back(static_cast<uint16_t>(slot));
    }
    probed_ = static_cast<unsigned>(lost_.size());
    std::ranges::reverse(lost_);
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
    if (next_in_ >= messages_.size() || under_way_ >= window_.size()) return 0;
    Placed& placed = messages_[next_in_];
    Flight& flight = flights_[next_ & (epoch_.slots - 1U)];
    if (flight.of || !placed.message->ready(next_ - placed.first)) return 0;
    if (under_way_ == 0) progress_ = now;
    flight = {.of = &placed, .chunk = next_, .tries = 0, .transmission = 0, .sent = now};
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
    flight.transmission = ++transmissions_;
    return sizeof header + bytes;
}

bool Stream::receive(std::span<const uint8_t> datagram, Time now) {
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
    if (flight.tries == 1) {
        round_trips_.measured(now - flight.sent);
        if (flight.transmission > answered_) {
            answered_ = flight.transmission;
            answered_after_ = now - flight.sent;
        }
    }
    probes_ = flight.tries == 1 ? 1 : std::min(2 * probed_, unsigned{epoch_.slots});
    window_.answered(flight.transmission, transmissions_);
    round_trips_.progressed();
    progress_ = now;
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
    Time wake = progress_ + round_trips_.timeout();
    for (const Flight& flight : flights_)
        if (const auto lost = lost_at(flight)) wake = std::min(wake, *lost);
    return std::max(wake, looked_ + look_every);
}

}  // namespace pktpit::allreduce
