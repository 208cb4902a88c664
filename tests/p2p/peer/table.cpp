// SPDX-License-Identifier: BSD-3-Clause
#include "tests/p2p/peer/table.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "offload/peer_ops/codec.h"
#include "offload/peer_ops/verifier.h"

namespace pktpit::test_peer {
namespace {

using offload::PeerControl;
using offload::PeerMemoryMap;
using offload::PeerOpcode;
using offload::PeerProgramEntry;
using offload::PeerRole;
using offload::PeerWindow;
using offload::PeerWindowEntry;

bool is_inside(uint64_t first, uint64_t bytes, uint64_t place, uint64_t length) {
    return place >= first && length <= bytes && place - first <= bytes - length;
}

class Loader {
  public:
    Loader(std::span<std::byte> memory, const std::vector<Reach>& reach) : memory_(memory), reach_(reach) {}

    std::optional<Table> load() {
        const auto& control = *reinterpret_cast<const PeerControl*>(memory_.data());
        table_.serial = offload::load_shared(control.serial);
        if (table_.serial % 2 != 0 || offload::load_shared(control.magic) != offload::peer_memory_magic)
            return std::nullopt;
        table_.bus_address = offload::load_shared(control.bus_address);
        const uint32_t windows = offload::load_shared(control.windows);
        const uint32_t programs = offload::load_shared(control.programs);
        if (windows > offload::most_peer_windows || programs > offload::most_peer_programs)
            refuse(fail("table",
                        std::to_string(windows) + " windows and " + std::to_string(programs) + " programs")
                       .value());
        else
            load(windows, programs);
        // What was read while the host wrote is nobody's table.
        if (offload::load_shared(control.serial) != table_.serial) return std::nullopt;
        return std::move(table_);
    }

  private:
    void refuse(const Error& error) {
        table_.refused++;
        table_.refusal = error.to_string();
    }

    void load(uint32_t windows, uint32_t programs) {
        for (uint32_t i = 0; i < windows; i++) {
            PeerWindowEntry entry;
            std::memcpy(&entry, memory_.data() + PeerMemoryMap::windows + i * sizeof entry, sizeof entry);
            if (auto added = add(entry); !added) refuse(added.error());
        }
        for (uint32_t i = 0; i < programs; i++) {
            PeerProgramEntry entry;
            std::memcpy(&entry, memory_.data() + PeerMemoryMap::programs + i * sizeof entry, sizeof entry);
            if (auto added = add(entry); !added) refuse(added.error());
        }
    }

    Result<void> add(const PeerWindowEntry& entry) {
        PeerWindow window;
        window.base = entry.base;
        window.bytes = entry.bytes;
        window.read = (entry.flags & PeerWindowEntry::read) != 0;
        window.write = (entry.flags & PeerWindowEntry::write) != 0;
        window.doorbell = (entry.flags & PeerWindowEntry::doorbell) != 0;
        window.own = (entry.flags & PeerWindowEntry::own) != 0;
        window.name.assign(entry.name, strnlen(entry.name, sizeof entry.name));
        const std::string where = "window " + window.name;
        if (!is_inside(table_.bus_address, memory_.size(), window.base, window.bytes)) {
            if (window.read || window.write || window.own)
                return fail(where, offload::bus_address_text(window.base) + " is not the device's memory",
                            "doorbells alone outside of it");
            if (std::ranges::none_of(reach_, [&](const Reach& one) {
                    return is_inside(one.first, one.bytes, window.base, window.bytes);
                }))
                return fail(where, offload::bus_address_text(window.base) + " is beyond the device's reach",
                            "registers of a NIC that it was given");
        } else if (!window.doorbell && !window.own) {
            return fail(where, "is the device's own memory, and does not say so");
        }
        return windows_.add(std::move(window));
    }

