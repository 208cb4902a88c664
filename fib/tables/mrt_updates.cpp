// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/mrt_updates.h"

#include <algorithm>

namespace pktpit::fib {
namespace {

/// RFC 6396 section 4.4, RFC 8050 section 4.2.
enum Subtype : uint16_t {
    message = 1,
    message_as4 = 4,
    message_local = 6,
    message_as4_local = 7,
    message_addpath = 8,
    message_as4_addpath = 9,
    message_local_addpath = 10,
    message_as4_local_addpath = 11,
};

bool is_message(uint16_t type, uint16_t subtype) {
    if (type != mrt_bgp4mp && type != mrt_bgp4mp_et) return false;
    return subtype == message || subtype == message_as4 ||
           (subtype >= message_local && subtype <= message_as4_local_addpath);
}

bool has_4_byte_as(uint16_t subtype) {
    return subtype == message_as4 || subtype == message_as4_local || subtype == message_as4_addpath ||
           subtype == message_as4_local_addpath;
}

constexpr uint8_t bgp_update = 2;
constexpr size_t bgp_header = 19;

const char* message_name(uint8_t type) {
    switch (type) {
        case 1:
            return "BGP OPEN";
        case 3:
            return "BGP NOTIFICATION";
        case 4:
            return "BGP KEEPALIVE";
        case 5:
            return "BGP ROUTE-REFRESH";
        default:
            return "BGP messages of other types";
    }
}

}  // namespace

MrtUpdatesReader::MrtUpdatesReader(const std::string& name, const ReadOptions& options,
                                   const UpdateVisitor& visit, ReadSummary& summary)
    : name_(name),
      options_(options),
      visit_(visit),
      summary_(summary),
      framer_(
          name,
          [this](uint16_t type, uint16_t subtype) {
              if (is_message(type, subtype)) return true;
              summary_.skipped.add(mrt_name(type, subtype));
              tables_ += type == mrt_table_dump_v2 || type == mrt_table_dump;
              return false;
          },
          [this](const MrtRecord& found) { return record(found); }) {}

Result<void> MrtUpdatesReader::feed(std::string_view piece) {
    return framer_.feed({reinterpret_cast<const uint8_t*>(piece.data()), piece.size()});
}

Result<void> MrtUpdatesReader::finish() {
    auto good = framer_.finish();
    summary_.records = framer_.records();
    if (!good) return good;
    if (messages_ == 0 && tables_ > 0)
        return fail(name_, "a table, not a file of updates", "MRT records of type BGP4MP or BGP4MP_ET");
    if (options_.peer && messages_ > 0 && from_peer_ == 0)
        return fail(name_, "nothing from a peer " + options_.peer->to_string(), "an address, or AS64500");
    return {};
}

Result<void> MrtUpdatesReader::record(const MrtRecord& record) {
    Fault fault;
    ByteCursor body(record.body, record.offset, fault);
    update_.microseconds = uint64_t{record.seconds} * 1'000'000;
    if (record.type == mrt_bgp4mp_et) update_.microseconds += body.u32("microseconds");
    number_ = record.number;
    offset_ = record.offset;
    messages_++;

    Peer peer;
    const bool wide = has_4_byte_as(record.subtype);
    peer.as = wide ? body.u32("peer's AS") : body.u16("peer's AS");
    body.bytes(wide ? 4 : 2, "local AS");
    body.u16("interface index");
    ByteCursor at_family = body;
    const uint16_t family = body.u16("address family");
    if (family != 1 && family != 2)
        at_family.fail("address family " + std::to_string(family), "1 (IPv4) or 2 (IPv6)");
    peer.address = body.address(family == 2 ? Family::ipv6 : Family::ipv4, "peer's address");
    body.bytes(family == 2 ? 16 : 4, "local address");

    ByteCursor at_marker = body;
    const auto marker = body.bytes(16, "BGP marker");
    if (std::ranges::any_of(marker, [](uint8_t byte) { return byte != 0xff; }))
        at_marker.fail("a BGP marker that is not all ones", "16 bytes 0xff (RFC 4271 section 4.1)");
    ByteCursor at_length = body;
    const size_t length = body.u16("BGP length");
    if (body.good() && length != body.left() + bgp_header - 1) {
        at_length.fail("a BGP message of " + std::to_string(length) + " bytes",
                       std::to_string(body.left() + bgp_header - 1) + ", the rest of the record");
    }
    const uint8_t type = body.u8("BGP type");
    Result<void> visited;
    if (!fault.present && options_.peer && !options_.peer->matches(peer, std::nullopt)) {
        summary_.skipped.add("messages of other peers");
        return {};
    }
    from_peer_++;
    if (!fault.present && type != bgp_update) {
        summary_.skipped.add(message_name(type));
    } else {
        visited = read_update(body, record.subtype >= message_addpath);
    }
    if (fault.present) return mrt_error(name_, record, fault);
    return visited;
}

Result<void> MrtUpdatesReader::read_update(ByteCursor message, bool add_path) {
    const ByteCursor withdrawn = message.part(message.u16("withdrawn routes' length"), "withdrawn routes");
    const ByteCursor block = message.part(message.u16("path attributes' length"), "path attributes");
    if (!message.good()) return {};
    if (withdrawn.left() + block.left() + message.left() == 0) {
        summary_.skipped.add("End-of-RIB");
        return {};
    }
    const PathAttributes attributes = read_attributes(block, AsPath::ignore);
    if (!message.good()) return {};
    if (auto good = read_prefixes(withdrawn, Family::ipv4, add_path, {}); !good) return good;
    if (attributes.mp_unreach) {
        if (auto good = read_mp_unreach(*attributes.mp_unreach, add_path); !good) return good;
    }
    if (message.left()) {
        if (!attributes.next_hop) {
            message.fail("announced prefixes without NEXT_HOP", "attribute 3 (RFC 4271 section 5.1.3)");
            return {};
        }
        if (auto good = read_prefixes(message, Family::ipv4, add_path, texts_.text_of(*attributes.next_hop));
            !good)
            return good;
    }
    return attributes.mp_reach && message.good() ? read_mp_reach(*attributes.mp_reach, add_path)
                                                 : Result<void>{};
}

/// Absent for what is neither IPv4 nor IPv6 unicast.
std::optional<Family> MrtUpdatesReader::family_of(ByteCursor& bytes) {
    const uint16_t family = bytes.u16("address family");
    const uint8_t subsequent = bytes.u8("subsequent address family");
    if (!bytes.good()) return std::nullopt;
    if (subsequent == 1 && family == 1) return Family::ipv4;
    if (subsequent == 1 && family == 2) return Family::ipv6;
    summary_.skipped.add("routes of address family " + std::to_string(family) + "/" +
                         std::to_string(subsequent));
    return std::nullopt;
}

Result<void> MrtUpdatesReader::read_mp_reach(ByteCursor value, bool add_path) {
    const auto family = family_of(value);
    if (!family) return {};
    const uint8_t length = value.u8("next hop's length");
    const IpAddress next_hop = read_next_hop(value, length);
    value.u8("reserved byte");
    return read_prefixes(value, *family, add_path, texts_.text_of(next_hop));
}

Result<void> MrtUpdatesReader::read_mp_unreach(ByteCursor value, bool add_path) {
    const auto family = family_of(value);
    if (!family) return {};
    if (value.left() == 0) summary_.skipped.add("End-of-RIB");
    return read_prefixes(value, *family, add_path, {});
}

Result<void> MrtUpdatesReader::read_prefixes(ByteCursor bytes, Family family, bool add_path,
                                             std::string_view next_hop) {
    update_.withdraw = next_hop.empty();
    update_.next_hop = next_hop;
    while (bytes.left()) {
        if (add_path) bytes.u32("path identifier");
        update_.prefix = read_prefix(bytes, family);
        if (!bytes.good()) return {};
        auto visited = visit_(update_, number_);
        if (!visited) {
            if (visited.error().where.empty()) visited.error().where = mrt_place(name_, number_, offset_);
            return visited;
        }
        summary_.visited++;
    }
    return {};
}

}  // namespace pktpit::fib
