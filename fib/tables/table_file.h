// SPDX-License-Identifier: BSD-3-Clause
/// Route files: one `prefix next-hop-id` a line, blank-separated. '#' starts a comment; blank lines are
/// skipped; the file may be compressed with xz, gzip or bzip2. Read by the daemon (routes_file), tests,
/// benchmarks; fib/tables/table_reader.h reads these and the other forms of a table.
///
/// One thread. Streams: a file of any size takes constant memory. Whether ids exist, and what a prefix that
/// occurs twice means, is the visitor's business.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/address.h"
#include "base/result.h"

namespace pktpit::fib {

/// `id` (any token without blanks and '#') is valid during the call; `line` counts from 1. An Error stops the
/// reading and is returned; where its `where` is empty, "file:line" is filled in.
using TableVisitor = std::function<Result<void>(const Prefix& prefix, std::string_view id, size_t line)>;

/// Of a regular file. Returns how many routes were visited. An Error names the file (and line), what was
/// found, what was expected.
Result<size_t> read_table_file(const std::string& path, const TableVisitor& visit);

/// The same for text in memory; `name` stands for the file in errors.
Result<size_t> read_table_text(std::string_view text, const std::string& name, const TableVisitor& visit);

}  // namespace pktpit::fib
