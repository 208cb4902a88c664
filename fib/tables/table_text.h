// SPDX-License-Identifier: BSD-3-Clause
/// Tables as text: one `prefix next-hop-id` a line, blank-separated. '#' starts a comment; blank lines are
/// skipped. One thread; keeps one line.
#pragma once

#include "fib/tables/line_splitter.h"
#include "fib/tables/reading.h"
#include "fib/tables/table_file.h"

namespace pktpit::fib {

class TableTextReader final : public PieceReader {
  public:
    /// All must outlive the reader.
    TableTextReader(const std::string& name, const TableVisitor& visit, ReadSummary& summary);

    Result<void> feed(std::string_view piece) override { return lines_.feed(piece); }
    Result<void> finish() override { return lines_.finish(); }

  private:
    Result<void> parse(std::string_view line, size_t number);

    const std::string& name_;
    const TableVisitor& visit_;
    ReadSummary& summary_;
    LineSplitter lines_;
};

}  // namespace pktpit::fib
