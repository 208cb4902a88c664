// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/mrt_record.h"

#include <algorithm>
#include <iterator>

namespace pktpit::fib {
namespace {

constexpr size_t header_bytes = 12;
// The largest real ones, peer tables and prefixes seen by all peers of a large collector, take less than 1
// MiB.
constexpr size_t longest_record = 16 << 20;

constexpr const char* table_dump_v2_names[] = {nullptr,
                                               "PEER_INDEX_TABLE",
                                               "RIB_IPV4_UNICAST",
                                               "RIB_IPV4_MULTICAST",
                                               "RIB_IPV6_UNICAST",
                                               "RIB_IPV6_MULTICAST",
                                               "RIB_GENERIC",
                                               "GEO_PEER_TABLE",
                                               "RIB_IPV4_UNICAST_ADDPATH",
                                               "RIB_IPV4_MULTICAST_ADDPATH",
                                               "RIB_IPV6_UNICAST_ADDPATH",
                                               "RIB_IPV6_MULTICAST_ADDPATH",
                                               "RIB_GENERIC_ADDPATH"};
constexpr const char* bgp4mp_names[] = {"STATE_CHANGE",
                                        "MESSAGE",
                                        "ENTRY",
                                        "SNAPSHOT",
                                        "MESSAGE_AS4",
                                        "STATE_CHANGE_AS4",
                                        "MESSAGE_LOCAL",
                                        "MESSAGE_AS4_LOCAL",
                                        "MESSAGE_ADDPATH",
                                        "MESSAGE_AS4_ADDPATH",
                                        "MESSAGE_LOCAL_ADDPATH",
                                        "MESSAGE_AS4_LOCAL_ADDPATH"};

const char* type_name(uint16_t type) {
    switch (type) {
        case 0:
            return "NULL";
        case 1:
            return "START";
        case 2:
            return "DIE";
        case 3:
            return "I_AM_DEAD";
        case 4:
            return "PEER_DOWN";
        case 5:
            return "BGP";
        case 6:
            return "RIP";
        case 7:
            return "IDRP";
        case 8:
            return "RIPNG";
        case 9:
            return "BGP4PLUS";
        case 10:
            return "BGP4PLUS_01";
        case 11:
            return "OSPFv2";
        case mrt_table_dump:
            return "TABLE_DUMP";
        case mrt_table_dump_v2:
            return "TABLE_DUMP_V2";
        case mrt_bgp4mp:
            return "BGP4MP";
        case mrt_bgp4mp_et:
            return "BGP4MP_ET";
        case 32:
            return "ISIS";
        case 33:
            return "ISIS_ET";
        case 48:
            return "OSPFv3";
        case 49:
            return "OSPFv3_ET";
        default:
            return nullptr;
    }
}

uint32_t number(std::span<const uint8_t> bytes, size_t at, size_t size) {
    uint32_t value = 0;
    for (size_t i = at; i < at + size; i++)
        value = value << 8 | bytes[i];
    return value;
}

}  // namespace

std::string mrt_name(uint16_t type, uint16_t subtype) {
    const char* name = type_name(type);
    const std::string subtype_text = "subtype " + std::to_string(subtype);
    if (!name) return "MRT type " + std::to_string(type) + " " + subtype_text;
    const auto named = [&](std::span<const char* const> names) {
        return std::string(name) + " " +
               (subtype < names.size() && names[subtype] ? names[subtype] : subtype_text);
    };
    if (type == mrt_table_dump_v2) return named(table_dump_v2_names);
    if (type == mrt_bgp4mp || type == mrt_bgp4mp_et) return named(bgp4mp_names);
    return std::string(name) + " " + subtype_text;
}

std::string mrt_place(const std::string& name, size_t record, uint64_t offset) {
    return name + ": record " + std::to_string(record) + " at byte " + std::to_string(offset);
}

tl::unexpected<Error> mrt_error(const std::string& name, const MrtRecord& record, const Fault& fault) {
    return fail(mrt_place(name, record.number, fault.offset),
                mrt_name(record.type, record.subtype) + ": " + fault.message, fault.expected);
}

/// `count` bytes in one piece, if they are there: those kept from earlier pieces, then those of this one.
/// Otherwise keeps what there is and returns an empty span.
std::span<const uint8_t> MrtFramer::take(std::span<const uint8_t>& bytes, size_t count) {
    const size_t taken = std::min(count - kept_.size(), bytes.size());
    const auto piece = bytes.first(taken);
    bytes = bytes.subspan(taken);
    offset_ += taken;
    if (kept_.empty() && taken == count) return piece;
    kept_.insert(kept_.end(), piece.begin(), piece.end());
    return kept_.size() == count ? std::span<const uint8_t>(kept_) : std::span<const uint8_t>{};
}

Result<void> MrtFramer::feed(std::span<const uint8_t> bytes) {
    while (!bytes.empty()) {
        if (!in_record_) {
            if (kept_.empty()) record_offset_ = offset_;
            const auto header = take(bytes, header_bytes);
            if (header.empty()) return {};
            if (auto good = begin_record(header); !good) return good;
            kept_.clear();
        }
        if (!keep_) {
            const size_t skipped = std::min(missing_, bytes.size());
            bytes = bytes.subspan(skipped);
            offset_ += skipped;
            missing_ -= skipped;
            in_record_ = missing_ > 0;
            continue;
        }
        std::span<const uint8_t> body;
        if (missing_ > 0) {
            body = take(bytes, missing_);
            if (body.empty()) return {};
        }
        if (auto good = visit(body); !good) return good;
        kept_.clear();
    }
    return {};
}

Result<void> MrtFramer::begin_record(std::span<const uint8_t> header) {
    number_++;
    current_ = {number(header, 0, 4),
                static_cast<uint16_t>(number(header, 4, 2)),
                static_cast<uint16_t>(number(header, 6, 2)),
                {},
                number_,
                offset_};
    missing_ = number(header, 8, 4);
    keep_ = wanted_(current_.type, current_.subtype);
    in_record_ = true;
    if (keep_ && missing_ > longest_record) {
        return fail(mrt_place(name_, number_, record_offset_ + 8),
                    mrt_name(current_.type, current_.subtype) + " of " + std::to_string(missing_) + " bytes",
                    "at most 16 MiB", "is the file damaged?");
    }
    return {};
}

Result<void> MrtFramer::visit(std::span<const uint8_t> body) {
    in_record_ = false;
    missing_ = 0;
    current_.body = body;
    return visit_(current_);
}

Result<void> MrtFramer::finish() {
    if (!in_record_ && kept_.empty()) return {};
    if (!in_record_) {
        return fail(mrt_place(name_, number_ + 1, record_offset_),
                    "the file ends after " + std::to_string(kept_.size()) + " bytes of a record's header",
                    "12 bytes");
    }
    // A record without a body at the very end of a piece.
    if (missing_ == 0) return keep_ ? visit({}) : Result<void>{};
    const size_t found = static_cast<size_t>(offset_ - current_.offset);
    const size_t announced = keep_ ? missing_ : found + missing_;
    return fail(mrt_place(name_, number_, record_offset_),
                mrt_name(current_.type, current_.subtype) + ": the file ends after " + std::to_string(found) +
                    " bytes of the record",
                "the " + std::to_string(announced) + " bytes that its header announces");
}

}  // namespace pktpit::fib
