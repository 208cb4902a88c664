// SPDX-License-Identifier: BSD-3-Clause
#include "offload/peer_ops/codec.h"

namespace pktpit::offload {
namespace {

class Writer {
  public:
    template <class T>
    void put(T value) {
        for (size_t i = 0; i < sizeof(T); i++)
            bytes.push_back(static_cast<std::byte>(static_cast<uint64_t>(value) >> (8 * i)));
    }
    std::vector<std::byte> bytes;
};

class Reader {
  public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
    template <class T>
    T take() {
        uint64_t value = 0;
        for (size_t i = 0; i < sizeof(T); i++)
            value |= static_cast<uint64_t>(bytes_[i]) << (8 * i);
        bytes_ = bytes_.subspan(sizeof(T));
        return static_cast<T>(value);
    }

  private:
    std::span<const std::byte> bytes_;
};

Result<PeerOperation> take_operation(Reader& reader, const std::string& where) {
    const auto opcode = reader.take<uint8_t>();
    const auto operand = reader.take<uint8_t>();
    const auto flags = reader.take<uint8_t>();
    const auto zero = reader.take<uint8_t>();
    if (opcode == 0 || opcode > last_peer_opcode)
        return fail(where, "opcode " + std::to_string(opcode), "1 to " + std::to_string(last_peer_opcode));
    if (operand > last_peer_operand)
        return fail(where, "operand " + std::to_string(operand), "0 to " + std::to_string(last_peer_operand));
    if (flags > 1 || zero != 0) return fail(where, "unknown flags", "0, or 1 for relaxed ordering");
    PeerOperation operation;
    operation.opcode = static_cast<PeerOpcode>(opcode);
    operation.operand = static_cast<PeerOperand>(operand);
    operation.relaxed = flags != 0;
    operation.bytes = reader.take<uint32_t>();
    operation.address = reader.take<uint64_t>();
    operation.value = reader.take<uint64_t>();
    operation.stride = reader.take<uint32_t>();
    operation.mask = reader.take<uint32_t>();
    return operation;
}

}  // namespace

std::vector<std::byte> encode(const PeerProgram& program) {
    Writer writer;
    writer.put(peer_program_magic);
    writer.put(peer_program_version);
    writer.put(static_cast<uint16_t>(program.operations.size()));
    writer.put(program.generation);
    writer.put(program.egress);
    writer.put(program.commit_at);
    writer.put(uint32_t{0});
    for (const PeerOperation& operation : program.operations) {
        writer.put(static_cast<uint8_t>(operation.opcode));
        writer.put(static_cast<uint8_t>(operation.operand));
        writer.put(static_cast<uint8_t>(operation.relaxed));
        writer.put(uint8_t{0});
        writer.put(operation.bytes);
        writer.put(operation.address);
        writer.put(operation.value);
        writer.put(operation.stride);
        writer.put(operation.mask);
    }
    return writer.bytes;
}

Result<PeerProgram> decode_peer_program(std::span<const std::byte> bytes) {
    if (bytes.size() < peer_header_bytes)
        return fail("header", std::to_string(bytes.size()) + " bytes",
                    "at least " + std::to_string(peer_header_bytes));
    Reader reader(bytes);
    if (reader.take<uint32_t>() != peer_program_magic) return fail("header", "is no peer program's", "PKPO");
    if (const auto version = reader.take<uint16_t>(); version != peer_program_version)
        return fail("header", "version " + std::to_string(version), std::to_string(peer_program_version));
    const size_t count = reader.take<uint16_t>();
    if (count == 0 || count > most_peer_operations)
        return fail("header", std::to_string(count) + " operations",
                    "1 to " + std::to_string(most_peer_operations));
    if (const size_t wanted = peer_header_bytes + count * peer_operation_bytes; bytes.size() != wanted)
        return fail("header", std::to_string(bytes.size()) + " bytes",
                    std::to_string(wanted) + " for " + std::to_string(count) + " operations");
    PeerProgram program;
    program.generation = reader.take<uint64_t>();
    program.egress = reader.take<uint16_t>();
    program.commit_at = reader.take<uint16_t>();
    if (program.commit_at > count)
        return fail("header", "the commit section begins at operation " + std::to_string(program.commit_at),
                    "0 to " + std::to_string(count));
    if (reader.take<uint32_t>() != 0) return fail("header", "its last 4 bytes are not 0");
    for (size_t i = 0; i < count; i++) {
        auto operation = take_operation(reader, "operation " + std::to_string(i));
        if (!operation) return tl::unexpected(operation.error());
        program.operations.push_back(*operation);
    }
    return program;
}

}  // namespace pktpit::offload
