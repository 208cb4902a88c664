// SPDX-License-Identifier: BSD-3-Clause
#include "bench/fib/table_set.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/fib/random.h"

namespace pktpit::bench::fib {
namespace {

constexpr uint32_t next_hop_counts[] = {200, 3771, 30'000};
constexpr double long_shares[] = {0, 0.01, 0.1};
/// Customers of one ISP lie side by side; and rte_fib with 2-byte next hops reaches 32,767 tables of them.
constexpr size_t long_prefixes_a_route = 8;
constexpr uint64_t set_seed = 2544;

/// Mostly hosts and links, as in an ISP's table.
unsigned long_length(Random& random) {
    constexpr unsigned lengths[] = {32, 32, 32, 32, 30, 30, 29, 28, 27, 26, 25};
    return lengths[below(random, std::size(lengths))];
}

Prefix inside(const Prefix& prefix, unsigned length, Random& random) {
    IpAddress address = prefix.address;
    address.bytes[3] = static_cast<uint8_t>(below(random, 256));
    return Prefix::of(address, length);
}

}  // namespace

std::vector<TableVariant> table_set(Family family) {
    std::vector<TableVariant> all;
    for (const bool generated : {false, true})
        for (const uint32_t next_hops : next_hop_counts)
            for (const double share : long_shares)
                if (family == Family::ipv4 || share == 0) all.push_back({generated, next_hops, share});
    return all;
}

std::string name_of(const TableVariant& variant, Family family) {
    std::string name =
        fmt::format("{}, {} next hops", variant.generated ? "generated" : "Internet", variant.next_hops);
    if (family == Family::ipv4) name += fmt::format(", {:.0f} % longer than /24", variant.long_share * 100);
    return name;
}

void add_long_prefixes(Table& table, double share) {
    std::erase_if(table.routes, [](const Route& route) { return route.prefix.length > 24; });
    std::vector<Prefix> around;
    for (const Route& route : table.routes)
        if (route.prefix.length == 24) around.push_back(route.prefix);
    Random random(set_seed);
    const auto wanted = static_cast<size_t>(static_cast<double>(table.routes.size()) * share / (1 - share));
    size_t added = 0;
    while (added < wanted && !around.empty()) {
        std::swap(around[below(random, around.size())], around.back());
        for (size_t i = 0; i < long_prefixes_a_route && added < wanted; i++, added++)
            table.routes.push_back({inside(around.back(), long_length(random), random),
                                    static_cast<uint32_t>(1 + below(random, table.groups))});
        around.pop_back();
    }
    normalize(table.routes);
}

Table make_variant(const TableVariant& variant, Family family, size_t count, const std::string& folder) {
    Table table = variant.generated || count > 0 ? generate_internet(family, count)
                                                 : read_or_generate_table(family, folder);
    spread_next_hops(table, variant.next_hops);
    if (family == Family::ipv4) add_long_prefixes(table, variant.long_share);
    table.name = name_of(variant, family);
    return table;
}

}  // namespace pktpit::bench::fib
