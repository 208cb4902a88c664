// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "bench/harness/failure.h"
#include "bench/harness/recorded_file.h"
#include "fib/tables/table_file.h"
#include "fib/tables/table_generator.h"

namespace pktpit::bench::fib {
namespace {

constexpr uint64_t seed = 2544;

uint64_t mix(uint64_t value) {
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    return value ^ value >> 31;
}

}  // namespace

void normalize(std::vector<Route>& routes) {
    std::stable_sort(routes.begin(), routes.end(),
                     [](const Route& a, const Route& b) { return a.prefix < b.prefix; });
    size_t kept = 0;
    for (size_t i = 0; i < routes.size(); i++) {
        if (i + 1 < routes.size() && routes[i + 1].prefix == routes[i].prefix) continue;
        routes[kept++] = routes[i];
    }
    routes.resize(kept);
}

Table read_table(Family family, const std::string& file) {
    Table table{family, {}, 0, file};
    std::unordered_map<std::string, uint32_t> groups;
    const auto read = pktpit::fib::read_table_file(
        file, [&](const Prefix& prefix, std::string_view id, size_t) -> Result<void> {
            if (prefix.address.family != family) return {};
            const auto next = static_cast<uint32_t>(groups.size() + 1);
            table.routes.push_back({prefix, groups.try_emplace(std::string(id), next).first->second});
            return {};
        });
    if (!read) throw harness::Failure(read.error().to_string());
    table.groups = static_cast<uint32_t>(groups.size());
    normalize(table.routes);
    return table;
}

Table generate_internet(Family family, size_t count) {
    Table table{family, {}, 0, "generated, with the Internet's prefix lengths"};
    if (count == 0) count = pktpit::fib::internet_table_size(family);
    for (const auto& entry : pktpit::fib::generate_table(family, count, seed)) {
        table.routes.push_back({entry.prefix, entry.next_hop});
        table.groups = std::max(table.groups, entry.next_hop);
    }
    normalize(table.routes);
    return table;
}

Table read_or_generate_table(Family family, const std::string& folder) {
    const std::string_view name = harness::internet_table_file(family);
    if (const auto file = harness::recorded_file(folder, name)) return read_table(family, *file);
    Table table = generate_internet(family, 0);
    table.origin += fmt::format(" ({})", harness::describe_missing(folder, name));
    return table;
}

void spread_next_hops(Table& table, uint32_t groups) {
    for (Route& route : table.routes) {
        const auto& bytes = route.prefix.address.bytes;
        uint64_t surroundings = bytes[0] << 8 | bytes[1];
        if (table.family == Family::ipv6) surroundings = surroundings << 16 | bytes[2] << 8 | bytes[3];
        route.group = static_cast<uint32_t>(1 + mix(surroundings << 24 ^ route.group) % groups);
    }
    table.groups = groups;
}

}  // namespace pktpit::bench::fib
