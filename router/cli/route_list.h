// SPDX-License-Identifier: BSD-3-Clause
/// Routes of a file in memory, next-hop ids as small numbers. Used by the table commands and by
/// `lookup --table`. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/address.h"
#include "base/result.h"
#include "fib/tables/reading.h"

namespace pktpit::router::cli {

/// Next-hop ids, numbered from 0 in the order of their first use.
class NextHopIds {
  public:
    uint32_t number_of(std::string_view id);
    [[nodiscard]] const std::string& operator[](uint32_t number) const { return texts_[number]; }
    [[nodiscard]] size_t size() const { return texts_.size(); }

  private:
    struct Hash {
        using is_transparent = void;
        size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
    };
    std::vector<std::string> texts_;
    std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> numbers_;
};

struct Route {
    Prefix prefix;
    uint32_t next_hop = 0;  ///< its number in a NextHopIds
};

struct RouteList {
    std::vector<Route> routes;  ///< in the file's order
    fib::ReadSummary summary;
};

Result<RouteList> load_routes(const std::string& path, const fib::ReadOptions& options, NextHopIds& ids);

/// In fib::table_order(), each prefix once: of several routes the last holds.
void sort_routes(std::vector<Route>& routes);

/// Of sorted routes: fib::TableDigest.
std::string digest_of(const std::vector<Route>& sorted, const NextHopIds& ids);

}  // namespace pktpit::router::cli
