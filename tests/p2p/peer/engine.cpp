// SPDX-License-Identifier: BSD-3-Clause
#include "tests/p2p/peer/engine.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace pktpit::test_peer {
namespace {

using offload::PeerLaneCounters;
using offload::PeerMemoryMap;
using offload::PeerOpcode;
using offload::PeerProgram;
using offload::PeerRole;

void count(uint64_t& counter, uint64_t more = 1) {
    offload::store_shared(counter, counter + more);
}

/// Places of the ring whose tail a program writes.
uint64_t places(const PeerProgram& program, PeerOpcode told_by) {
    for (const offload::PeerOperation& operation : program.operations)
        if (operation.opcode == told_by) return uint64_t{operation.mask} + 1;
    return 1;
}

}  // namespace

PeerLaneCounters& Engine::counters(uint8_t lane) const {
    return *reinterpret_cast<PeerLaneCounters*>(memory_.data() + PeerMemoryMap::counters +
                                                lane * sizeof(PeerLaneCounters));
}

uint64_t Engine::generation() const {
    return offload::load_shared(control().generation);
}

Engine::Lane* Engine::lane_of(uint16_t port) {
    const auto found =
        std::ranges::find_if(lanes_, [&](const Lane& lane) { return lane.present && lane.port == port; });
    return found == lanes_.end() ? nullptr : &*found;
}

void Engine::load() {
    if (offload::load_shared(control().serial) == table_.serial) return;
    auto loaded = load_table(memory_, reach_);
    if (!loaded) return;
    table_ = std::move(*loaded);
    bus_.set_bus_address(table_.bus_address);
    take_ = hand_over_ = nullptr;
    for (Lane& lane : lanes_) {
        lane.present = false;
        lane.receive = lane.refill = lane.transmit = lane.sent = nullptr;
    }
    refuse_what_was_before();
    for (const LoadedProgram& one : table_.programs)
        place(one);
    const std::string& why = table_.refusal;
    std::memset(control().refusal, 0, sizeof control().refusal);
    std::memcpy(control().refusal, why.data(), std::min(why.size(), sizeof control().refusal - 1));
    offload::store_shared(control().refused, table_.refused);
    offload::store_shared(control().loaded, table_.serial);
}

// Where in their rings the NICs are a device that was reset does not know; the host has to begin anew.
void Engine::refuse_what_was_before() {
    if (std::exchange(was_reset_, false))
        for (const LoadedProgram& one : table_.programs)
            known_from_ = std::max(known_from_, one.entry.incarnation + 1);
    const size_t before = std::erase_if(
        table_.programs, [this](const LoadedProgram& one) { return one.entry.incarnation < known_from_; });
    if (before == 0) return;
    table_.refused += before;
    table_.refusal = "the device was reset: it does not know where in their rings the NICs are";
}

void Engine::place(const LoadedProgram& loaded) {
    const auto role = static_cast<PeerRole>(loaded.entry.role);
    if (role == PeerRole::take || role == PeerRole::hand_over) {
        if (queues_incarnation_ != loaded.entry.incarnation) {
            queues_incarnation_ = loaded.entry.incarnation;
            host_ = {};
            handed_over_ = handed_over_committed_ = 0;
        }
        (role == PeerRole::take ? take_ : hand_over_) = &loaded.program;
        if (role == PeerRole::take) host_.left.resize(places(loaded.program, PeerOpcode::take_frame));
        return;
    }
    Lane& lane = lanes_[loaded.entry.lane];
    if (lane.incarnation != loaded.entry.incarnation) restart(lane, loaded.entry);
    lane.present = true;
    lane.port = loaded.entry.port;
    if (role == PeerRole::receive) lane.receive = &loaded.program;
    if (role == PeerRole::refill) {
        lane.refill = &loaded.program;
        lane.source.left.resize(places(loaded.program, PeerOpcode::ring_tail));
    }
    if (role == PeerRole::transmit) {
        lane.transmit = &loaded.program;
        lane.ring.resize(places(loaded.program, PeerOpcode::ring_tail));
    }
    if (role == PeerRole::sent) lane.sent = &loaded.program;
}

// The NIC was reset: what was in its transmit ring has gone, and is given back to where it came from.
void Engine::restart(Lane& lane, const offload::PeerProgramEntry& entry) {
    for (; lane.gone != lane.stored; lane.gone++) {
        const Sent& sent = lane.ring[lane.gone % lane.ring.size()];
        leave(sent.source, sent.incarnation, sent.sequence);
    }
    lane = {};
    lane.incarnation = entry.incarnation;
}

size_t Engine::turn() {
    load();
    const uint64_t now = generation();
    size_t frames = 0;
    for (size_t index = 0; index < lanes_.size(); index++)
        if (lanes_[index].present) frames += receive(static_cast<uint8_t>(index), now);
    frames += take(now);
    commit(now);
    see_what_left(now);
    give_back(now);
    count(control().turns);
    return frames;
}

size_t Engine::receive(uint8_t index, uint64_t now) {
    Lane& lane = lanes_[index];
    if (!usable(lane.receive, now) || !usable(lane.refill, now)) {
        count(counters(index).stale);
        return 0;
    }
    size_t frames = 0;
    for (; frames < batch && lane.source.taken + 1 < lane.source.released + lane.source.left.size();
         frames++) {
        Packet packet;
        packet.port = lane.port;
        packet.lane = index;
        const uint64_t sequence = lane.source.taken;
        const Executed done = executor_.packet(*lane.receive, sequence, packet, table_.image.get());
        // Decided by what was revoked meanwhile: not at all.
        if (done != Executed::done || generation() != now) break;
        lane.source.taken++;
        lane.source.left[sequence % lane.source.left.size()] = false;
        count(counters(index).rx_packets);
        count(counters(index).rx_bytes, packet.length());
        decide(packet, sequence, now);
    }
    return frames;
}

