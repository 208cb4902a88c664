// SPDX-License-Identifier: BSD-3-Clause
// Any bytes as what stands behind the `?` of a request, or as a route in a body, without the HTTP around
// them: more of them a second than by way of the socket (api_fuzz). What is accepted is within the bounds
// that docs/api.md states, and a route survives being written and read.
#include <httplib.h>
#include <nlohmann/json.hpp>

#include <cctype>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "router/api/host_header.h"
#include "router/api/query.h"
#include "router/api/route_json.h"
#include "tests/fuzz/demand.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit;
using namespace pktpit::router;
using nlohmann::json;

/// Does libpcap see no names in the filter, which it would ask the machine's resolver about?
bool has_known_words(const std::string& filter) {
    static const std::set<std::string> known = {"and",   "dst",  "ether", "host", "ip",  "ip6",
                                                "len",   "less", "net",   "not",  "or",  "port",
                                                "proto", "src",  "tcp",   "udp",  "vlan"};
    std::string word;
    for (const char c : filter + " ") {
        if (std::isalnum(static_cast<unsigned char>(c))) {
            word += c;
            continue;
        }
        const bool number = word.find_first_not_of("0123456789") == std::string::npos;
        if (!number && !known.contains(word)) return false;
        word.clear();
    }
    return filter.size() <= 64;
}

/// Percent-decoded, as cpp-httplib hands them over.
QueryParameters parameters_of(std::string_view text) {
    httplib::Params parameters;
    httplib::detail::parse_query_text(std::string(text), parameters);
    std::erase_if(parameters,
                  [](const auto& one) { return one.first == "filter" && !has_known_words(one.second); });
    return {parameters.begin(), parameters.end()};
}

template <class T>
bool accepted(const Result<T>& result) {
    if (result) return true;
    demand(result.error().where.starts_with('?') && !result.error().message.empty(), "a refusal has a place");
    (void)errors_to_json({result.error()}).dump(-1, ' ', false, json::error_handler_t::replace);
    return false;
}

void look_at_queries(std::string_view text) {
    const QueryParameters parameters = parameters_of(text);
    if (const auto all = parse_all_routes_query(parameters); accepted(all))
        demand(all->limit >= 1 && !all->after, "a listing begins at the beginning");
    if (const auto routes = parse_route_query(parameters); accepted(routes))
        demand(routes->limit >= 1 && routes->limit <= max_routes_a_page, "a page has a bound");
    (void)accepted(parse_route_to_query(parameters));
    if (const auto addresses = parse_lookup_query(parameters); accepted(addresses))
        demand(addresses->addresses.size() == parameters.count("address") &&
                   addresses->addresses.size() <= max_addresses_in_query,
               "as many addresses as were given");
    (void)accepted(parse_summary_query(parameters));
    demand(accepted(parse_empty_query(parameters)) == parameters.empty(), "no parameters means none");
    for (const bool trace : {false, true})
        if (const auto wanted = parse_observation_request(trace, parameters); accepted(wanted)) {
            demand(wanted->trace == trace && wanted->snaplen >= 1 && wanted->snaplen <= PP_OBSERVED_BYTES &&
                       wanted->one_in >= 1,
                   "an observation has its bounds");
            demand(!wanted->count || *wanted->count >= 1, "nobody asks for no packets");
        }
}

void look_at_route(std::string_view text) {
    const json body = json::parse(text, nullptr, false);
    if (body.is_discarded()) return;
    const auto route = parse_route(body);
    if (!route) {
        demand(!route.error().empty(), "a refusal has reasons");
        (void)errors_to_json(route.error()).dump(-1, ' ', false, json::error_handler_t::replace);
        return;
    }
    demand(route->next_hops.empty() == (route->type != config::RouteType::unicast),
           "next hops, or none to have");
    config::Config config;
    config.routes = {*route};
    const auto again = parse_route(config::to_json(config)["routes"][0]);
    demand(again && *again == *route, "what was written is what was read");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (text.starts_with('@'))  // a Host header: what is an address or a name of ours, and nothing beside it
        demand(!is_for_us(text.substr(1), {"router"}) || text.find_first_of("/ \r\n\t\"<>") == text.npos,
               "a host and a port");
    else if (text.starts_with('?'))
        look_at_queries(text.substr(1));
    else
        look_at_route(text);
    return 0;
}
