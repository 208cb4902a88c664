// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/route_table.h"

namespace pktpit::router::cli {

Result<RouteTable> RouteTable::load(const std::string& path, const fib::ReadOptions& options) {
    NextHopIds ids;
    const auto list = load_routes(path, options, ids);
    if (!list) return tl::unexpected(list.error());
    auto image = TableImage::fitting(ids.size(), [&](TableImage& empty) { return empty.add(list->routes); });
    if (!image) {
        if (image.error().where.empty()) image.error().where = path;
        return tl::unexpected(image.error());
    }
    return RouteTable(std::move(ids), std::move(*image));
}

std::optional<std::pair<Prefix, std::string_view>> RouteTable::lookup(const IpAddress& address) const {
    const auto match = image_.fib().match(address);
    if (!match) return std::nullopt;
    return std::pair{match->first, std::string_view(ids_[image_.next_hop_of(match->second)])};
}

}  // namespace pktpit::router::cli
