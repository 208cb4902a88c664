// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/line_splitter.h"

namespace pktpit::fib {

Result<void> LineSplitter::feed(std::string_view text) {
    for (;;) {
        const size_t end = text.find('\n');
        const std::string_view piece = text.substr(0, end);
        if (partial_.size() + piece.size() > longest_) {
            return fail(name_ + ":" + std::to_string(line_ + 1),
                        "a line of more than " + std::to_string(longest_) + " characters", expected_);
        }
        if (end == std::string_view::npos) {
            partial_ += piece;
            return {};
        }
        if (auto good = whole_line(piece); !good) return good;
        text.remove_prefix(end + 1);
    }
}

Result<void> LineSplitter::finish() {
    return partial_.empty() ? Result<void>{} : whole_line({});
}

Result<void> LineSplitter::whole_line(std::string_view end) {
    line_++;
    if (partial_.empty()) return visit_(end, line_);
    partial_ += end;
    auto result = visit_(partial_, line_);
    partial_.clear();
    return result;
}

}  // namespace pktpit::fib
