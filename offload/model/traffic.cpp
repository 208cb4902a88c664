// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/traffic.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace pktpit::model {
namespace {

constexpr uint32_t headers = 42;  // Ethernet, IPv4, UDP
constexpr size_t destination = 30;
constexpr size_t source_port = 34;
constexpr uint32_t first_port = 1024;
constexpr size_t most_latencies = 1 << 18;
constexpr size_t remembered = 1 << 16;

/// Behind the headers of each frame: 18 bytes are there even in one of 64 with its FCS.
struct Stamp {
    uint64_t number;
    uint64_t begin;
    uint16_t stream;
};
constexpr size_t stamp_bytes = 18;

// Events. The first is of a stream alone on its wire.
constexpr uint32_t last_bit = 0;
constexpr uint32_t wants_wire_event = 1;
constexpr uint32_t last_bit_of_wire = 2;  // the argument is the wire

void put16(std::byte* at, uint32_t value) {
    at[0] = static_cast<std::byte>(value >> 8);
    at[1] = static_cast<std::byte>(value);
}

/// The pattern's bytes a frame has begin here, so that frames differ.
size_t pattern_start(uint64_t number) {
    return number * 61 % 4096;
}

/// Neighbours in time are of different ones.
size_t conversation_of(uint64_t number, size_t of) {
    return (number * 0x9e3779b97f4a7c15 >> 32) % of;
}

}  // namespace

uint32_t address_of_port(unsigned nic, unsigned port) {
    return 10U << 24 | nic << 16 | port << 8 | 1;
}

Egress PortDecider::decide(unsigned, unsigned, std::byte* frame, uint32_t length) {
    if (length < headers) return {};
    return {frame[destination] == std::byte{10}, static_cast<uint16_t>(frame[destination + 1]),
            static_cast<uint16_t>(frame[destination + 2])};
}

Traffic::Traffic(Fabric& fabric, std::vector<Nic*> nics, const TrafficSettings& settings)
    : fabric_(fabric), nics_(std::move(nics)), settings_(settings), random_(settings.seed), pattern_(8192) {
    for (std::byte& byte : pattern_)
        byte = static_cast<std::byte>(random_());
    for (const Flow& flow : settings.flows) {
        Stream& stream = streams_.emplace_back();
        stream.flow = flow;
        stream.seen.resize(remembered);
        stream.last.resize(settings.destinations ? settings.destinations->addresses().size()
                                                 : std::max(settings.conversations, 1U));
        const double line = 8000 / nics_[flow.from_nic]->settings().gbps[flow.from_port];
        stream.ps_per_byte = line / flow.load;
        const auto same = std::ranges::find_if(wires_, [&](const Wire& wire) {
            return wire.nic == flow.from_nic && wire.port == flow.from_port;
        });
        stream.wire = static_cast<size_t>(same - wires_.begin());
        if (same == wires_.end()) {
            Wire& wire = wires_.emplace_back();
            wire.nic = flow.from_nic;
            wire.port = flow.from_port;
            wire.ps_per_byte = line;
        }
        wires_[stream.wire].streams++;
    }
    for (Nic* nic : nics_)
        nic->set_sink(this);
    latencies_.reserve(most_latencies);
}

uint32_t Traffic::next_size(const Stream& stream) {
    if (settings_.recording) {
        const auto& frames = settings_.recording->frames();
        return frames[stream.number % frames.size()].size;
    }
    if (settings_.size > 0) return settings_.size;
    const uint64_t which = random_() % 12;
    return which < 7 ? 64 : which < 11 ? 576 : 1518;
}

void Traffic::start() {
    for (size_t i = 0; i < streams_.size(); i++) {
        streams_[i].size = next_size(streams_[i]);
        // Streams do not run in step.
        streams_[i].next = fabric_.events().now() + settings_.start + random_() % 10000;
        schedule(i);
    }
}

