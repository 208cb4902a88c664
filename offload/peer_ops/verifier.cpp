// SPDX-License-Identifier: BSD-3-Clause
#include "offload/peer_ops/verifier.h"

#include <bit>

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
        return options_.need_fences ? doorbells_are_fenced() : Result<void>{};
    }

  private:
    static Result<void> shape_is_good(const PeerOperation& operation, bool of_packet) {
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

    Result<void> operation_is_good(const PeerOperation& operation, bool of_packet) const {
        if (auto good = shape_is_good(operation, of_packet); !good) return good;
        if (operation.opcode == PeerOpcode::fence) return {};
        const uint32_t bytes = peer_access_bytes(operation);
        if (operation.opcode == PeerOpcode::copy_block) {
            if (bytes == 0 || bytes > options_.most_copied)
                return fail("", std::to_string(bytes) + " bytes",
                            "1 to " + std::to_string(options_.most_copied));
            if (operation.operand == PeerOperand::immediate)
                if (auto good = source_is_good(operation); !good) return good;
        } else if (operation.address % bytes != 0 || operation.stride % bytes != 0) {
            return fail("", bus_address_text(operation.address) + " is not aligned",
                        "a multiple of " + std::to_string(bytes));
        }
        return target_is_good(operation, bytes);
    }

    Result<void> source_is_good(const PeerOperation& operation) const {
        const PeerWindow* window = windows_.find(operation.value, operation.bytes);
        if (!window || !window->own || !window->read)
            return fail("",
                        "its source " + bus_address_text(operation.value) + ", " +
                            std::to_string(operation.bytes) + " bytes, is not the device's to read",
                        known());
        return {};
    }

    /// For the first place in the ring and the last: what lies between is in the same window.
    [[nodiscard]] Result<void> target_is_good(const PeerOperation& operation, uint32_t bytes) const {
        const uint64_t reach = uint64_t{operation.mask} * operation.stride + bytes;
        const std::string place =
            bus_address_text(operation.address) + ", " + std::to_string(reach) + " bytes,";
        if (operation.address + (reach - 1) < operation.address)
            return fail("", place + " goes beyond the end of the address space", known());
        const PeerWindow* window = windows_.find(operation.address, reach);
        if (!window) return fail("", place + " is in no registered window", known());
        if (operation.opcode == PeerOpcode::doorbell && !window->doorbell)
            return fail("", place + " is in window " + window->name, "one for doorbells");
        if (is_peer_poll(operation.opcode) && !window->read)
            return fail("", place + " is in window " + window->name, "one that may be read");
        if (is_peer_write(operation.opcode) && operation.opcode != PeerOpcode::doorbell && !window->write)
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
            if (operation.opcode == PeerOpcode::doorbell) {
                if (relaxed || (written && operation.relaxed))
                    return fail("operation " + std::to_string(i) + ": doorbell",
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
