// SPDX-License-Identifier: BSD-3-Clause
#include "fib/tables/table_text.h"

#include "base/quoted.h"
#include "fib/tables/unix_time.h"
#include "fib/tables/words.h"

namespace pktpit::fib {
namespace {

// The longest prefix takes 49 characters. A line far beyond that is no route file but, say, a binary.
constexpr size_t longest_line = 4096;
constexpr const char* form = "`prefix next-hop-id`";

}  // namespace

TableTextReader::TableTextReader(const std::string& name, const TableVisitor& visit, ReadSummary& summary)
    : name_(name),
      visit_(visit),
      summary_(summary),
      lines_(name, longest_line, form,
             [this](std::string_view line, size_t number) { return parse(line, number); }) {}

Result<void> TableTextReader::parse(std::string_view line, size_t number) {
    const auto place = [&] { return name_ + ":" + std::to_string(number); };
    line = line.substr(0, line.find('#'));
    const std::string_view whole = line;
    const std::string_view first = next_word(line);
    if (first.empty()) return {};
    summary_.records++;
    const auto prefix = Prefix::parse(first);
    if (!prefix) {
        const std::string_view second = next_word(line);
        const bool update = parse_unix_time(first) && (second == "a" || second == "w");
        return fail(place(), prefix.error().message, prefix.error().expected,
                    update ? "this is an update: `pktpit table replay` applies updates to a table" : "");
    }
    const std::string_view id = next_word(line);
    if (id.empty()) return fail(place(), "no next-hop id behind " + quoted(first), form);
    if (const std::string_view rest = next_word(line); !rest.empty())
        return fail(place(), quoted(rest) + " behind the next-hop id in " + quoted(whole), form);
    auto visited = visit_(*prefix, id, number);
    if (!visited) {
        if (visited.error().where.empty()) visited.error().where = place();
        return visited;
    }
    summary_.visited++;
    return {};
}

}  // namespace pktpit::fib
