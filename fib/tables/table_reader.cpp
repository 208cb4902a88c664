// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/table_reader.h"

#include "fib/tables/json_lines.h"
#include "fib/tables/mrt_table.h"
#include "fib/tables/read_any.h"
#include "fib/tables/table_text.h"

namespace pktpit::fib {
namespace {

ReaderFactory factory(const std::string& name, const ReadOptions& options, const TableVisitor& visit) {
    return [&](Format format, ReadSummary& summary) -> std::unique_ptr<PieceReader> {
        if (format == Format::mrt) return std::make_unique<MrtTableReader>(name, options, visit, summary);
        if (format == Format::json) return std::make_unique<JsonLinesReader>(name, visit, summary);
        return std::make_unique<TableTextReader>(name, visit, summary);
    };
}

}  // namespace

Result<ReadSummary> read_table(const std::string& path, const ReadOptions& options,
                               const TableVisitor& visit) {
    return read_any_file(path, options, factory(path, options, visit));
}

Result<ReadSummary> read_table_bytes(std::string_view bytes, const std::string& name,
                                     const ReadOptions& options, const TableVisitor& visit) {
    return read_any_bytes(bytes, name, options, factory(name, options, visit));
}

}  // namespace pktpit::fib