/// The event is the last bit of the frame, on a port that runs at its line rate; or, where others send by the
/// same port, the time at which it could begin.
void Traffic::schedule(size_t index) {
    const Stream& stream = streams_[index];
    if (shares_wire(stream)) return fabric_.events().schedule(stream.next, *this, wants_wire_event, index);
    const double line = wires_[stream.wire].ps_per_byte;
    fabric_.events().schedule(stream.next + static_cast<Time>((stream.size + 8) * line), *this, last_bit,
                              index);
}

void Traffic::on_event(uint32_t what, uint64_t index) {
    if (what == wants_wire_event) return wants_wire(index);
    if (what == last_bit) return came_in(index, streams_[index].next);
    const Frame frame = wires_[index].coming.pop();
    came_in(frame.stream, frame.begin);
}

/// First come, first served. The stream goes on when its frame has come in.
void Traffic::wants_wire(size_t index) {
    const Stream& stream = streams_[index];
    Wire& wire = wires_[stream.wire];
    const Time begin = std::max(stream.next, wire.free_at);
    wire.free_at = begin + static_cast<Time>((stream.size + 20) * wire.ps_per_byte);
    wire.coming.push({index, begin});
    fabric_.events().schedule(begin + static_cast<Time>((stream.size + 8) * wire.ps_per_byte), *this,
                              last_bit_of_wire, stream.wire);
}

void Traffic::came_in(size_t index, Time begin) {
    Stream& stream = streams_[index];
    Nic& nic = *nics_[stream.flow.from_nic];
    counters_.offered++;
    stream.counters.offered++;
    const std::span<std::byte> room = nic.begin_receive(stream.flow.from_port, stream.size, ++packets_);
    if (!room.empty()) {
        counters_.accepted++;
        stream.counters.accepted++;
        write_frame(stream, index, room, begin);
        nic.received();
    }
    stream.number++;
    go_on(stream);
    const Time begins =
        shares_wire(stream) ? std::max(stream.next, wires_[stream.wire].free_at) : stream.next;
    if (begins < settings_.stop && stream.number < settings_.most) schedule(index);
}

/// When the next frame comes, and how long it is.
void Traffic::go_on(Stream& stream) {
    if (settings_.recording) {
        const Recording& recording = *settings_.recording;
        const auto& frames = recording.frames();
        const uint64_t number = stream.number;
        const uint64_t round = number / frames.size();
        const double from_first = static_cast<double>(frames[number % frames.size()].at) +
                                  static_cast<double>(round) * static_cast<double>(recording.span());
        stream.next = settings_.start + static_cast<Time>(from_first / settings_.recording_speed);
        stream.size = next_size(stream);
        return;
    }
    const double interval = (stream.size + 20) * stream.ps_per_byte;
    double step = settings_.poisson && settings_.burst <= 1
                      ? std::exponential_distribution<double>(1 / interval)(random_)
                      : interval;
    if (settings_.burst > 1) {
        const double back_to_back = (stream.size + 20) * wires_[stream.wire].ps_per_byte;
        stream.behind += interval - back_to_back;
        step = back_to_back;
        if (stream.number % settings_.burst == 0 && stream.behind > 0) {
            step += settings_.poisson ? std::exponential_distribution<double>(1 / stream.behind)(random_)
                                      : stream.behind;
            stream.behind = 0;
        }
    }
    stream.carry += step;
    const auto whole = static_cast<Time>(stream.carry);
    stream.carry -= static_cast<double>(whole);
    stream.next += whole;
    stream.size = next_size(stream);
}

