// SPDX-License-Identifier: BSD-3-Clause
#include "offload/peer_ops/verifier.h"

#include <bit>
#include <utility>

namespace pktpit::offload {
namespace {

class Verifier {
  public:
    Verifier(const PeerProgram& program, const PeerWindows& windows, const PeerVerifyOptions& options)
        : program_(program), windows_(windows), options_(options) {}

    Result<void> run() {
        if (program_.operations.empty() || program_.operations.size() > most_peer_operations)
            return fail("program", std::to_string(program_.operations.size()) + " operations",
                        "1 to " + std::to_string(most_peer_operations));
        if (program_.commit_at > program_.operations.size())
            return fail("program", "its commit section begins behind its end");
        for (size_t i = 0; i < program_.operations.size(); i++) {
            const PeerOperation& operation = program_.operations[i];
            if (auto good = operation_is_good(operation, i < program_.commit_at); !good) {
                Error error = good.error();
                error.where =
                    "operation " + std::to_string(i) + ": " + std::string(to_string(operation.opcode));
                return tl::unexpected(std::move(error));
            }
        }
        if (auto good = packet_steps_are_in_order(); !good) return good;
        return options_.need_fences ? doorbells_are_fenced() : Result<void>{};
    }

  private:
    Result<void> shape_is_good(const PeerOperation& operation, bool of_packet) const {
        const bool new_here = operation.opcode > PeerOpcode{last_model_opcode} ||
                              operation.operand > PeerOperand{last_model_operand};
        if (new_here && !options_.forwards) return fail("", "is not for this device", "one that forwards");
        if (is_peer_packet_step(operation.opcode)) return packet_step_is_good(operation, of_packet);
        if (operation.opcode == PeerOpcode::ring_tail) {
            if (operation.operand != PeerOperand::sequence || operation.mask == 0 || operation.stride == 0 ||
                uint64_t{operation.mask} * operation.stride > 0xffffffff)
                return fail("", "is no tail of a ring", "operand sequence, a mask and a stride of 32 bits");
        } else if (is_peer_piece(operation.operand)) {
            if (operation.opcode != PeerOpcode::store_qword)
                return fail("", "takes a piece of a packet", "store qword: only that does");
            if (!of_packet) return fail("", "takes a packet's piece in the commit section");
        } else if (operation.operand == PeerOperand::place && operation.opcode != PeerOpcode::copy_block) {
            return fail("", "takes its value from a place", "copy block: only that does");
        }
        const bool copies = operation.opcode == PeerOpcode::copy_block;
        const bool from_packet = operation.operand == PeerOperand::packet;
        if (from_packet && !copies)
            return fail("", "takes a packet's bytes", "a value: only blocks are copied");
        if (from_packet && !of_packet) return fail("", "takes a packet's bytes in the commit section");
        if (copies && operation.operand == PeerOperand::sequence)
            return fail("", "copies from a sequence number", "an address or a packet");
        if (from_packet && operation.value != 0) return fail("", "has a source beside the packet", "value 0");
        if (!copies && operation.bytes != 0) return fail("", "has a length", "0: only blocks have one");
        if (!std::has_single_bit(uint64_t{operation.mask} + 1))
            return fail("", "mask " + std::to_string(operation.mask), "a power of two less 1");
        if (operation.relaxed && !is_peer_write(operation.opcode))
            return fail("", "has relaxed ordering", "only writes do");
        if (operation.opcode == PeerOpcode::fence && operation != PeerOperation{})
            return fail("", "has an address or a value", "nothing beside its opcode");
        return {};
    }