    Result<void> add(const PeerProgramEntry& entry) {
        const std::string where =
            "program for port " + std::to_string(entry.port) + ", role " + std::to_string(entry.role);
        const auto at_program = [&](Error error) {
            error.where = where + (error.where.empty() ? "" : ", " + error.where);
            return tl::unexpected(std::move(error));
        };
        if (entry.role == 0 || entry.role > offload::last_peer_role)
            return fail(where, "is of no role", "1 to " + std::to_string(offload::last_peer_role));
        if (entry.lane >= offload::most_peer_lanes)
            return fail(where, "lane " + std::to_string(entry.lane),
                        "less than " + std::to_string(offload::most_peer_lanes));
        if (!is_inside(0, memory_.size(), entry.offset, entry.bytes))
            return fail(where, "lies outside of the device's memory");
        // A copy: what is verified is what is executed, whatever the host writes there meanwhile.
        const std::vector<std::byte> bytes(
            memory_.begin() + static_cast<std::ptrdiff_t>(entry.offset),
            memory_.begin() + static_cast<std::ptrdiff_t>(entry.offset + entry.bytes));
        auto program = offload::decode_peer_program(bytes);
        if (!program) return at_program(program.error());
        if (auto good = offload::verify(*program, windows_, {.forwards = true}); !good)
            return at_program(good.error());
        if (auto fits = fits_role(*program, static_cast<PeerRole>(entry.role)); !fits)
            return at_program(fits.error());
        for (const offload::PeerOperation& operation : program->operations) {
            // Registers are 32 bits wide: a qword goes into memory.
            if (operation.opcode == PeerOpcode::doorbell &&
                !is_inside(table_.bus_address, memory_.size(), operation.address, 8))
                return at_program(fail("doorbell", "of 8 bytes, outside of the device's memory").value());
            if (operation.opcode == PeerOpcode::look_up)
                if (auto opened = open_image(operation); !opened) return at_program(opened.error());
        }
        table_.programs.push_back({std::move(*program), entry});
        return {};
    }

    /// What a role needs of its program that the engine asks for.
    static Result<void> fits_role(const offload::PeerProgram& program, PeerRole role) {
        const auto count = [&](PeerOpcode opcode, bool commit) {
            const auto begin = program.operations.begin();
            const auto middle = begin + program.commit_at;
            return commit
                       ? std::count_if(middle, program.operations.end(),
                                       [&](const auto& one) { return one.opcode == opcode; })
                       : std::count_if(begin, middle, [&](const auto& one) { return one.opcode == opcode; });
        };
        const bool tail = count(PeerOpcode::ring_tail, true) == 1;
        const bool good = role == PeerRole::receive    ? count(PeerOpcode::look_up, false) == 1
                          : role == PeerRole::refill   ? tail
                          : role == PeerRole::transmit ? tail
                          : role == PeerRole::take     ? count(PeerOpcode::take_frame, false) == 1
                                                       : program.commit_at > 0;
        if (good) return {};
        return fail("", "has not what its role needs");
    }

    Result<void> open_image(const offload::PeerOperation& operation) {
        if (table_.image) {
            if (image_ == std::pair(operation.address, operation.bytes)) return {};
            return fail("look up", "in a second image", "the same for all ports");
        }
        image_ = {operation.address, operation.bytes};
        const std::span<const std::byte> bytes =
            memory_.subspan(operation.address - table_.bus_address, operation.bytes);
        auto opened = Image::open(bytes);
        if (!opened) return tl::unexpected(opened.error());
        table_.image = std::move(*opened);
        return {};
    }

    std::span<std::byte> memory_;
    const std::vector<Reach>& reach_;
    offload::PeerWindows windows_;
    std::pair<uint64_t, uint32_t> image_;  ///< of table_.image
    Table table_;
};

}  // namespace

std::optional<Table> load_table(std::span<std::byte> memory, const std::vector<Reach>& reach) {
    return Loader(memory, reach).load();
}

}  // namespace pktpit::test_peer
