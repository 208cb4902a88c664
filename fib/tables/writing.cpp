// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/writing.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/quoted.h"
#include "fib/tables/mrt_record.h"
#include "fib/tables/unix_time.h"

namespace pktpit::fib {
namespace {

/// As a JSON string. Ids are nearly always numbers or addresses.
void append_json_string(std::string& out, std::string_view text) {
    const bool plain = std::ranges::all_of(text, [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' ||
               c == ':' || c == '-' || c == '_';
    });
    if (plain) {
        out.append("\"").append(text).append("\"");
        return;
    }
    out += nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

void append_big_endian(std::string& out, uint32_t value, unsigned bytes) {
    while (bytes-- > 0)
        out += static_cast<char>(value >> (8 * bytes));
}

void append_record(std::string& out, uint32_t time, uint16_t subtype, std::string_view body) {
    append_big_endian(out, time, 4);
    append_big_endian(out, mrt_table_dump_v2, 2);
    append_big_endian(out, subtype, 2);
    append_big_endian(out, static_cast<uint32_t>(body.size()), 4);
    out += body;
}

std::string_view bytes_of(const IpAddress& address, size_t count) {
    return {reinterpret_cast<const char*>(address.bytes.data()), count};
}

}  // namespace

void append_route_text(std::string& out, const Prefix& prefix, std::string_view next_hop) {
    out.append(prefix.to_string()).append(" ").append(next_hop).append("\n");
}

void append_route_json(std::string& out, const Prefix& prefix, std::string_view next_hop) {
    out.append("{\"prefix\": \"").append(prefix.to_string()).append("\", \"next_hop\": ");
    append_json_string(out, next_hop);
    out += "}\n";
}

void append_update_text(std::string& out, const Update& update) {
    out.append(unix_time_text(update.microseconds)).append(update.withdraw ? " w " : " a ");
    out += update.prefix.to_string();
    if (!update.withdraw) out.append(" ").append(update.next_hop);
    out += '\n';
}

void append_update_json(std::string& out, const Update& update) {
    out.append("{\"time\": ").append(unix_time_text(update.microseconds));
    out.append(update.withdraw ? ", \"withdraw\": \"" : ", \"announce\": \"");
    out.append(update.prefix.to_string()).append("\"");
    if (!update.withdraw) {
        out += ", \"next_hop\": ";
        append_json_string(out, update.next_hop);
    }
    out += "}\n";
}

MrtTableWriter::MrtTableWriter(std::string& out, uint32_t time) : out_(out), time_(time) {
    std::string body(6, '\0');      // collector's identifier, no view name
    append_big_endian(body, 1, 2);  // one peer
    append_big_endian(body, 2, 1);  // with an IPv4 address and a 4-byte AS
    body += std::string(12, '\0');  // identifier, address, AS
    append_record(out_, time_, 1, body);
}

Result<void> MrtTableWriter::add(const Prefix& prefix, std::string_view next_hop) {
    const auto hop = IpAddress::parse(next_hop);
    if (!hop) {
        return fail({},
                    "next-hop id " + pktpit::quoted(next_hop) + " of " + prefix.to_string() +
                        " cannot be written as MRT",
                    "an address", "write text or JSON");
    }
    std::string attributes;
    append_big_endian(attributes, 0x40010102, 4);  // ORIGIN INCOMPLETE
    append_big_endian(attributes, 0x400200, 3);    // AS_PATH, empty
    if (prefix.address.is_v4() && hop->is_v4()) {
        append_big_endian(attributes, 0x400304, 3);  // NEXT_HOP
    } else {
        append_big_endian(attributes, 0x800e, 2);  // MP_REACH_NLRI, abbreviated
        append_big_endian(attributes, hop->size() + 1, 1);
        append_big_endian(attributes, hop->size(), 1);
    }
    attributes += bytes_of(*hop, hop->size());

    std::string body;
    append_big_endian(body, sequence_++, 4);
    append_big_endian(body, prefix.length, 1);
    body += bytes_of(prefix.address, (prefix.length + 7u) / 8);
    append_big_endian(body, 1, 2);  // one entry
    append_big_endian(body, 0, 2);  // of peer 0
    append_big_endian(body, time_, 4);
    append_big_endian(body, static_cast<uint32_t>(attributes.size()), 2);
    body += attributes;
    append_record(out_, time_, prefix.address.is_v4() ? 2 : 4, body);
    return {};
}

}  // namespace pktpit::fib