    static Result<void> packet_step_is_good(const PeerOperation& operation, bool of_packet) {
        if (!of_packet) return fail("", "is about a packet, in the commit section");
        if (operation.operand != PeerOperand::immediate || operation.value != 0 || operation.relaxed)
            return fail("", "has a value", "an address and a length alone");
        if (!std::has_single_bit(uint64_t{operation.mask} + 1))
            return fail("", "mask " + std::to_string(operation.mask), "a power of two less 1");
        const auto sized = [&](uint64_t least, uint64_t most) -> Result<void> {
            if (operation.bytes >= least && operation.bytes <= most) return {};
            return fail("", std::to_string(operation.bytes) + " bytes",
                        std::to_string(least) + " to " + std::to_string(most));
        };
        switch (operation.opcode) {
            case PeerOpcode::receive:
                return sized(peer_receive_descriptor_bytes, peer_receive_descriptor_bytes);
            case PeerOpcode::header:
                return sized(64, 1024);
            case PeerOpcode::payload:
                return sized(1, 16384);
            case PeerOpcode::take_frame:
                return sized(peer_descriptor_bytes + 1, 65536);
            case PeerOpcode::look_up:
                if (operation.stride != 0 || operation.mask != 0)
                    return fail("", "has an image for each place", "one image: stride 0, mask 0");
                return sized(4096, 0xffffffff);
            default:
                break;
        }
        if (operation != PeerOperation{.opcode = PeerOpcode::rewrite})
            return fail("", "has an address or a value", "nothing beside its opcode");
        return {};
    }

    /// In the order of the packet section: what is looked up has been received and has a header, what is
    /// rewritten has been looked up, and a packet is received once.
    [[nodiscard]] Result<void> packet_steps_are_in_order() const {
        bool received = false, header = false, looked_up = false;
        for (size_t i = 0; i < program_.commit_at; i++) {
            const PeerOpcode opcode = program_.operations[i].opcode;
            const auto refuse = [&](const char* what, const char* expected) {
                return fail("operation " + std::to_string(i) + ": " + std::string(to_string(opcode)), what,
                            expected);
            };
            if (opcode == PeerOpcode::receive || opcode == PeerOpcode::take_frame) {
                if (std::exchange(received, true)) return refuse("a second frame", "one frame a packet");
            } else if (opcode == PeerOpcode::header || opcode == PeerOpcode::payload) {
                if (!received) return refuse("of no frame", "receive before");
                header |= opcode == PeerOpcode::header;
            } else if (opcode == PeerOpcode::look_up) {
                if (!header) return refuse("of no header", "receive and header before");
                looked_up = true;
            } else if (opcode == PeerOpcode::rewrite && !looked_up) {
                return refuse("of what was not looked up", "look up before");
            }
        }
        return {};
    }

    Result<void> operation_is_good(const PeerOperation& operation, bool of_packet) const {
        if (auto good = shape_is_good(operation, of_packet); !good) return good;
        if (operation.opcode == PeerOpcode::fence || operation.opcode == PeerOpcode::rewrite) return {};
        const uint32_t bytes = peer_access_bytes(operation);
        if (operation.opcode == PeerOpcode::copy_block) {
            if (bytes == 0 || bytes > options_.most_copied)
                return fail("", std::to_string(bytes) + " bytes",
                            "1 to " + std::to_string(options_.most_copied));
            if (operation.operand != PeerOperand::packet)
                if (auto good = source_is_good(operation); !good) return good;
        } else if (is_peer_packet_step(operation.opcode)) {
            // The 82574 keeps bit 0 of a buffer's address for itself, and its descriptors lie at 16 bytes.
            const uint32_t unit = operation.opcode == PeerOpcode::receive ? 16 : 2;
            if (operation.address % unit != 0 || operation.stride % unit != 0)
                return fail("", bus_address_text(operation.address) + " is not aligned",
                            "a multiple of " + std::to_string(unit));
        } else if (operation.opcode == PeerOpcode::ring_tail) {
            if (operation.address % bytes != 0)
                return fail("", bus_address_text(operation.address) + " is not aligned",
                            "a multiple of " + std::to_string(bytes));
        } else if (operation.address % bytes != 0 || operation.stride % bytes != 0) {
            return fail("", bus_address_text(operation.address) + " is not aligned",
                        "a multiple of " + std::to_string(bytes));
        }
        return target_is_good(operation, bytes);
    }

