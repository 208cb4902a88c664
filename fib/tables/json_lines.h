// SPDX-License-Identifier: BSD-3-Clause
/// Tables and updates as JSON lines, one object a line:
///   {"prefix": "192.0.2.0/24", "next_hop": "198.51.100.1"}
///   {"time": 1470009600, "announce": "192.0.2.0/24", "next_hop": "198.51.100.1"}
///   {"time": 1470009600, "withdraw": "192.0.2.0/24"}
/// A next hop may be a number; members of other names are not looked at; blank lines are skipped. One thread;
/// keeps one line. Errors name the line and the JSON pointer: "FILE:12#/prefix".
#pragma once

#include <functional>

#include "fib/tables/line_splitter.h"
#include "fib/tables/table_file.h"
#include "fib/tables/update_reader.h"

namespace pktpit::fib {

class JsonLinesReader final : public PieceReader {
  public:
    /// All but the visitor must outlive the reader.
    JsonLinesReader(const std::string& name, const TableVisitor& visit, ReadSummary& summary);
    JsonLinesReader(const std::string& name, const UpdateVisitor& visit, ReadSummary& summary);

    Result<void> feed(std::string_view piece) override { return lines_.feed(piece); }
    Result<void> finish() override { return lines_.finish(); }

  private:
    using Visit = std::function<Result<void>(const struct JsonRecord& record, size_t line)>;
    JsonLinesReader(const std::string& name, bool updates, ReadSummary& summary, Visit visit);
    Result<void> parse(std::string_view line, size_t number);

    const std::string& name_;
    bool updates_;
    ReadSummary& summary_;
    Visit visit_;
    LineSplitter lines_;
};

}  // namespace pktpit::fib
