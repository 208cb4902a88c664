// SPDX-License-Identifier: BSD-3-Clause
#include "offload/model/peer_engine.h"

#include <algorithm>
#include <cstring>

#include "offload/model/tracer.h"
#include "offload/peer_ops/codec.h"

namespace pktpit::model {
namespace {

using offload::PeerOpcode;
using offload::PeerOperand;
using offload::PeerOperation;

constexpr uint32_t step_event = 0;
constexpr uint32_t poll_event = 1;
constexpr uint32_t timeout_event = 2;
constexpr uint32_t done_event = 3;
constexpr uint32_t failed_event = 4;

constexpr uint64_t poll_cookie = PeerEngine::first_cookie;
constexpr uint64_t flush_cookie = PeerEngine::first_cookie + (uint64_t{1} << 32);

bool satisfied(PeerOpcode opcode, uint32_t found, uint32_t value) {
    if (opcode == PeerOpcode::poll_and) return (found & value) != 0;
    if (opcode == PeerOpcode::poll_nor) return ~(found | value) != 0;
    return static_cast<int32_t>(found - value) >= 0;
}

}  // namespace

PeerEngineCounters& PeerEngineCounters::operator+=(const PeerEngineCounters& other) {
    for (auto counter :
         {&PeerEngineCounters::launches, &PeerEngineCounters::operations, &PeerEngineCounters::copies,
          &PeerEngineCounters::stores, &PeerEngineCounters::fences, &PeerEngineCounters::doorbells,
          &PeerEngineCounters::flushes, &PeerEngineCounters::polls, &PeerEngineCounters::stale,
          &PeerEngineCounters::refused, &PeerEngineCounters::failed})
        this->*counter += other.*counter;
    return *this;
}

PeerEngine::PeerEngine(Fabric& fabric, Endpoint& endpoint, PeerEngineClient& client,
                       const PeerEngineSettings& settings)
    : fabric_(fabric), endpoint_(endpoint), client_(client), settings_(settings), lanes_(settings.lanes) {}

Result<void> PeerEngine::load(std::span<const std::byte> bytes) {
    auto program = offload::decode_peer_program(bytes);
    Result<void> good;
    if (!program)
        good = tl::unexpected(program.error());
    else if (program->egress >= lanes_.size())
        good = fail("header", "egress " + std::to_string(program->egress),
                    "less than " + std::to_string(lanes_.size()));
    else
        good = offload::verify(*program, windows_, settings_.verify);
    if (!good) {
        counters_.refused++;
        last_refusal_ = good.error().to_string();
        return good;
    }
    lanes_[program->egress].program = std::move(*program);
    return {};
}

bool PeerEngine::ready(unsigned index) const {
    const auto& program = lanes_[index].program;
    return program && program->generation >= generation_;
}

PeerEngine::Launch PeerEngine::launch(unsigned index, uint64_t sequence,
                                      std::span<const PeerPacket> packets) {
    Lane& lane = lanes_[index];
    if (lane.running) return Launch::busy;
    if (!ready(index)) {
        counters_.stale++;
        return Launch::stale;
    }
    counters_.launches++;
    lane.executed = *lane.program;
    lane.packets.assign(packets.begin(), packets.end());
    lane.sequence = sequence;
    lane.packet = 0;
    lane.next = packets.empty() || lane.executed.commit_at == 0 ? lane.executed.commit_at : 0;
    if (lane.next == lane.executed.commit_at) lane.packet = packets.size();
    lane.running = true;
    lane.fenced = false;
    lane.written.clear();
    schedule(index);
    return Launch::begun;
}

/// The engine is shared: an operation of any lane takes its time.
void PeerEngine::schedule(unsigned index) {
    free_at_ = std::max(free_at_, fabric_.events().now()) + settings_.operation_time;
    fabric_.events().schedule(free_at_, *this, step_event, index);
}

void PeerEngine::on_event(uint32_t what, uint64_t argument) {
    const auto index = static_cast<unsigned>(argument & 0xffff);
    Lane& lane = lanes_[index];
    switch (what) {
        case step_event:
            return step(index);
        case poll_event:
            if (lane.running && lane.epoch == argument >> 16)
                poll(index, lane.executed.operations[lane.next]);
            return;
        case timeout_event:
            if (lane.running && lane.poll_began != never && lane.epoch == argument >> 16)
                finish(index, false);
            return;
        default: {
            lane.running = false;
            const PeerOutcome outcome{what == done_event, lane.packet};
            client_.launch_done(index, outcome);
        }
    }
}

void PeerEngine::step(unsigned index) {
    Lane& lane = lanes_[index];
    if (lane.next == lane.executed.operations.size()) return finish(index, true);
    counters_.operations++;
    execute(index, lane.executed.operations[lane.next]);
}

void PeerEngine::execute(unsigned index, const PeerOperation& operation) {
    if (operation.opcode == PeerOpcode::fence) return fence(index);
    if (offload::is_peer_poll(operation.opcode)) return poll(index, operation);
    write(index, operation);
}

uint64_t PeerEngine::address_of(const Lane& lane, const PeerOperation& operation) const {
    const uint64_t sequence = lane.sequence + lane.packet;
    return operation.address + (sequence & operation.mask) * operation.stride;
}

uint64_t PeerEngine::value_of(const Lane& lane, const PeerOperation& operation) const {
    const bool counted = operation.operand == PeerOperand::sequence;
    return operation.value + (counted ? lane.sequence + lane.packet : 0);
}

void PeerEngine::write(unsigned index, const PeerOperation& operation) {
    Lane& lane = lanes_[index];
    const uint64_t address = address_of(lane, operation);
    const bool of_packet = lane.packet < lane.packets.size();
    const uint64_t traced = of_packet              ? lane.packets[lane.packet].packet
                            : lane.packets.empty() ? 0
                                                   : lane.packets.back().packet;
    Requester::Options options{Requester::no_cookie, traced, operation.relaxed && !lane.fenced,
                               TlpType::memory_write};
    trace(lane, to_string(operation.opcode));
    const NodeId target = fabric_.owner_of(address, 1);
    if (std::ranges::find(lane.written, target, &std::pair<NodeId, uint64_t>::first) == lane.written.end())
        lane.written.emplace_back(target, address & ~uint64_t{3});
    if (operation.opcode == PeerOpcode::copy_block) {
        counters_.copies++;
        const bool packet = operation.operand == PeerOperand::packet;
        const uint64_t offset =
            packet ? lane.packets[lane.packet].offset : operation.value - endpoint_.settings().bar;
        const uint32_t bytes = packet ? lane.packets[lane.packet].length : operation.bytes;
        if (bytes > operation.bytes) return finish(index, false);
        if (packet) options.cookie = lane.packets[lane.packet].cookie;
        endpoint_.dma().write(address, endpoint_.memory().at(offset), bytes, options);
    } else {
        (operation.opcode == PeerOpcode::doorbell ? counters_.doorbells : counters_.stores)++;
        const uint64_t value = value_of(lane, operation);
        const auto bytes = std::as_bytes(std::span(&value, 1)).first(offload::peer_access_bytes(operation));
        endpoint_.dma().write_copy(address, bytes, options);
    }
    advance(index);
}

/// The device that the next write is for; no_node: there is none in this program.
NodeId PeerEngine::next_target(const Lane& lane) const {
    for (size_t i = lane.next + 1; i < lane.executed.operations.size(); i++) {
        const PeerOperation& operation = lane.executed.operations[i];
        if (offload::is_peer_write(operation.opcode)) return fabric_.owner_of(address_of(lane, operation), 1);
    }
    return no_node;
}

void PeerEngine::fence(unsigned index) {
    Lane& lane = lanes_[index];
    counters_.fences++;
    trace(lane, "fence");
    lane.fenced = true;
    lane.flush_failed = false;
    const NodeId ordered = next_target(lane);
    for (const auto& [target, address] : lane.written) {
        if (target == ordered || target == no_node) continue;
        lane.flushing++;
        counters_.flushes++;
        endpoint_.dma().read(address, lane.flushed, 4,
                             {flush_cookie + index, 0, false, TlpType::memory_write});
    }
    std::erase_if(lane.written, [&](const auto& one) { return one.first != ordered; });
    if (lane.flushing == 0) advance(index);
}

void PeerEngine::poll(unsigned index, const PeerOperation& operation) {
    Lane& lane = lanes_[index];
    if (lane.poll_began == never) {
        lane.poll_began = fabric_.events().now();
        lane.epoch++;
    }
    const uint64_t address = address_of(lane, operation);
    const uint64_t offset = address - endpoint_.settings().bar;
    if (!endpoint_.memory().contains(offset, 4)) {
        endpoint_.dma().read(address, lane.read, 4, {poll_cookie + index, 0, false, TlpType::memory_write});
        return;
    }
    uint32_t found = 0;
    std::memcpy(&found, endpoint_.memory().at(offset), sizeof(found));
    judge(index, found);
}

void PeerEngine::judge(unsigned index, uint32_t found) {
    Lane& lane = lanes_[index];
    const PeerOperation& operation = lane.executed.operations[lane.next];
    if (satisfied(operation.opcode, found, static_cast<uint32_t>(value_of(lane, operation)))) {
        lane.poll_began = never;
        trace(lane, to_string(operation.opcode));
        return advance(index);
    }
    counters_.polls++;
    const Time now = fabric_.events().now();
    const uint64_t argument = lane.epoch << 16 | index;
    if (now == lane.poll_began)
        fabric_.events().schedule(now + settings_.poll_timeout, *this, timeout_event, argument);
    const uint64_t offset = address_of(lane, operation) - endpoint_.settings().bar;
    if (endpoint_.memory().contains(offset, 4))
        lane.waiting = true;
    else if (now - lane.poll_began >= settings_.poll_timeout)
        finish(index, false);
    else
        fabric_.events().schedule(now + settings_.poll_interval, *this, poll_event, argument);
}

void PeerEngine::memory_written() {
    for (unsigned index = 0; index < lanes_.size(); index++) {
        Lane& lane = lanes_[index];
        if (!lane.waiting) continue;
        lane.waiting = false;
        poll(index, lane.executed.operations[lane.next]);
    }
}

void PeerEngine::dma_done(uint64_t cookie, DmaResult result) {
    const auto index = static_cast<unsigned>(cookie & 0xffff);
    Lane& lane = lanes_[index];
    if (cookie >= flush_cookie) {
        lane.flush_failed |= result != DmaResult::done;
        if (--lane.flushing > 0) return;
        return lane.flush_failed ? finish(index, false) : advance(index);
    }
    if (!lane.running || lane.poll_began == never) return;  // it has timed out meanwhile
    if (result != DmaResult::done) return finish(index, false);
    uint32_t found = 0;
    std::memcpy(&found, lane.read, sizeof(found));
    judge(index, found);
}

void PeerEngine::advance(unsigned index) {
    Lane& lane = lanes_[index];
    lane.next++;
    if (lane.packet < lane.packets.size() && lane.next == lane.executed.commit_at) {
        lane.packet++;
        if (lane.packet < lane.packets.size()) lane.next = 0;
    }
    schedule(index);
}

void PeerEngine::finish(unsigned index, bool done) {
    Lane& lane = lanes_[index];
    lane.waiting = false;
    lane.poll_began = never;
    counters_.failed += !done;
    fabric_.events().schedule(fabric_.events().now(), *this, done ? done_event : failed_event, index);
}

void PeerEngine::trace(const Lane& lane, std::string_view what) {
    Tracer* tracer = fabric_.tracer();
    if (!tracer || lane.packets.empty()) return;
    const uint64_t packet = lane.packets[std::min(lane.packet, lane.packets.size() - 1)].packet;
    const Time now = fabric_.events().now();
    tracer->step(packet, endpoint_.name(), "operation: " + std::string(what), now - settings_.operation_time,
                 now);
}

}  // namespace pktpit::model
