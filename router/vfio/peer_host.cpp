// SPDX-License-Identifier: BSD-3-Clause
#include "router/vfio/peer_host.h"

#include <algorithm>
#include <cstring>
#include <thread>
#include <vector>

#include "offload/nic/e1000e.h"
#include "offload/peer_ops/codec.h"

namespace pktpit::router {
namespace {

using offload::PeerControl;
using offload::PeerMemoryMap;
using offload::PeerProgram;
using offload::PeerProgramEntry;
using offload::PeerRole;
using offload::PeerWindowEntry;

constexpr uint32_t read_own = PeerWindowEntry::read | PeerWindowEntry::own;
constexpr uint32_t write_own = read_own | PeerWindowEntry::write;

}  // namespace

/// A table on its way into the device's memory.
struct PeerHost::Writing {
    std::span<std::byte> memory;
    uint64_t bus_address;
    uint32_t windows = 0;
    uint32_t programs = 0;
    uint64_t next = PeerMemoryMap::program_bytes;

    void window(uint64_t base, uint64_t bytes, uint32_t flags, const std::string& name) {
        PeerWindowEntry entry{base, bytes, flags, {}};
        std::memcpy(entry.name, name.data(), std::min(name.size(), sizeof entry.name - 1));
        std::memcpy(memory.data() + PeerMemoryMap::windows + windows++ * sizeof entry, &entry, sizeof entry);
    }
    void window_at(uint64_t offset, uint64_t bytes, uint32_t flags, const std::string& name) {
        window(bus_address + offset, bytes, flags, name);
    }
    void program(const PeerProgram& program, PeerRole role, const Lane& lane, uint8_t index) {
        const std::vector<std::byte> bytes = offload::encode(program);
        PeerProgramEntry entry{next,
                               static_cast<uint32_t>(bytes.size()),
                               lane.incarnation,
                               lane.port,
                               index,
                               static_cast<uint8_t>(role),
                               {}};
        std::memcpy(memory.data() + next, bytes.data(), bytes.size());
        std::memcpy(memory.data() + PeerMemoryMap::programs + programs++ * sizeof entry, &entry,
                    sizeof entry);
        next += bytes.size();
    }
};

PeerHost::PeerHost(std::span<std::byte> memory, uint64_t bus_address, const PeerPlan& plan,
                   const config::Vfio& settings)
    : memory_(memory), bus_address_(bus_address), plan_(plan), settings_(settings) {
    PeerControl& page = control();
    // A device that has seen an earlier daemon's tables shall take none of these for one of them.
    const bool known = offload::load_shared(page.magic) == offload::peer_memory_magic;
    const uint64_t serial = known ? offload::load_shared(page.serial) | 1 : 1;
    generation_ = known ? offload::load_shared(page.generation) : 0;
    incarnations_ = static_cast<uint32_t>(serial) << 8;
    offload::store_shared(page.generation, uint64_t{0});
    offload::store_shared(page.serial, serial);
    if (known) (void)wait_for_turn(std::chrono::milliseconds(settings.peer->patience_ms));
    std::memset(memory_.data() + PeerMemoryMap::to_host_tail, 0,
                PeerMemoryMap::program_bytes - PeerMemoryMap::to_host_tail);
    offload::store_shared(page.bus_address, bus_address);
    offload::store_shared(page.magic, offload::peer_memory_magic);
    queues_incarnation_ = ++incarnations_;
}

void PeerHost::add(uint8_t index, Lane port) {
    port.incarnation = ++incarnations_;
    lanes_.insert_or_assign(index, std::move(port));
}

offload::PeerNic PeerHost::nic(uint8_t index, const Lane& lane) const {
    const uint64_t part = bus_address_ + plan_.port(index);
    offload::PeerNic nic;
    nic.rx_ring = part;
    nic.tx_ring = part + plan_.tx_ring;
    nic.rx_templates = part + plan_.templates;
    nic.cells = part + plan_.cells;
    nic.payloads = part + plan_.payloads;
    nic.rx_tail = lane.registers + offload::E1000e::rx_tail;
    nic.tx_tail = lane.registers + offload::E1000e::tx_tail;
    nic.rx_entries = settings_.rx_descriptors;
    nic.tx_pairs = settings_.tx_descriptors / 2;
    nic.cell_bytes = peer_cell_bytes;
    nic.payload_bytes = settings_.slot_bytes;
    return nic;
}

offload::PeerFrameQueue PeerHost::queue(uint64_t slots, uint64_t tail, uint64_t completions) const {
    return {bus_address_ + slots, bus_address_ + tail, bus_address_ + completions,
            settings_.peer->queue_frames, static_cast<uint32_t>(plan_.queue_slot_bytes)};
}

void PeerHost::write_queues(Writing& out) const {
    using Map = PeerMemoryMap;
    const uint64_t bytes = settings_.peer->queue_frames * plan_.queue_slot_bytes;
    out.window_at(Map::to_host_tail, 8, PeerWindowEntry::doorbell | PeerWindowEntry::own, "tail to the host");
    out.window_at(Map::to_host_completions, 4, read_own, "completions of the host");
    out.window_at(Map::from_host_tail, 8, read_own, "tail from the host");
    out.window_at(Map::from_host_completions, 4, write_own, "completions for the host");
    out.window_at(plan_.to_host, bytes, write_own, "frames to the host");
    out.window_at(plan_.from_host, bytes, read_own, "frames from the host");
    out.window_at(plan_.image, plan_.image_bytes, read_own, "FIB image");
    const Lane none{0, 0, {}, queues_incarnation_};
    out.program(
        compile_take(queue(plan_.from_host, Map::from_host_tail, Map::from_host_completions), generation_),
        PeerRole::take, none, 0);
    out.program(
        compile_hand_over(queue(plan_.to_host, Map::to_host_tail, Map::to_host_completions), generation_),
        PeerRole::hand_over, none, 0);
}

void PeerHost::write_lane(Writing& out, uint8_t index, const Lane& lane) const {
    const offload::PeerNic at = nic(index, lane);
    const uint64_t entries = settings_.rx_descriptors;
    out.window(at.rx_ring, entries * offload::peer_receive_descriptor_bytes, write_own,
               lane.name + " receive ring");
    out.window(at.tx_ring, uint64_t{settings_.tx_descriptors} * offload::E1000e::tx_descriptor_bytes,
               write_own, lane.name + " transmit ring");
    out.window(at.rx_templates, entries * offload::peer_receive_descriptor_bytes, read_own,
               lane.name + " templates");
    out.window(at.cells, entries * peer_cell_bytes, write_own, lane.name + " headers");
    out.window(at.payloads, entries * settings_.slot_bytes, read_own, lane.name + " payloads");
    out.window(at.rx_tail, 4, PeerWindowEntry::doorbell, lane.name + " RDT");
    out.window(at.tx_tail, 4, PeerWindowEntry::doorbell, lane.name + " TDT");
    out.program(compile_receive(at, bus_address_ + plan_.image, static_cast<uint32_t>(plan_.image_bytes),
                                lane.port, generation_),
                PeerRole::receive, lane, index);
    out.program(compile_refill(at, lane.port, generation_), PeerRole::refill, lane, index);
    out.program(compile_transmit(at, lane.port, generation_), PeerRole::transmit, lane, index);
    out.program(compile_sent(at, lane.port, generation_), PeerRole::sent, lane, index);
}

void PeerHost::publish() {
    if (revoked_) return;
    PeerControl& page = control();
    const uint64_t serial = offload::load_shared(page.serial) | 1;
    offload::store_shared(page.serial, serial);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    generation_ = std::max(generation_, offload::load_shared(page.generation)) + 1;
    Writing out{memory_, bus_address_};
    write_queues(out);
    for (const auto& [index, lane] : lanes_)
        write_lane(out, index, lane);
    offload::store_shared(page.windows, out.windows);
    offload::store_shared(page.programs, out.programs);
    offload::store_shared(page.generation, generation_);
    offload::store_shared(page.serial, serial + 1);
}

void PeerHost::withdraw() {
    const std::atomic_ref<uint64_t> generation(control().generation);
    uint64_t now = generation.load();
    while (now != 0 && !generation.compare_exchange_weak(now, now + 1)) {
    }
}

void PeerHost::revoke() {
    revoked_ = true;
    offload::store_shared(control().generation, uint64_t{0});
}

bool PeerHost::loaded() const {
    return offload::load_shared(control().loaded) == offload::load_shared(control().serial);
}

std::string PeerHost::refusal() const {
    if (offload::load_shared(control().refused) == 0) return {};
    const char* text = control().refusal;
    return {text, strnlen(text, sizeof control().refusal)};
}

PeerHost::State PeerHost::state(bool silent) const {
    if (silent) return {State::silent, {}};
    if (!loaded()) return {State::loads, {}};
    std::string why = refusal();
    const auto kind = why.empty() ? State::works : State::refuses;
    return {kind, std::move(why)};
}

bool PeerHost::wait_for_turn(std::chrono::milliseconds limit) const {
    const uint64_t before = turns();
    const auto end = std::chrono::steady_clock::now() + limit;
    while (turns() == before) {
        if (std::chrono::steady_clock::now() > end) return false;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
}

const offload::PeerLaneCounters& PeerHost::counters(uint8_t lane) const {
    return *reinterpret_cast<const offload::PeerLaneCounters*>(memory_.data() + PeerMemoryMap::counters +
                                                               lane * sizeof(offload::PeerLaneCounters));
}

}  // namespace pktpit::router
