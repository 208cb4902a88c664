// SPDX-License-Identifier: BSD-3-Clause
#include "router/daemon/show_routes.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>

#include "config/protocols.h"
#include "fib/lookup.h"
#include "router/forward/forward.h"

namespace pktpit::router {
using nlohmann::json;

const char* type_name(pp_adjacency_kind kind) {
    switch (kind) {
        case PP_ADJ_HOST:
            return "local";
        case PP_ADJ_BROADCAST:
            return "broadcast";
        case PP_ADJ_BLACKHOLE:
            return "blackhole";
        case PP_ADJ_UNREACHABLE:
            return "unreachable";
        case PP_ADJ_PROHIBIT:
            return "prohibit";
        case PP_ADJ_KERNEL:
            return "kernel";
        default:
            return "unicast";
    }
}

namespace {

const char* kind_name(uint8_t kind) {
    static constexpr std::array names{"invalid",   "forward",   "incomplete",  "glean",    "host",
                                      "broadcast", "blackhole", "unreachable", "prohibit", "kernel"};
    return kind < names.size() ? names[kind] : "invalid";
}

// The verdict that the port stage gives by an adjacency of this kind.
pp_verdict verdict_of(uint8_t kind) {
    switch (kind) {
        case PP_ADJ_FORWARD:
            return PP_FORWARDED;
        case PP_ADJ_INCOMPLETE:
        case PP_ADJ_GLEAN:
            return PP_PUNT_NO_NEIGHBOUR;
        case PP_ADJ_HOST:
            return PP_HOST_LOCAL;
        case PP_ADJ_BROADCAST:
            return PP_DROP_DIRECTED_BROADCAST;
        case PP_ADJ_BLACKHOLE:
            return PP_DROP_BLACKHOLE;
        case PP_ADJ_UNREACHABLE:
            return PP_PUNT_UNREACHABLE;
        case PP_ADJ_PROHIBIT:
            return PP_PUNT_PROHIBITED;
        case PP_ADJ_KERNEL:
            return PP_HOST_KERNEL_ROUTE;
        default:
            return PP_PUNT_NO_ROUTE;
    }
}

json name_or_null(const L3Interface* interface) {
    return interface ? json(interface->name) : json();
}

const char* state_of(const Routing& routing, const ResolvedHop& hop) {
    const L3Interface* interface = routing.interfaces().find(hop.interface);
    if (!interface || !interface->up) return "down";
    if (!hop.via) return "link";
    const Neighbour* neighbour = routing.adjacencies().neighbour({hop.interface, *hop.via});
    if (neighbour && neighbour->usable()) return "resolved";
    return neighbour && neighbour->state == NeighbourState::failed ? "failed" : "unresolved";
}

// Why a gateway has no next hops.
std::string reason_of(const Resolution& resolution) {
    const std::string over = resolution.over ? resolution.over->to_string() : "";
    switch (resolution.state) {
        case Resolution::State::no_route:
            return "no route to it";
        case Resolution::State::only_default:
            return "only the default route leads to it, and /routing/resolve_via_default is false";
        case Resolution::State::discards:
            return "its route " + over + " leads nowhere";
        case Resolution::State::kernels:
            return "only the kernel can forward by its route " + over;
        case Resolution::State::own_address:
            return "it is an address of this router, or a broadcast address";
        case Resolution::State::loop:
            return "loop: its route " + over + " is reached through it";
        case Resolution::State::too_deep:
            return "more than " + std::to_string(deepest_recursion) + " routes one over the other";
        case Resolution::State::unusable:
            return "its route " + over + " has no next hop that can be used";
        default:
            return "";
    }
}

json resolved_hop(const Routing& routing, const ResolvedHop& hop) {
    return {{"via", hop.via ? json(hop.via->to_string()) : json()},
            {"interface", name_or_null(routing.interfaces().find(hop.interface))},
            {"weight", hop.weight},
            {"state", state_of(routing, hop)}};
}

json resolved_hops(const Routing& routing, const std::vector<ResolvedHop>& hops) {
    json list = json::array();
    for (const auto& hop : hops)
        list.push_back(resolved_hop(routing, hop));
    return list;
}

// Next hops may name one that has gone.
json name_of(const Routing& routing, VrfId vrf) {
    const auto all = routing.vrfs();
    if (std::ranges::find(all, vrf) == all.end()) return nullptr;
    return vrf_label(routing, vrf);
}

// A next hop as it was asked for, with what it resolves to.
json show_next_hop(const Routing& routing, const NextHopSpec& hop) {
    const Resolution* resolution =
        hop.is_gateway_alone() ? routing.next_hop_sets().resolution_of(*hop.via, hop.vrf) : nullptr;
    ResolvedHop direct{hop.interface, hop.via, hop.weight};
    if (resolution && resolution->state == Resolution::State::resolved && !resolution->recursive())
        direct.interface = resolution->hops.front().interface;
    json entry = resolved_hop(routing, direct);
    if (hop.backup) entry["backup"] = true;
    if (hop.is_gateway_alone() && hop.vrf != default_vrf) entry["vrf"] = name_of(routing, hop.vrf);
    entry["reason"] = nullptr;
    entry["recursive"] = nullptr;
    if (!resolution) return entry;
    if (resolution->recursive()) {
        entry["state"] = "recursive";
        entry["recursive"] = json{{"over", resolution->over->to_string()},
                                  {"next_hops", resolved_hops(routing, resolution->hops)}};
    } else if (resolution->state != Resolution::State::resolved) {
        entry["state"] = "inactive";
        entry["reason"] = reason_of(*resolution);
    }
    return entry;
}

}  // namespace

json show_next_hops(const Routing& routing, const NextHopSetSpec& spec) {
    json hops = json::array();
    if (spec.kind != PP_ADJ_FORWARD) return hops;
    for (const auto& hop : spec.next_hops)
        hops.push_back(show_next_hop(routing, hop));
    return hops;
}

json count_of(const RouteCount& count) {
    return {{"packets", count.packets}, {"bytes", count.bytes}};
}

namespace {

// The name of the port that an adjacency leaves by.
json port_of(const Routing& routing, uint16_t port) {
    for (const auto& [id, interface] : routing.interfaces().all())
        if (interface.is_port() && interface.port == port) return interface.name;
    return {};
}

}  // namespace

std::map<fib::AdjacencyId, uint32_t> members_of(const fib::FibImage& image, fib::GroupId group) {
    const std::byte* base = image.memory().data();
    uint32_t first = 0;
    const uint32_t bits = pp_fib_group_bits(base, &image.geometry(), group, &first);
    std::map<fib::AdjacencyId, uint32_t> members;
    if (bits == 0)
        members[first] = 1;
    else
        for (uint64_t bucket = 0; bucket < uint64_t{1} << bits; bucket++)
            members[pp_fib_bucket(base, &image.geometry(), first, bits,
                                  static_cast<uint32_t>(bucket << (32 - bits)))]++;
    members.erase(0);
    return members;
}

std::string_view to_string(NeighbourState state) {
    switch (state) {
        case NeighbourState::incomplete:
            return "incomplete";
        case NeighbourState::reachable:
            return "reachable";
        case NeighbourState::stale:
            return "stale";
        case NeighbourState::failed:
            return "failed";
        case NeighbourState::permanent:
            return "permanent";
        default:
            return "none";
    }
}

json show_adjacency(const Routing& routing, fib::AdjacencyId id) {
    const pp_fib_adjacency& value = routing.image().adjacency(id);
    const auto key = routing.adjacencies().key_of(id);
    const L3Interface* interface = routing.interfaces().find(value.interface);
    MacAddress src, dst;
    std::copy_n(value.src_mac, 6, src.bytes.begin());
    std::copy_n(value.dst_mac, 6, dst.bytes.begin());
    json vlan = json::array();
    for (int i = 0; i < 2; i++)
        if (value.tpid[i] != 0) vlan.push_back(ntohs(value.tci[i]));
    const bool leaves = interface != nullptr && value.port != 0;
    return {{"id", id},
            {"kind", kind_name(value.kind)},
            {"interface", name_or_null(interface)},
            {"port", leaves ? port_of(routing, value.port) : json()},
            {"via", key && key->gateway ? json(key->gateway->to_string()) : json()},
            {"src_mac", leaves ? json(src.to_string()) : json()},
            {"dst_mac", value.kind == PP_ADJ_FORWARD ? json(dst.to_string()) : json()},
            {"vlan", std::move(vlan)},
            {"mtu", leaves ? json(value.mtu) : json()}};
}

json show_route(const Routing& routing, const fib::Route& route, bool best, const RouteCounters* counters,
                const ProtocolOf& protocol_of) {
    std::optional<uint8_t> protocol;
    if (route.source == fib::RouteSource::fpm && protocol_of) protocol = protocol_of(route.prefix);
    const NextHopSetSpec& spec = routing.next_hop_sets().spec_of(route.next_hops);
    return {{"prefix", route.prefix.to_string()},
            {"source", fib::to_string(route.source)},
            {"protocol", protocol ? json(config::protocol_name(*protocol)) : json()},
            {"preference", route.preference},
            {"metric", route.metric},
            {"mtu", spec.mtu != 0 ? json(spec.mtu) : json()},
            {"best", best},
            {"type", type_name(spec.kind)},
            {"counters", counters && spec.counter ? count_of(counters->read(spec.counter)) : json()},
            {"next_hops", show_next_hops(routing, spec)}};
}

json show_route_counters(const Routing& routing, const RouteCounters& counters) {
    json routes = json::array();
    for (const auto& [route, counter] : counters.all()) {
        routes.push_back(count_of(counters.read(counter)));
        routes.back()["prefix"] = route.prefix.to_string();
        routes.back()["source"] = fib::to_string(route.source);
        if (const auto vrf = routing.vrf_by_table(route.table))
            routes.back()["vrf"] = vrf_label(routing, *vrf);
    }
    return routes;
}

const std::string& vrf_label(const Routing& routing, VrfId vrf) {
    static const std::string of_default = "default";
    return vrf == default_vrf ? of_default : routing.vrf_name(vrf).name;
}

json show_vrfs(const Routing& routing) {
    json list = json::array();
    for (const VrfId vrf : routing.vrfs()) {
        json interfaces = json::array();
        for (const auto& [id, interface] : routing.interfaces().all())
            if (interface.vrf == vrf) interfaces.push_back(interface.name);
        std::sort(interfaces.begin(), interfaces.end());
        const auto routes = [&](Family family) {
            size_t count = 0;
            for (size_t i = 0; i < fib::route_source_count; i++)
                count += routing.rib(vrf).size(family, static_cast<fib::RouteSource>(i));
            return count;
        };
        list.push_back({{"name", name_of(routing, vrf)},
                        {"table", routing.vrf_name(vrf).kernel_table},
                        {"interfaces", std::move(interfaces)},
                        {"routes", {{"ipv4", routes(Family::ipv4)}, {"ipv6", routes(Family::ipv6)}}}});
    }
    return {{"vrfs", std::move(list)}};
}

json show_route_to(const Routing& routing, const IpAddress& address, const RouteCounters* counters,
                   const ProtocolOf& protocol_of, VrfId vrf) {
    json answer{{"address", address.to_string()}, {"prefix", nullptr},
                {"candidates", json::array()},    {"group", nullptr},
                {"adjacency", nullptr},           {"verdict", name_of(PP_PUNT_NO_ROUTE)}};
    const auto best = routing.match(address, vrf);
    if (!best) return answer;
    answer["prefix"] = best->prefix.to_string();
    bool first = true;
    for (const auto& candidate : routing.rib(vrf).candidates(best->prefix)) {
        answer["candidates"].push_back(show_route(routing, candidate, first, counters, protocol_of));
        first = false;
    }
    const fib::GroupId group = routing.image()
                                   .find(best->prefix, routing.table_of(vrf))
                                   .value_or(routing.next_hop_sets().group_of(best->next_hops));
    json members = json::array();
    for (const auto& [id, buckets] : members_of(routing.image(), group)) {
        members.push_back(show_adjacency(routing, id));
        const auto key = routing.adjacencies().key_of(id);
        uint32_t weight = 1;
        for (const auto& hop : routing.next_hop_sets().hops_of(best->next_hops))
            if (key && hop.interface == key->interface && hop.via == key->gateway) weight = hop.weight;
        members.back()["weight"] = weight;
    }
    if (!members.empty()) {
        answer["adjacency"] = members.front();
        answer["adjacency"].erase("weight");
        const auto id = members.front()["id"].get<fib::AdjacencyId>();
        answer["verdict"] = name_of(verdict_of(routing.image().adjacency(id).kind));
    }
    answer["group"] = json{{"id", group}, {"members", std::move(members)}};
    return answer;
}

json show_lookup(const Routing& routing, const std::vector<IpAddress>& addresses, VrfId vrf) {
    json results = json::array();
    for (const auto& address : addresses) {
        json result{{"address", address.to_string()},
                    {"prefix", nullptr},
                    {"type", nullptr},
                    {"next_hops", json::array()}};
        // The FIB's own answer, so that a difference from the RIB would be seen.
        if (const auto match = routing.image().match(address, routing.table_of(vrf))) {
            result["prefix"] = match->first.to_string();
            if (const auto best = routing.rib(vrf).best(match->first)) {
                result["type"] = type_name(routing.next_hop_sets().spec_of(best->next_hops).kind);
                result["next_hops"] =
                    resolved_hops(routing, routing.next_hop_sets().hops_of(best->next_hops));
                for (auto& hop : result["next_hops"])
                    hop.erase("state");
            }
        }
        results.push_back(std::move(result));
    }
    return {{"results", std::move(results)}};
}

}  // namespace pktpit::router
