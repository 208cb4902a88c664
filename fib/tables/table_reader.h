// SPDX-License-Identifier: BSD-3-Clause
/// Routing tables in any form: text, JSON lines, MRT TABLE_DUMP_V2; plain or compressed; told by their
/// content. Used by `pktpit lookup --table` and `pktpit table`, tests, benchmarks. One thread. A file of any
/// size takes constant memory. docs/tables.md describes the formats.
#pragma once

#include <string>
#include <string_view>

#include "fib/tables/reading.h"
#include "fib/tables/table_file.h"

namespace pktpit::fib {

/// The visitor's `line` is the line of text, or the number of the MRT record. An Error names the file, the
/// line or the record and its byte, what was found and what was expected.
Result<ReadSummary> read_table(const std::string& path, const ReadOptions& options,
                               const TableVisitor& visit);

/// The same for (unpacked) bytes in memory; `name` stands for the file in errors.
Result<ReadSummary> read_table_bytes(std::string_view bytes, const std::string& name,
                                     const ReadOptions& options, const TableVisitor& visit);

}  // namespace pktpit::fib
