// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/mrt_table.h"

namespace pktpit::fib {
namespace {

/// RFC 6396 section 4.3, RFC 8050 section 4.3; all others are passed over.
enum Subtype : uint16_t {
    peer_index_table = 1,
    rib_ipv4_unicast = 2,
    rib_ipv6_unicast = 4,
    rib_ipv4_unicast_addpath = 8,
    rib_ipv6_unicast_addpath = 10,
};

enum PeerType : uint8_t { peer_is_ipv6 = 1, peer_has_4_byte_as = 2 };

bool is_looked_into(uint16_t type, uint16_t subtype) {
    if (type != mrt_table_dump_v2) return false;
    return subtype == peer_index_table || subtype == rib_ipv4_unicast || subtype == rib_ipv6_unicast ||
           subtype == rib_ipv4_unicast_addpath || subtype == rib_ipv6_unicast_addpath;
}

}  // namespace

MrtTableReader::MrtTableReader(const std::string& name, const ReadOptions& options, const TableVisitor& visit,
                               ReadSummary& summary)
    : name_(name),
      options_(options),
      visit_(visit),
      summary_(summary),
      framer_(
          name,
          [this](uint16_t type, uint16_t subtype) {
              if (is_looked_into(type, subtype)) return true;
              summary_.skipped.add(mrt_name(type, subtype));
              updates_ += type == mrt_bgp4mp || type == mrt_bgp4mp_et;
              return false;
          },
          [this](const MrtRecord& found) { return record(found); }) {}

Result<void> MrtTableReader::feed(std::string_view piece) {
    return framer_.feed({reinterpret_cast<const uint8_t*>(piece.data()), piece.size()});
}

Result<void> MrtTableReader::finish() {
    auto good = framer_.finish();
    summary_.records = framer_.records();
    if (!good || has_peers_) return good;
    if (updates_) {
        return fail(name_, "a file of BGP updates, not of a table", "MRT records of type TABLE_DUMP_V2",
                    "`pktpit table replay` applies updates to a table");
    }
    return fail(name_,
                "no table in " + std::to_string(summary_.records) + " MRT records" +
                    (summary_.skipped.by_name().empty()
                         ? ""
                         : ", the first kind of which is " + summary_.skipped.by_name().begin()->first),
                "MRT records of type TABLE_DUMP_V2");
}

Result<void> MrtTableReader::record(const MrtRecord& record) {
    Fault fault;
    ByteCursor body(record.body, record.offset, fault);
    if (record.subtype == peer_index_table) {
        read_peers(body);
        if (fault.present) return mrt_error(name_, record, fault);
        return check_selector(record);
    }
    if (!has_peers_) body.fail("a table's record before the list of its peers", "PEER_INDEX_TABLE first");
    const Family family = record.subtype == rib_ipv4_unicast || record.subtype == rib_ipv4_unicast_addpath
                              ? Family::ipv4
                              : Family::ipv6;
    const bool add_path =
        record.subtype == rib_ipv4_unicast_addpath || record.subtype == rib_ipv6_unicast_addpath;
    const Prefix prefix = read_rib(body, family, add_path);
    if (fault.present) return mrt_error(name_, record, fault);
    if (candidates_.empty()) {
        summary_.skipped.add("prefixes without a usable entry");
        return {};
    }
    auto visited = visit_(prefix, texts_.text_of(best_path(candidates_).next_hop), record.number);
    if (!visited) {
        if (visited.error().where.empty())
            visited.error().where = mrt_place(name_, record.number, record.offset);
        return visited;
    }
    summary_.visited++;
    return {};
}

void MrtTableReader::read_peers(ByteCursor body) {
    body.u32("collector's BGP identifier");
    body.bytes(body.u16("view name's length"), "view name");
    const unsigned count = body.u16("peer count");
    summary_.peers.clear();
    wanted_.clear();
    for (unsigned index = 0; index < count && body.good(); index++) {
        const uint8_t type = body.u8("peer type");
        body.u32("peer's BGP identifier");
        Peer peer;
        peer.address = body.address(type & peer_is_ipv6 ? Family::ipv6 : Family::ipv4, "peer's address");
        peer.as = type & peer_has_4_byte_as ? body.u32("peer's AS") : body.u16("peer's AS");
        wanted_.push_back(!options_.peer || options_.peer->matches(peer, index));
        summary_.peers.push_back(peer);
    }
    body.expect_end("the last peer");
    has_peers_ = true;
}

Result<void> MrtTableReader::check_selector(const MrtRecord& record) const {
    if (!options_.peer) return {};
    for (const bool wanted : wanted_)
        if (wanted) return {};
    std::string some;
    for (size_t i = 0; i < summary_.peers.size() && i < 5; i++)
        some += (i ? ", " : "") + std::to_string(i) + ": " + summary_.peers[i].to_string();
    const size_t more = summary_.peers.size() - std::min<size_t>(summary_.peers.size(), 5);
    return fail(mrt_place(name_, record.number, record.offset), "no peer " + options_.peer->to_string(),
                some + (more ? " or one of " + std::to_string(more) + " more" : ""));
}

Prefix MrtTableReader::read_rib(ByteCursor body, Family family, bool add_path) {
    candidates_.clear();
    body.u32("sequence number");
    const Prefix prefix = read_prefix(body, family);
    const unsigned count = body.u16("entry count");
    for (unsigned i = 0; i < count && body.good(); i++)
        read_entry(body, family, add_path);
    body.expect_end("the last entry");
    return prefix;
}

void MrtTableReader::read_entry(ByteCursor& body, Family family, bool add_path) {
    ByteCursor start = body;
    PathCandidate candidate;
    candidate.peer = body.u16("peer index");
    body.u32("originated time");
    if (add_path) candidate.path_id = body.u32("path identifier");
    const size_t length = body.u16("attribute length");
    ByteCursor block = body.part(length, "path attributes");
    if (!body.good()) return;
    if (candidate.peer >= wanted_.size()) {
        start.fail("peer index " + std::to_string(candidate.peer),
                   "below " + std::to_string(wanted_.size()) + ", the number of peers listed");
        return;
    }
    if (!wanted_[candidate.peer]) return;
    PathAttributes attributes = read_attributes(block, AsPath::four_bytes);
    const auto next_hop = next_hop_of(attributes, family);
    if (!body.good()) return;
    if (!next_hop) {
        summary_.skipped.add("entries without a next hop");
        return;
    }
    candidate.local_pref = attributes.local_pref;
    candidate.as_path_length = attributes.as_path_length;
    candidate.origin = attributes.origin;
    candidate.neighbour_as = attributes.neighbour_as;
    candidate.med = attributes.med;
    candidate.next_hop = *next_hop;
    candidates_.push_back(candidate);
}

/// NEXT_HOP for IPv4, else that of MP_REACH_NLRI: in the abbreviated form, a length and an address (RFC 6396
/// section 4.3.4), or in full, as some writers have it. The first byte tells them apart: a length is never 0,
/// the high byte of an address family always.
std::optional<IpAddress> MrtTableReader::next_hop_of(PathAttributes& attributes, Family family) const {
    if (family == Family::ipv4 && attributes.next_hop) return attributes.next_hop;
    if (!attributes.mp_reach) return std::nullopt;
    ByteCursor value = *attributes.mp_reach;
    const bool full = value.left() > 0 && value.peek() == 0;
    if (full) value.bytes(3, "MP_REACH_NLRI");
    const uint8_t length = value.u8("MP_REACH_NLRI");
    const IpAddress next_hop = read_next_hop(value, length);
    if (!full) value.expect_end("the next hop");
    if (!value.good()) return std::nullopt;
    return next_hop;
}

}  // namespace pktpit::fib