void Traffic::write_frame(const Stream& stream, size_t index, std::span<std::byte> frame, Time begin) {
    static constexpr std::array<uint8_t, headers> header = {
        2, 0,    0, 0,  0,  1, 2, 0,   0, 0, 0, 2,  8, 0, 0x45, 0,    0,    0,    0,
        0, 0x40, 0, 64, 17, 0, 0, 192, 0, 2, 1, 10, 0, 0, 1,    0x30, 0x39, 0x30, 0x39};
    std::memcpy(frame.data(), header.data(), headers);
    put16(&frame[16], static_cast<uint32_t>(frame.size()) - 18);
    put16(&frame[38], static_cast<uint32_t>(frame.size()) - 38);
    frame[destination + 1] = static_cast<std::byte>(stream.flow.to_nic);
    frame[destination + 2] = static_cast<std::byte>(stream.flow.to_port);
    if (settings_.destinations) {
        const Destinations& where = *settings_.destinations;
        const uint32_t address = where.addresses()[where.index(index, stream.number)];
        put16(&frame[destination], address >> 16);
        put16(&frame[destination + 2], address);
    }
    if (!settings_.destinations)
        put16(&frame[source_port],
              first_port + static_cast<uint32_t>(conversation(stream.number, stream.last.size())));
    const Stamp stamp{stream.number, begin, static_cast<uint16_t>(index)};
    std::memcpy(&frame[headers], &stamp, stamp_bytes);
    std::memcpy(&frame[headers + stamp_bytes], &pattern_[pattern_start(stream.number)],
                frame.size() - headers - stamp_bytes);
}

void Traffic::frame_sent(unsigned nic, unsigned port, std::span<const std::byte> frame, uint64_t) {
    counters_.delivered++;
    counters_.delivered_bytes += frame.size();
    Stamp stamp{};
    std::memcpy(&stamp, &frame[headers], stamp_bytes);
    const Time now = fabric_.events().now();
    if (stamp.stream >= streams_.size()) {
        counters_.damaged++;
        return;
    }
    Stream& stream = streams_[stamp.stream];
    bool here = stream.flow.to_nic == nic && stream.flow.to_port == port;
    uint64_t* last = nullptr;
    if (settings_.destinations) {
        const uint32_t where = settings_.destinations->index(stamp.stream, stamp.number);
        const Egress egress = egress_of(settings_.destinations->next_hop(where), settings_.egress);
        here = egress.forward && egress.nic == nic && egress.port == port;
        last = &stream.last[where];
    } else {
        last = &stream.last[conversation(stamp.number, stream.last.size())];
    }
    const bool same = !settings_.check_bytes ||
                      std::memcmp(&frame[headers + stamp_bytes], &pattern_[pattern_start(stamp.number)],
                                  frame.size() - headers - stamp_bytes) == 0;
    if (!here || !same || stamp.number >= stream.number || stamp.begin > now) {
        counters_.damaged++;
        return;
    }
    counters_.reordered += stamp.number < *last;
    *last = std::max(*last, stamp.number + 1);
    if (stamp.number < stream.delivered) {
        if (stream.delivered - stamp.number > remembered || stream.seen[stamp.number % remembered])
            counters_.doubled++;
    }
    for (; stream.delivered <= stamp.number; stream.delivered++)
        stream.seen[stream.delivered % remembered] = false;
    stream.seen[stamp.number % remembered] = true;
    stream.counters.delivered++;
    if (stamp.begin < measured_from_) return;
    if (latencies_.size() < most_latencies)
        latencies_.push_back(now - stamp.begin);
    else
        latencies_[next_latency_++ % most_latencies] = now - stamp.begin;
}

void Traffic::begin_measurement() {
    const TrafficCounters before = counters_;
    counters_ = {};
    counters_.damaged = before.damaged;
    counters_.doubled = before.doubled;
    for (Stream& stream : streams_)
        stream.counters = {};
    latencies_.clear();
    measured_from_ = fabric_.events().now();
}

std::vector<FlowCounters> Traffic::flows() const {
    std::vector<FlowCounters> flows;
    for (const Stream& stream : streams_)
        flows.push_back(stream.counters);
    return flows;
}

size_t Traffic::conversation(uint64_t number, size_t of) const {
    if (!settings_.recording) return conversation_of(number, of);
    const auto& frames = settings_.recording->frames();
    return frames[number % frames.size()].flow % of;
}

std::vector<Time> Traffic::latencies() const {
    std::vector<Time> sorted = latencies_;
    std::ranges::sort(sorted);
    return sorted;
}

}  // namespace pktpit::model
