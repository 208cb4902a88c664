// SPDX-License-Identifier: BSD-3-Clause
/// A table's file in memory as a FIB image, for looking addresses up without a daemon. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "router/cli/table_image.h"

namespace pktpit::router::cli {

class RouteTable {
  public:
    /// Any form of a table (fib/tables/table_reader.h). Where a prefix occurs twice, the later route holds.
    static Result<RouteTable> load(const std::string& path, const fib::ReadOptions& options);

    /// The longest prefix that matches, and the next-hop id it has in the file.
    [[nodiscard]] std::optional<std::pair<Prefix, std::string_view>> lookup(const IpAddress& address) const;

  private:
    RouteTable(NextHopIds ids, TableImage image) : ids_(std::move(ids)), image_(std::move(image)) {}

    NextHopIds ids_;
    TableImage image_;
};

}  // namespace pktpit::router::cli
