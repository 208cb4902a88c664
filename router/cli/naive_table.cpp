// SPDX-License-Identifier: BSD-3-Clause
#include "router/cli/naive_table.h"

#include <algorithm>

#include "fib/tables/table_digest.h"

namespace pktpit::router::cli {
namespace {

size_t index_of(Family family) {
    return family == Family::ipv4 ? 0 : 1;
}

/// The address before or behind, wrapping.
IpAddress neighbour(IpAddress address, int step) {
    for (size_t i = address.size(); i-- > 0;) {
        address.bytes[i] = static_cast<uint8_t>(address.bytes[i] + step);
        if (address.bytes[i] != (step > 0 ? 0 : 0xff)) break;
    }
    return address;
}

std::string words_of(const std::optional<std::pair<Prefix, uint32_t>>& found) {
    return found ? found->first.to_string() + " by next hop " + std::to_string(found->second) : "nothing";
}

}  // namespace

void NaiveTable::set(const Prefix& prefix, uint32_t next_hop) {
    by_length_[index_of(prefix.address.family)][prefix.length][prefix.address] = next_hop;
}

bool NaiveTable::erase(const Prefix& prefix) {
    return by_length_[index_of(prefix.address.family)][prefix.length].erase(prefix.address) > 0;
}

std::optional<Route> NaiveTable::match(const IpAddress& address) const {
    const auto& tables = by_length_[index_of(address.family)];
    for (unsigned length = address.bits() + 1; length-- > 0;) {
        if (tables[length].empty()) continue;
        const Prefix prefix = Prefix::of(address, length);
        const auto found = tables[length].find(prefix.address);
        if (found != tables[length].end()) return Route{prefix, found->second};
    }
    return std::nullopt;
}

size_t NaiveTable::size(Family family) const {
    size_t size = 0;
    for (const Nets& nets : by_length_[index_of(family)])
        size += nets.size();
    return size;
}

std::vector<Route> NaiveTable::sorted() const {
    std::vector<Route> routes;
    for (const auto& tables : by_length_)
        for (size_t length = 0; length < tables.size(); length++)
            for (const auto& [address, next_hop] : tables[length])
                routes.push_back({Prefix{address, static_cast<uint8_t>(length)}, next_hop});
    std::ranges::sort(routes, fib::table_order, &Route::prefix);
    return routes;
}

CheckResult compare(const TableImage& image, const NaiveTable& naive) {
    CheckResult result;
    const auto wrong = [&](const std::string& what) {
        if (result.wrong++ == 0) result.first = what;
    };
    for (const Family family : {Family::ipv4, Family::ipv6}) {
        if (image.fib().prefix_count(family) != naive.size(family))
            wrong("the image has " + std::to_string(image.fib().prefix_count(family)) + " prefixes, not " +
                  std::to_string(naive.size(family)));
    }
    const auto look_up = [&](const IpAddress& address) {
        result.addresses++;
        std::optional<std::pair<Prefix, uint32_t>> expected, found;
        if (const auto match = naive.match(address)) expected = {match->prefix, match->next_hop};
        if (const auto match = image.fib().match(address))
            found = {match->first, image.next_hop_of(match->second)};
        // lookup() is what packets meet, match() what people see.
        const fib::GroupId group = image.fib().lookup(address);
        if (found != expected || group != (expected ? image.group_of(expected->second) : 0))
            wrong(address.to_string() + " finds " + words_of(found) + " (group " + std::to_string(group) +
                  "), not " + words_of(expected));
    };
    for (const Route& route : naive.sorted()) {
        result.prefixes++;
        const auto group = image.fib().find(route.prefix);
        if (group != image.group_of(route.next_hop))
            wrong(route.prefix.to_string() + (group ? " has another next hop" : " is missing"));
        look_up(route.prefix.address);
        look_up(route.prefix.last());
        look_up(neighbour(route.prefix.address, -1));
        look_up(neighbour(route.prefix.last(), 1));
    }
    return result;
}

}  // namespace pktpit::router::cli
