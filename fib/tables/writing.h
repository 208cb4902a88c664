// SPDX-License-Identifier: BSD-3-Clause
/// Writes routes and updates in the forms that the readers read. Appends to a string which the caller empties
/// when it has grown. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/address.h"
#include "base/result.h"
#include "fib/tables/update_reader.h"

namespace pktpit::fib {

void append_route_text(std::string& out, const Prefix& prefix, std::string_view next_hop);
void append_route_json(std::string& out, const Prefix& prefix, std::string_view next_hop);
void append_update_text(std::string& out, const Update& update);
void append_update_json(std::string& out, const Update& update);

/// TABLE_DUMP_V2 (RFC 6396 section 4.3) with a single peer, 0.0.0.0 AS0, since a plain table knows none; each
/// route has ORIGIN INCOMPLETE, an empty AS_PATH and its next hop.
class MrtTableWriter {
  public:
    /// `time`: of the table, in seconds since 1970.
    MrtTableWriter(std::string& out, uint32_t time);
    /// An error where the next-hop id is no address: MRT holds nothing else.
    Result<void> add(const Prefix& prefix, std::string_view next_hop);

  private:
    std::string& out_;
    uint32_t time_;
    uint32_t sequence_ = 0;
};

}  // namespace pktpit::fib
