// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/updates.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <random>
#include <unordered_map>

#include "bench/fib/random.h"
#include "bench/harness/failure.h"
#include "fib/tables/file_source.h"

namespace pktpit::bench::fib {
namespace {

/// The group of exactly this prefix, 0 if it is not in the table.
uint32_t group_of(const Table& table, const Prefix& prefix) {
    const auto found =
        std::lower_bound(table.routes.begin(), table.routes.end(), prefix,
                         [](const Route& route, const Prefix& wanted) { return route.prefix < wanted; });
    return found != table.routes.end() && found->prefix == prefix ? found->group : 0;
}

void add_undo(const Table& table, UpdateSequence& sequence) {
    std::vector<Prefix> touched;
    for (const Update& update : sequence.updates)
        touched.push_back(update.prefix);
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const Prefix& prefix : touched)
        sequence.undo.push_back({prefix, group_of(table, prefix)});
}

std::string_view next_token(std::string_view& line) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r"), line.size()));
    const std::string_view token = line.substr(0, line.find_first_of(" \t\r"));
    line.remove_prefix(token.size());
    return token;
}

[[noreturn]] void refuse(const std::string& file, size_t line, std::string_view found) {
    throw harness::Failure(
        fmt::format("{}:{}: '{}' (expected `unixtime a|w prefix next-hop-id`)", file, line, found));
}

}  // namespace

UpdateSequence random_updates(const Table& table, size_t count, uint64_t seed) {
    UpdateSequence sequence{"random", {}, {}};
    if (table.routes.empty()) throw harness::Failure("random updates of an empty table");
    Random random(seed);
    std::vector<uint32_t> group(table.routes.size());
    for (size_t i = 0; i < group.size(); i++)
        group[i] = table.routes[i].group;
    for (size_t i = 0; i < count; i++) {
        const size_t place = below(random, group.size());
        uint32_t next = 0;
        if (group[place] == 0 || below(random, 2) == 0)
            next = 1 + static_cast<uint32_t>((group[place] + below(random, table.groups - 1)) % table.groups);
        group[place] = next;
        sequence.updates.push_back({table.routes[place].prefix, next});
    }
    add_undo(table, sequence);
    return sequence;
}

UpdateSequence parse_updates(const Table& table, std::string_view text, const std::string& file) {
    UpdateSequence sequence{"trace", {}, {}};
    for (size_t line_number = 1; !text.empty(); line_number++) {
        const std::string_view whole = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(whole.size() + 1, text.size()));
        std::string_view line = whole;
        if (next_token(line).empty()) continue;
        const std::string_view what = next_token(line);
        const auto prefix = Prefix::parse(next_token(line));
        const std::string_view id_text = next_token(line);
        uint32_t id = 0;
        const auto parsed = std::from_chars(id_text.data(), id_text.data() + id_text.size(), id);
        const bool announce = what == "a";
        if (!prefix || (!announce && what != "w") ||
            (announce && (id_text.empty() || parsed.ptr != id_text.data() + id_text.size())))
            refuse(file, line_number, whole);
        if (prefix->address.family != table.family) continue;
        sequence.updates.push_back({*prefix, announce ? 1 + id % std::max(table.groups, 1u) : 0});
    }
    add_undo(table, sequence);
    return sequence;
}

UpdateSequence read_updates(const Table& table, const std::string& file) {
    auto source = pktpit::fib::FileSource::open(file);
    if (!source) throw harness::Failure(source.error().to_string());
    std::string text;
    for (;;) {
        const auto piece = source->next();
        if (!piece) throw harness::Failure(piece.error().to_string());
        if (piece->empty()) break;
        text.append(piece->data(), piece->size());
    }
    return parse_updates(table, text, file);
}

Table updated(const Table& table, const std::vector<Update>& updates) {
    Table result = table;
    result.routes.insert(result.routes.end(), updates.begin(), updates.end());
    normalize(result.routes);
    std::erase_if(result.routes, [](const Route& route) { return route.group == 0; });
    return result;
}

}  // namespace pktpit::bench::fib
