// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/update_text.h"

#include "base/quoted.h"
#include "fib/tables/unix_time.h"
#include "fib/tables/words.h"

namespace pktpit::fib {
namespace {

constexpr size_t longest_line = 4096;
constexpr const char* form = "`unixtime a|w prefix next-hop-id`";

}  // namespace

UpdateTextReader::UpdateTextReader(const std::string& name, const UpdateVisitor& visit, ReadSummary& summary)
    : name_(name),
      visit_(visit),
      summary_(summary),
      lines_(name, longest_line, form,
             [this](std::string_view line, size_t number) { return parse(line, number); }) {}

Result<void> UpdateTextReader::parse(std::string_view line, size_t number) {
    const auto wrong = [&](std::string found, std::string expected = form) -> tl::unexpected<Error> {
        return fail(name_ + ":" + std::to_string(number), std::move(found), std::move(expected));
    };
    line = line.substr(0, line.find('#'));
    const std::string_view whole = line;
    const std::string_view time = next_word(line);
    if (time.empty()) return {};
    summary_.records++;
    Update update;
    if (const auto parsed = parse_unix_time(time)) {
        update.microseconds = *parsed;
    } else {
        auto error = wrong(quoted(time) + " is no time", unix_time_form);
        if (Prefix::parse(time)) error.value().hint = "this is a route: updates begin with their time";
        return error;
    }
    const std::string_view kind = next_word(line);
    if (kind != "a" && kind != "w")
        return wrong(kind.empty() ? "nothing behind the time" : quoted(kind) + " behind the time",
                     "a (announce) or w (withdraw)");
    update.withdraw = kind == "w";
    const std::string_view prefix = next_word(line);
    if (prefix.empty()) return wrong("no prefix in " + quoted(whole));
    if (const auto parsed = Prefix::parse(prefix)) {
        update.prefix = *parsed;
    } else {
        return wrong(parsed.error().message, parsed.error().expected);
    }
    update.next_hop = next_word(line);
    if (!update.withdraw && update.next_hop.empty()) return wrong("no next-hop id behind " + quoted(prefix));
    if (const std::string_view rest = next_word(line); !rest.empty())
        return wrong(quoted(rest) + " behind the next-hop id in " + quoted(whole));
    if (update.withdraw) update.next_hop = {};
    auto visited = visit_(update, number);
    if (!visited) {
        if (visited.error().where.empty()) visited.error().where = name_ + ":" + std::to_string(number);
        return visited;
    }
    summary_.visited++;
    return {};
}

}  // namespace pktpit::fib