    Result<void> source_is_good(const PeerOperation& operation) const {
        const bool moves = operation.operand == PeerOperand::place;
        const uint64_t reach = operation.bytes + (moves ? uint64_t{operation.mask} * operation.stride : 0);
        const PeerWindow* window = windows_.find(operation.value, reach);
        if (!window || !window->own || !window->read)
            return fail("",
                        "its source " + bus_address_text(operation.value) + ", " + std::to_string(reach) +
                            " bytes, is not the device's to read",
                        known());
        return {};
    }

    /// For the first place in the ring and the last: what lies between is in the same window.
    [[nodiscard]] Result<void> target_is_good(const PeerOperation& operation, uint32_t bytes) const {
        const bool moves = operation.opcode != PeerOpcode::ring_tail;
        const uint64_t reach = (moves ? uint64_t{operation.mask} * operation.stride : 0) + bytes;
        const std::string place =
            bus_address_text(operation.address) + ", " + std::to_string(reach) + " bytes,";
        if (operation.address + (reach - 1) < operation.address)
            return fail("", place + " goes beyond the end of the address space", known());
        const PeerWindow* window = windows_.find(operation.address, reach);
        if (!window) return fail("", place + " is in no registered window", known());
        if (is_peer_doorbell(operation.opcode) && !window->doorbell)
            return fail("", place + " is in window " + window->name, "one for doorbells");
        if (is_peer_poll(operation.opcode) && !window->read)
            return fail("", place + " is in window " + window->name, "one that may be read");
        if (is_peer_write(operation.opcode) && !is_peer_doorbell(operation.opcode) && !window->write)
            return fail("", place + " is in window " + window->name, "one that may be written");
        if (is_peer_packet_step(operation.opcode) && !(window->read && window->own))
            return fail("", place + " is in window " + window->name, "one of its own that it may read");
        if (operation.opcode == PeerOpcode::header && !window->write)  // where a rewrite writes
            return fail("", place + " is in window " + window->name, "one that may be written");
        return {};
    }

    /// A doorbell behind relaxed writes, or that may itself overtake, needs a fence between.
    [[nodiscard]] Result<void> doorbells_are_fenced() const {
        bool written = false, relaxed = false;
        // Twice the packet section: the second packet's doorbell is behind the first one's writes.
        for (size_t step = 0; step < program_.commit_at + program_.operations.size(); step++) {
            const size_t i = step < program_.commit_at ? step : step - program_.commit_at;
            const PeerOperation& operation = program_.operations[i];
            if (operation.opcode == PeerOpcode::fence) written = relaxed = false;
            if (is_peer_doorbell(operation.opcode)) {
                if (relaxed || (written && operation.relaxed))
                    return fail(
                        "operation " + std::to_string(i) + ": " + std::string(to_string(operation.opcode)),
                        "may be seen before the writes that it tells of",
                        "a fence between, or no relaxed ordering");
            } else if (is_peer_write(operation.opcode)) {
                written = true;
                relaxed |= operation.relaxed;
            }
        }
        return {};
    }

    [[nodiscard]] std::string known() const {
        std::string text;
        for (const PeerWindow& window : windows_.all()) {
            if (text.size() > 200) return text + ", …";
            text += (text.empty() ? "" : ", ") + window.name + " from " + bus_address_text(window.base) +
                    ", " + std::to_string(window.bytes) + " bytes";
        }
        return text.empty() ? "a registered window: there is none" : text;
    }

    const PeerProgram& program_;
    const PeerWindows& windows_;
    const PeerVerifyOptions& options_;
};

}  // namespace

Result<void> verify(const PeerProgram& program, const PeerWindows& windows,
                    const PeerVerifyOptions& options) {
    return Verifier(program, windows, options).run();
}

}  // namespace pktpit::offload
