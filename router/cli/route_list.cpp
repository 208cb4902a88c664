// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/route_list.h"

#include <algorithm>

#include "fib/tables/table_digest.h"
#include "fib/tables/table_reader.h"

namespace pktpit::router::cli {

uint32_t NextHopIds::number_of(std::string_view id) {
    const auto found = numbers_.find(id);
    if (found != numbers_.end()) return found->second;
    const auto number = static_cast<uint32_t>(texts_.size());
    texts_.emplace_back(id);
    numbers_.emplace(texts_.back(), number);
    return number;
}

Result<RouteList> load_routes(const std::string& path, const fib::ReadOptions& options, NextHopIds& ids) {
    RouteList list;
    auto summary = fib::read_table(path, options,
                                   [&](const Prefix& prefix, std::string_view id, size_t) -> Result<void> {
                                       list.routes.push_back({prefix, ids.number_of(id)});
                                       return {};
                                   });
    if (!summary) return tl::unexpected(summary.error());
    list.summary = std::move(*summary);
    return list;
}

void sort_routes(std::vector<Route>& routes) {
    std::ranges::stable_sort(routes, fib::table_order, &Route::prefix);
    size_t kept = 0;
    for (size_t i = 0; i < routes.size(); i++) {
        if (i + 1 < routes.size() && routes[i + 1].prefix == routes[i].prefix) continue;
        routes[kept++] = routes[i];
    }
    routes.resize(kept);
}

std::string digest_of(const std::vector<Route>& sorted, const NextHopIds& ids) {
    fib::TableDigest digest;
    for (const Route& route : sorted)
        digest.add(route.prefix, ids[route.next_hop]);
    return digest.to_string();
}

}  // namespace pktpit::router::cli
