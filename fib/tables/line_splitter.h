// SPDX-License-Identifier: BSD-3-Clause
/// Whole lines out of pieces of text as they come. Used by the readers of text and JSON lines. One thread;
/// keeps at most one line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pktpit::fib {

class LineSplitter {
  public:
    /// `line` without its end, valid during the call; `number` counts from 1. An Error stops the reading.
    using Visitor = std::function<Result<void>(std::string_view line, size_t number)>;

    /// A line beyond `longest` bytes is an error: the file is something else, a binary, say. `expected`: what
    /// a line holds, for that error. `name` must outlive the splitter.
    LineSplitter(const std::string& name, size_t longest, std::string expected, Visitor visit)
        : name_(name), longest_(longest), expected_(std::move(expected)), visit_(std::move(visit)) {}

    Result<void> feed(std::string_view text);
    /// The last line needs no line feed.
    Result<void> finish();

  private:
    Result<void> whole_line(std::string_view end);

    const std::string& name_;
    size_t longest_;
    std::string expected_;
    Visitor visit_;
    std::string partial_;  ///< start of a line whose end has not come yet
    size_t line_ = 0;
};

}  // namespace pktpit::fib
