// SPDX-License-Identifier: BSD-3-Clause
#include "tests/p2p/peer/executor.h"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "offload/peer_ops/queue.h"

namespace pktpit::test_peer {
namespace {

using offload::PeerDescriptor;
using offload::PeerOpcode;
using offload::PeerOperand;
using offload::PeerOperation;

constexpr uint32_t ethernet_header = 14;

template <class T>
T load(const std::byte* from) {
    return std::atomic_ref<T>(*reinterpret_cast<T*>(const_cast<std::byte*>(from)))
        .load(std::memory_order_acquire);
}

template <class T>
void store(std::byte* to, T value) {
    std::atomic_ref<T>(*reinterpret_cast<T*>(to)).store(value, std::memory_order_release);
}

/// What a piece operand stands for.
uint64_t piece(const Packet& packet, PeerOperand operand) {
    const bool split = packet.payload_length != 0;
    switch (operand) {
        case PeerOperand::first_address:
            return packet.header;
        case PeerOperand::first_length:
            return split ? packet.header_length : ethernet_header;
        case PeerOperand::second_address:
            return split ? packet.payload : packet.header + ethernet_header;
        case PeerOperand::second_length:
            return split ? packet.payload_length : packet.header_length - ethernet_header;
        default:
            return 0;
    }
}

}  // namespace

Executed Executor::packet(const offload::PeerProgram& program, uint64_t sequence, Packet& packet,
                          Image* image) {
    for (size_t i = 0; i < program.commit_at; i++)
        if (const Executed done = execute(program.operations[i], sequence, &packet, image);
            done != Executed::done)
            return done;
    return Executed::done;
}

uint64_t Executor::commit(const offload::PeerProgram& program, uint64_t sequence) {
    doorbells_ = 0;
    for (size_t i = program.commit_at; i < program.operations.size(); i++)
        (void)execute(program.operations[i], sequence, nullptr, nullptr);
    return doorbells_;
}

Executed Executor::execute(const PeerOperation& operation, uint64_t sequence, Packet* packet, Image* image) {
    const bool moves = operation.opcode != PeerOpcode::ring_tail;
    const uint64_t place =
        operation.address + (moves ? (sequence & operation.mask) * operation.stride : uint64_t{0});
    const uint64_t value =
        operation.value + (operation.operand == PeerOperand::sequence ? sequence : uint64_t{0});
    switch (operation.opcode) {
        case PeerOpcode::poll_and:
        case PeerOpcode::poll_nor:
        case PeerOpcode::poll_geq:
            return satisfied(operation, place, sequence) ? Executed::done : Executed::waits;
        case PeerOpcode::fence:
            std::atomic_thread_fence(std::memory_order_seq_cst);
            break;
        case PeerOpcode::store_dword:
            store(bus_.at(place, 4), static_cast<uint32_t>(value));
            break;
        case PeerOpcode::store_qword:
            store(
                bus_.at(place, 8),
                value | (offload::is_peer_piece(operation.operand) ? piece(*packet, operation.operand) : 0));
            break;
        case PeerOpcode::doorbell:
            store(bus_.at(place, 8), value);  // of a queue in the device's own memory
            doorbells_++;
            break;
        case PeerOpcode::ring_tail:
            bus_.write32(place, static_cast<uint32_t>((value & operation.mask) * operation.stride));
            doorbells_++;
            break;
        case PeerOpcode::copy_block:
            if (operation.operand == PeerOperand::packet) return hand_over(operation, place, *packet);
            std::memcpy(bus_.at(place, operation.bytes),
                        bus_.at(operation.value + (operation.operand == PeerOperand::place
                                                       ? (sequence & operation.mask) * operation.stride
                                                       : uint64_t{0}),
                                operation.bytes),
                        operation.bytes);
            break;
        case PeerOpcode::receive:
            receive(place, *packet);
            break;
        case PeerOpcode::header:
            packet->header = place;
            packet->header_room = operation.bytes;
            break;
        case PeerOpcode::payload:
            packet->payload = place;
            packet->payload_room = operation.bytes;
            break;
        case PeerOpcode::look_up:
            look_up(*packet, image);
            break;
        case PeerOpcode::rewrite:
            rewrite(*packet);
            break;
        case PeerOpcode::take_frame:
            take(operation, place, *packet);
            break;
    }
    return Executed::done;
}

bool Executor::satisfied(const PeerOperation& operation, uint64_t place, uint64_t sequence) const {
    const auto found = load<uint32_t>(bus_.at(place, 4));
    const auto value = static_cast<uint32_t>(
        operation.value + (operation.operand == PeerOperand::sequence ? sequence : uint64_t{0}));
    if (operation.opcode == PeerOpcode::poll_and) return (found & value) != 0;
    if (operation.opcode == PeerOpcode::poll_nor) return ~(found | value) != 0;
    return static_cast<int32_t>(found - value) >= 0;
}

// The 82574's write-back with packet split: status and errors, bytes in buffer 0; header length, HDRSP, bytes
// in buffers 1, 2 and 3 (datasheet 7.1.10.1).
void Executor::receive(uint64_t place, Packet& packet) const {
    constexpr uint32_t last = 2;
    constexpr uint32_t frame_errors = 0x97000000;
    const std::byte* descriptor = bus_.at(place, offload::peer_receive_descriptor_bytes);
    const auto first = load<uint64_t>(descriptor + 8);
    const auto lengths = load<uint64_t>(descriptor + 16);
    packet.header_length = first >> 32 & 0xffff;
    packet.payload_length = lengths >> 16 & 0xffff;
    const bool split = (lengths & 0x8000) != 0;
    packet.damaged = (first & last) == 0 || (first & frame_errors) != 0 || lengths >> 32 != 0 ||
                     (split && packet.header_length != (lengths & 0x3ff));
}

void Executor::look_up(Packet& packet, Image* image) const {
    packet.egress.reset();
    packet.damaged = packet.damaged || packet.header_length <= ethernet_header ||
                     packet.header_length > packet.header_room ||
                     (packet.payload_length != 0 && packet.payload_length > packet.payload_room);
    if (packet.damaged || !image) return;
    // Decided and rewritten on a copy: the frame is touched by `rewrite` alone, and by one that is whole.
    const size_t seen = std::min<size_t>(packet.header_length, 128);
    std::memcpy(packet.slice.data(), bus_.at(packet.header, seen), seen);
    packet.egress = image->forward(packet.port, std::span(packet.slice).first(seen), packet.length());
}

void Executor::rewrite(const Packet& packet) const {
    if (!packet.egress) return;
    const size_t seen = std::min<size_t>(packet.header_length, 128);
    std::memcpy(bus_.at(packet.header, seen), packet.slice.data(), seen);
}

void Executor::take(const PeerOperation& operation, uint64_t place, Packet& packet) const {
    PeerDescriptor descriptor;
    std::memcpy(&descriptor, bus_.at(place, operation.bytes), sizeof descriptor);
    packet.header = place + sizeof descriptor;
    packet.header_room = operation.bytes - offload::peer_descriptor_bytes;
    packet.header_length = descriptor.length;
    packet.payload_length = 0;
    packet.to_lane = descriptor.port;
    packet.damaged = descriptor.length <= ethernet_header || descriptor.length > packet.header_room;
}

Executed Executor::hand_over(const PeerOperation& operation, uint64_t place, const Packet& packet) const {
    constexpr uint32_t front = sizeof(PeerDescriptor);
    if (packet.length() > operation.bytes - front) return Executed::failed;
    std::byte* to = bus_.at(place, operation.bytes);
    const PeerDescriptor descriptor{place + front, static_cast<uint16_t>(packet.length()), packet.lane, 0, 0};
    std::memcpy(to, &descriptor, front);
    std::memcpy(to + front, bus_.at(packet.header, packet.header_length), packet.header_length);
    if (packet.payload_length != 0)
        std::memcpy(to + front + packet.header_length, bus_.at(packet.payload, packet.payload_length),
                    packet.payload_length);
    return Executed::done;
}

}  // namespace pktpit::test_peer
