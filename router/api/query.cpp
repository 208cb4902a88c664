// SPDX-License-Identifier: BSD-3-Clause
#include "router/api/query.h"

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <string_view>

#include "fib/rib.h"

namespace pktpit::router {
namespace {

// append() throughout: GCC 12 warns wrongly of `"literal" + string` (its PR 105651).
std::string at(std::string_view name) {
    return std::string("?").append(name.substr(0, 60));
}

tl::unexpected<Error> bad(std::string_view name, std::string_view found, std::string expected) {
    return fail(at(name), std::string("\"").append(found.substr(0, 60)).append("\""), std::move(expected));
}

std::string joined(std::initializer_list<std::string_view> names) {
    std::string text;
    for (const auto name : names)
        text.append(text.empty() ? "" : ", ").append(name);
    return text.empty() ? "none" : text;
}

Result<void> only(const QueryParameters& parameters, std::initializer_list<std::string_view> known,
                  std::string_view repeatable = {}) {
    for (const auto& [name, value] : parameters) {
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            return fail(at(name), "unknown query parameter", joined(known));
        }
        if (name != repeatable && parameters.count(name) > 1) {
            return fail(at(name), "given " + std::to_string(parameters.count(name)) + " times", "once");
        }
    }
    return {};
}

Result<Prefix> prefix_of(std::string_view name, const std::string& value) {
    const auto prefix = Prefix::parse(value);
    if (!prefix) return bad(name, value, "a prefix such as 192.0.2.0/24, with no bit set behind its length");
    return *prefix;
}

Result<IpAddress> address_of(std::string_view name, const std::string& value) {
    const auto address = IpAddress::parse(value);
    if (!address) return bad(name, value, "an IPv4 or IPv6 address");
    return *address;
}

}  // namespace

namespace {

Result<AddressQuery> with_vrf(AddressQuery query, const QueryParameters& parameters) {
    const auto given = parameters.find("vrf");
    if (given == parameters.end()) return query;
    auto vrf = vrf_of(given->second, at("vrf"));
    if (!vrf) return tl::unexpected(vrf.error());
    query.vrf = std::move(*vrf);
    return query;
}

/// Of parameters that are known.
Result<RouteQuery> route_query(const QueryParameters& parameters, size_t most) {
    RouteQuery query;
    for (const auto& [name, value] : parameters) {
        if (name == "family") {
            if (value != "4" && value != "6") return bad(name, value, "4 or 6");
            query.family = value == "4" ? Family::ipv4 : Family::ipv6;
        } else if (name == "source") {
            static constexpr fib::RouteSource sources[] = {fib::RouteSource::connected,
                                                           fib::RouteSource::config, fib::RouteSource::cli,
                                                           fib::RouteSource::fpm, fib::RouteSource::kernel};
            const bool known =
                std::any_of(std::begin(sources), std::end(sources),
                            [&text = value](auto source) { return fib::to_string(source) == text; });
            if (!known) return bad(name, value, "connected, config, cli, fpm or kernel");
            query.source = value;
        } else if (name == "limit") {
            const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), query.limit);
            if (error != std::errc() || end != value.data() + value.size() || query.limit < 1 ||
                query.limit > most) {
                return bad(name, value, "a number from 1 to " + std::to_string(most));
            }
        } else if (name == "vrf") {
            auto vrf = vrf_of(value, at(name));
            if (!vrf) return tl::unexpected(vrf.error());
            query.vrf = std::move(*vrf);
        } else {
            const auto prefix = prefix_of(name, value);
            if (!prefix) return tl::unexpected(prefix.error());
            (name == "within" ? query.within : query.after) = *prefix;
        }
    }
    return query;
}

}  // namespace

Result<RouteQuery> parse_route_query(const QueryParameters& parameters) {
    if (auto known = only(parameters, {"family", "source", "within", "after", "limit", "vrf"}); !known)
        return tl::unexpected(known.error());
    return route_query(parameters, max_routes_a_page);
}

Result<RouteQuery> parse_all_routes_query(const QueryParameters& parameters) {
    if (auto known = only(parameters, {"family", "source", "within", "limit", "vrf"}); !known)
        return tl::unexpected(known.error());
    constexpr size_t most = 1'000'000'000;
    auto query = route_query(parameters, most);
    if (query && !parameters.contains("limit")) query->limit = most;
    return query;
}

Result<RouteQuery> parse_summary_query(const QueryParameters& parameters) {
    if (auto known = only(parameters, {"vrf"}); !known) return tl::unexpected(known.error());
    return route_query(parameters, 1);
}

Result<std::string> vrf_of(const std::string& name, std::string where) {
    if (name.empty())
        return fail(std::move(where), "an empty name", "the name of a VRF, or default", "pktpit show vrfs");
    return name == "default" ? std::string() : name;
}

Result<AddressQuery> parse_route_to_query(const QueryParameters& parameters) {
    if (auto known = only(parameters, {"to", "vrf"}); !known) return tl::unexpected(known.error());
    const auto to = parameters.find("to");
    if (to == parameters.end()) return fail("?to", "missing", "an IPv4 or IPv6 address");
    const auto address = address_of("to", to->second);
    if (!address) return tl::unexpected(address.error());
    return with_vrf({{*address}}, parameters);
}

Result<AddressQuery> parse_lookup_query(const QueryParameters& parameters) {
    if (auto known = only(parameters, {"address", "vrf"}, "address"); !known)
        return tl::unexpected(known.error());
    const auto [begin, end] = parameters.equal_range("address");
    const size_t count = parameters.count("address");
    if (count == 0) return fail("?address", "missing", "an IPv4 or IPv6 address, once or more");
    if (count > max_addresses_in_query) {
        return fail("?address", "given " + std::to_string(count) + " times",
                    "at most " + std::to_string(max_addresses_in_query), "POST them to /v1/lookup");
    }
    AddressQuery query;
    for (auto each = begin; each != end; ++each) {
        const auto address = address_of("address", each->second);
        if (!address) return tl::unexpected(address.error());
        query.addresses.push_back(*address);
    }
    return with_vrf(std::move(query), parameters);
}

Result<uint64_t> parse_events_query(const QueryParameters& parameters) {
    if (auto known = only(parameters, {"after"}); !known) return tl::unexpected(known.error());
    uint64_t after = 0;
    const auto given = parameters.find("after");
    if (given == parameters.end()) return after;
    const std::string& value = given->second;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), after);
    if (error != std::errc() || end != value.data() + value.size())
        return bad("after", value, "the id of an event, a number");
    return after;
}

Result<std::optional<size_t>> parse_back_query(const QueryParameters& parameters) {
    if (auto known = only(parameters, {"back"}); !known) return tl::unexpected(known.error());
    const auto given = parameters.find("back");
    if (given == parameters.end()) return std::optional<size_t>();
    const std::string& value = given->second;
    size_t back = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), back);
    if (error != std::errc() || end != value.data() + value.size())
        return bad("back", value, "how many configurations ago, a number");
    return std::optional<size_t>(back);
}

Result<void> parse_empty_query(const QueryParameters& parameters) {
    return only(parameters, {});
}

}  // namespace pktpit::router
