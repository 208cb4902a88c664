// SPDX-License-Identifier: BSD-3-Clause
#include <nlohmann/json.hpp>

#include "base/json/pointer.h"
#include "config/draft.h"
#include "config/parse_values.h"

namespace pktpit::config {

using nlohmann::json;

namespace {

void read_via(const std::string& text, std::string where, PlacedNextHop& out, Errors& errors) {
    out.via_where = std::move(where);
    if (auto address = read_address(text, out.via_where, errors))
        out.value.via = *address;
    else
        out.via_broken = true;
}

/// A next hop object, or a route whose own keys are one.
PlacedNextHop read_next_hop(const json& node, const std::string& where, Errors& errors) {
    PlacedNextHop out;
    out.where = where;
    if (auto found = node.find("via"); found != node.end())
        read_via(found->get<std::string>(), at(where, "via"), out, errors);
    if (auto found = node.find("interface"); found != node.end())
        out.value.interface = found->get<std::string>();
    if (auto found = node.find("weight"); found != node.end()) out.value.weight = found->get<uint16_t>();
    return out;
}

/// The same of an object that is nothing else: `vrf` is of the gateway.
PlacedNextHop read_one_next_hop(const json& node, const std::string& where, Errors& errors) {
    PlacedNextHop out = read_next_hop(node, where, errors);
    if (auto found = node.find("vrf"); found != node.end()) out.value.vrf = vrf_of(*found);
    return out;
}

/// What may stand for a set of next hops: an array of them, one, or the address of one.
std::vector<PlacedNextHop> read_next_hops(const json& node, const std::string& where, Errors& errors) {
    std::vector<PlacedNextHop> out;
    if (node.is_string()) {
        PlacedNextHop hop;
        hop.where = where;
        read_via(node.get<std::string>(), where, hop, errors);
        out.push_back(std::move(hop));
    } else if (node.is_object()) {
        out.push_back(read_one_next_hop(node, where, errors));
    } else {
        for (size_t i = 0; i < node.size(); i++)
            out.push_back(read_one_next_hop(node[i], at(where, i), errors));
    }
    return out;
}

RouteType route_type(const std::string& name) {
    if (name == "blackhole") return RouteType::blackhole;
    if (name == "unreachable") return RouteType::unreachable;
    if (name == "prohibit") return RouteType::prohibit;
    return RouteType::unicast;
}

}  // namespace

PlacedRoute read_route(const json& node, std::string where, Errors& errors) {
    PlacedRoute out;
    out.where = std::move(where);
    if (auto prefix = read_prefix(node.at("prefix").get<std::string>(), at(out.where, "prefix"), errors))
        out.value.prefix = *prefix;
    else
        out.prefix_broken = true;
    if (auto found = node.find("type"); found != node.end())
        out.value.type = route_type(found->get<std::string>());
    if (auto found = node.find("preference"); found != node.end())
        out.value.preference = found->get<uint8_t>();
    if (auto found = node.find("metric"); found != node.end()) out.value.metric = found->get<uint32_t>();
    if (auto found = node.find("counters"); found != node.end()) out.value.counters = found->get<bool>();
    if (auto found = node.find("mtu"); found != node.end()) out.value.mtu = found->get<uint32_t>();
    if (auto found = node.find("vrf"); found != node.end()) out.value.vrf = vrf_of(*found);
    out.has_shorthand = node.contains("via") || node.contains("interface");
    out.has_next_hops = node.contains("next_hops");
    if (out.has_shorthand) out.next_hops.push_back(read_next_hop(node, out.where, errors));
    if (out.has_next_hops)
        for (PlacedNextHop& hop : read_next_hops(node.at("next_hops"), at(out.where, "next_hops"), errors))
            out.next_hops.push_back(std::move(hop));
    if (auto found = node.find("backup"); found != node.end())
        out.backup = read_next_hops(*found, at(out.where, "backup"), errors);
    return out;
}

PlacedRoutesFile read_routes_file(const json& node, std::string where, Errors& errors) {
    PlacedRoutesFile out;
    out.where = std::move(where);
    out.value.path = node.at("path").get<std::string>();
    if (auto found = node.find("preference"); found != node.end())
        out.value.preference = found->get<uint8_t>();
    if (auto found = node.find("vrf"); found != node.end()) out.value.vrf = vrf_of(*found);
    for (const auto& [id, hops] : node.at("next_hops").items()) {
        std::string id_where = at(at(out.where, "next_hops"), id);
        out.ids.push_back({id, id_where, read_next_hops(hops, id_where, errors)});
    }
    if (auto found = node.find("backup"); found != node.end())
        for (const auto& [id, hops] : found->items()) {
            std::string id_where = at(at(out.where, "backup"), id);
            out.backups.push_back({id, id_where, read_next_hops(hops, id_where, errors)});
        }
    return out;
}

}  // namespace pktpit::config
