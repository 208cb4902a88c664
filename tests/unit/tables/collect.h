// SPDX-License-Identifier: BSD-3-Clause
/// Reads bytes as a table or as updates and keeps what the visitor saw as text, one line each.
#pragma once

#include <string>
#include <vector>

#include "fib/tables/table_reader.h"
#include "fib/tables/unix_time.h"
#include "fib/tables/update_reader.h"

namespace pktpit::test {

using Lines = std::vector<std::string>;

struct ReadOutcome {
    Lines lines;  ///< "RECORD PREFIX NEXT-HOP", "RECORD TIME a|w PREFIX [NEXT-HOP]"
    fib::ReadSummary summary;
    Error error;
    bool good = false;

    void finish(Result<fib::ReadSummary> result) {
        good = result.has_value();
        if (result)
            summary = *result;
        else
            error = result.error();
    }
};

inline fib::ReadOptions of_peer(std::string_view text) {
    fib::ReadOptions options;
    if (!text.empty()) options.peer = fib::PeerSelector::parse(text).value();
    return options;
}

inline fib::TableVisitor collector(Lines& lines) {
    return [&lines](const Prefix& prefix, std::string_view id, size_t record) -> Result<void> {
        lines.push_back(std::to_string(record) + " " + prefix.to_string() + " " + std::string(id));
        return {};
    };
}
inline fib::UpdateVisitor update_collector(Lines& lines) {
    return [&lines](const fib::Update& update, size_t record) -> Result<void> {
        lines.push_back(std::to_string(record) + " " + fib::unix_time_text(update.microseconds) + " " +
                        (update.withdraw
                             ? "w " + update.prefix.to_string()
                             : "a " + update.prefix.to_string() + " " + std::string(update.next_hop)));
        return {};
    };
}

inline ReadOutcome table_of(std::string_view bytes, std::string_view peer = "") {
    ReadOutcome outcome;
    outcome.finish(fib::read_table_bytes(bytes, "t", of_peer(peer), collector(outcome.lines)));
    return outcome;
}
inline ReadOutcome updates_of(std::string_view bytes, std::string_view peer = "") {
    ReadOutcome outcome;
    outcome.finish(fib::read_updates_bytes(bytes, "t", of_peer(peer), update_collector(outcome.lines)));
    return outcome;
}

}  // namespace pktpit::test
