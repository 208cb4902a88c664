// SPDX-License-Identifier: BSD-3-Clause
/// Updates as text, one a line: `unixtime a prefix next-hop-id` announces, `unixtime w prefix` withdraws (an
/// id behind it says nothing). '#' starts a comment; blank lines are skipped. One thread; keeps one line.
#pragma once

#include "fib/tables/line_splitter.h"
#include "fib/tables/update_reader.h"

namespace pktpit::fib {

class UpdateTextReader final : public PieceReader {
  public:
    /// All must outlive the reader.
    UpdateTextReader(const std::string& name, const UpdateVisitor& visit, ReadSummary& summary);

    Result<void> feed(std::string_view piece) override { return lines_.feed(piece); }
    Result<void> finish() override { return lines_.finish(); }

  private:
    Result<void> parse(std::string_view line, size_t number);

    const std::string& name_;
    const UpdateVisitor& visit_;
    ReadSummary& summary_;
    LineSplitter lines_;
};

}  // namespace pktpit::fib