void Engine::decide(Packet& packet, uint64_t sequence, uint64_t now) {
    PeerLaneCounters& from = counters(packet.lane);
    if (packet.damaged) {
        count(from.rx_error);
        return leave(packet.lane, lanes_[packet.lane].incarnation, sequence);
    }
    if (!packet.egress) return hand_over(packet, sequence, now);
    Lane* egress = lane_of(*packet.egress);
    if (egress && transmit(*egress, packet, sequence, now)) return count(from.forwarded);
    count(egress ? counters(static_cast<uint8_t>(egress - lanes_.data())).egress_full : from.egress_full);
    leave(packet.lane, lanes_[packet.lane].incarnation, sequence);
}

bool Engine::transmit(Lane& lane, Packet& packet, uint64_t sequence, uint64_t now) {
    // One pair stays empty: a head that meets the tail means an empty ring.
    if (!usable(lane.transmit, now) || !usable(lane.sent, now) ||
        lane.stored - lane.gone + 1 >= lane.ring.size())
        return false;
    if (executor_.packet(*lane.transmit, lane.stored, packet, nullptr) != Executed::done) return false;
    lane.ring[lane.stored % lane.ring.size()] = {
        packet.lane, packet.lane == host ? queues_incarnation_ : lanes_[packet.lane].incarnation, sequence};
    lane.stored++;
    PeerLaneCounters& to = counters(static_cast<uint8_t>(&lane - lanes_.data()));
    count(to.tx_packets);
    count(to.tx_bytes, packet.length());
    return true;
}

void Engine::hand_over(Packet& packet, uint64_t sequence, uint64_t now) {
    const bool done = usable(hand_over_, now) &&
                      executor_.packet(*hand_over_, handed_over_, packet, nullptr) == Executed::done;
    handed_over_ += done ? 1 : 0;
    PeerLaneCounters& from = counters(packet.lane);
    count(done ? from.handed_over : from.queue_full);
    leave(packet.lane, lanes_[packet.lane].incarnation, sequence);
}

size_t Engine::take(uint64_t now) {
    if (!usable(take_, now)) return 0;
    size_t frames = 0;
    for (; frames < batch && host_.taken < host_.released + host_.left.size(); frames++) {
        Packet packet;
        packet.lane = host;
        const uint64_t sequence = host_.taken;
        if (executor_.packet(*take_, sequence, packet, nullptr) != Executed::done) break;
        host_.taken++;
        host_.left[sequence % host_.left.size()] = false;
        const uint8_t to = packet.to_lane.value_or(host);
        const bool known = to < lanes_.size() && lanes_[to].present && !packet.damaged;
        if (known && transmit(lanes_[to], packet, sequence, now)) continue;
        if (to < lanes_.size()) count(counters(to).egress_full);
        leave(host, queues_incarnation_, sequence);
    }
    return frames;
}

void Engine::commit(uint64_t now) {
    for (Lane& lane : lanes_) {
        if (lane.committed == lane.stored || !usable(lane.transmit, now)) continue;
        PeerLaneCounters& to = counters(static_cast<uint8_t>(&lane - lanes_.data()));
        count(to.commits);
        count(to.doorbells, executor_.commit(*lane.transmit, lane.stored));
        lane.committed = lane.stored;
    }
    if (handed_over_committed_ == handed_over_ || !usable(hand_over_, now)) return;
    (void)executor_.commit(*hand_over_, handed_over_);
    handed_over_committed_ = handed_over_;
}

void Engine::see_what_left(uint64_t now) {
    for (Lane& lane : lanes_) {
        if (!usable(lane.sent, now)) continue;
        Packet none;
        while (lane.gone != lane.committed &&
               executor_.packet(*lane.sent, lane.gone, none, nullptr) == Executed::done) {
            const Sent& sent = lane.ring[lane.gone++ % lane.ring.size()];
            leave(sent.source, sent.incarnation, sent.sequence);
        }
    }
}

void Engine::leave(uint8_t index, uint32_t incarnation, uint64_t sequence) {
    if (incarnation != (index == host ? queues_incarnation_ : lanes_[index].incarnation)) return;
    Source& source = source_of(index);
    if (source.left.empty()) return;
    source.left[sequence % source.left.size()] = true;
    while (source.released != source.taken && source.left[source.released % source.left.size()])
        source.released++;
}

// In the order of the ring, and so that one descriptor always stays empty.
void Engine::give_back(uint64_t now) {
    Packet none;
    for (Lane& lane : lanes_) {
        Source& source = lane.source;
        if (!lane.present || !usable(lane.refill, now)) continue;
        const uint64_t most = source.released + source.left.size() - 1;
        if (source.given == most) continue;
        for (; source.given != most; source.given++)
            (void)executor_.packet(*lane.refill, source.given, none, nullptr);
        (void)executor_.commit(*lane.refill, source.given);
    }
    if (host_.given == host_.released || !usable(take_, now)) return;
    (void)executor_.commit(*take_, host_.released);
    host_.given = host_.released;
}

}  // namespace pktpit::test_peer
