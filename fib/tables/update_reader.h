// SPDX-License-Identifier: BSD-3-Clause
/// Streams of route updates in any form: text, JSON lines, MRT; plain or compressed; told by their content.
/// Used by `pktpit table replay` and `convert`, tests, benchmarks. One thread. A file of any size takes
/// constant memory. docs/tables.md describes the formats.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/address.h"
#include "fib/tables/reading.h"

namespace pktpit::fib {

struct Update {
    uint64_t microseconds = 0;  ///< since 1970, UTC
    Prefix prefix;
    bool withdraw = false;
    std::string_view next_hop;  ///< its id; empty for a withdrawal; valid during the call
};

/// `record`: the line or the MRT record, from 1; a record may hold many updates. An Error stops the reading
/// and is returned; where its `where` is empty, the place in the file is filled in.
using UpdateVisitor = std::function<Result<void>(const Update& update, size_t record)>;

/// Updates in the file's order; withdrawals before announcements where a BGP message has both. An Error names
/// the file, the line or the record and its byte, what was found and what was expected.
Result<ReadSummary> read_updates(const std::string& path, const ReadOptions& options,
                                 const UpdateVisitor& visit);

/// The same for (unpacked) bytes in memory; `name` stands for the file in errors.
Result<ReadSummary> read_updates_bytes(std::string_view bytes, const std::string& name,
                                       const ReadOptions& options, const UpdateVisitor& visit);

}  // namespace pktpit::fib
