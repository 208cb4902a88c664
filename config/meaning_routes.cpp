// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>

#include "base/json/nearest.h"
#include "base/json/pointer.h"
#include "config/meaning.h"
#include "config/protocols.h"
#include "config/words.h"

namespace pktpit::config {
namespace {

/// Why packets to it are never forwarded, whatever the routes say; empty: they are.
std::string never_forwarded(const Prefix& prefix) {
    if (prefix.length == 0) return "";
    const IpAddress& first = prefix.address;
    if (first.is_multicast()) return "multicast, which is not forwarded";
    if (first.is_loopback() && (first.is_v6() || prefix.length >= 8))
        return "loopback, which never leaves a host";
    if (first.is_link_local() && prefix.length >= (first.is_v4() ? 16 : 10))
        return "link-local, which is never forwarded";
    if (first.is_v4() && first.bytes[0] == 0 && prefix.length >= 8) return "\"this network\" (RFC 1122)";
    return "";
}

void check_type(const PlacedRoute& route, Errors& errors) {
    if (route.has_next_hops && route.has_shorthand)
        errors.push_back({route.where, "next hops given twice: in \"next_hops\" and beside the prefix",
                          "either \"next_hops\" or \"via\" and \"interface\"", ""});
    bool any = route.has_next_hops || route.has_shorthand;
    if (route.value.type == RouteType::unicast && !any)
        errors.push_back({route.where, "route without a next hop", "\"via\", \"interface\" or \"next_hops\"",
                          "\"type\": \"blackhole\" drops its packets"});
    if (route.value.type != RouteType::unicast && any)
        errors.push_back({route.where,
                          "route of type " + in_quotes(to_string(route.value.type)) + " with a next hop",
                          "no \"via\", \"interface\" and \"next_hops\"", "or \"type\": \"unicast\""});
    if (route.value.type != RouteType::unicast && !route.backup.empty())
        errors.push_back({at(route.where, "backup"),
                          "backup of a route of type " + in_quotes(to_string(route.value.type)),
                          "a route with next hops", ""});
    if (route.value.type != RouteType::unicast && route.value.mtu != 0)
        errors.push_back({at(route.where, "mtu"),
                          "MTU of a route of type " + in_quotes(to_string(route.value.type)),
                          "a route with next hops", ""});
    for (const PlacedNextHop& hop : route.backup) {
        const bool twice = std::ranges::any_of(route.next_hops, [&](const PlacedNextHop& other) {
            return other.value.via == hop.value.via && other.value.interface == hop.value.interface &&
                   other.value.vrf == hop.value.vrf;
        });
        if (twice && !hop.via_broken)
            errors.push_back({hop.where, "backup " + in_quotes(to_string(hop.value)) + " is a next hop, too",
                              "another way than those it stands in for", ""});
    }
}

}  // namespace

void check_routes(const Draft& draft, const ConnectedNets& nets, Errors& errors) {
    std::map<std::pair<std::string, Prefix>, std::string> seen;  // by VRF
    for (const PlacedRoute& route : draft.routes) {
        check_type(route, errors);
        std::optional<Prefix> prefix;
        if (!route.prefix_broken) {
            prefix = route.value.prefix;
            std::string where = at(route.where, "prefix");
            auto [first, is_new] = seen.try_emplace({route.value.vrf, *prefix}, where);
            if (!is_new)
                errors.push_back(
                    {where, in_quotes(prefix->to_string()) + " has a route already",
                     "one route for each prefix",
                     "see " + first->second + "; several next hops go into one route's \"next_hops\""});
            if (std::string reason = never_forwarded(*prefix);
                !reason.empty() && route.value.type == RouteType::unicast)
                errors.push_back(
                    {where, in_quotes(prefix->to_string()) + " is " + reason, "a unicast prefix", ""});
            if (route.value.mtu != 0 && route.value.mtu < least_route_mtu(*prefix))
                errors.push_back({at(route.where, "mtu"),
                                  "MTU " + std::to_string(route.value.mtu) + " of an IPv6 prefix",
                                  "at least 1280 (RFC 8200 5)", ""});
        }
        check_next_hops(route.next_hops, prefix, route.value.vrf, draft, nets, errors);
        check_next_hops(route.backup, prefix, route.value.vrf, draft, nets, errors);
    }
}

namespace {

void check_backup(const PlacedRoutesFile::Id& backup, const PlacedRoutesFile& file, const Draft& draft,
                  const ConnectedNets& nets, Errors& errors) {
    check_next_hops(backup.next_hops, std::nullopt, file.value.vrf, draft, nets, errors);
    const auto has_id = [&](const std::string& id) {
        return std::ranges::any_of(file.ids, [&](const auto& one) { return one.id == id; });
    };
    if (backup.id != "*" && !has_id(backup.id) && !has_id("*"))
        errors.push_back({backup.where,
                          "a backup for id " + in_quotes(backup.id) + ", which has no next hops",
                          "an id of " + at(file.where, "next_hops"), ""});
}

}  // namespace

void check_routes_files(const Draft& draft, const ConnectedNets& nets, Errors& errors) {
    std::map<std::string, std::string> seen;
    for (const PlacedRoutesFile& file : draft.routes_files) {
        std::string where = at(file.where, "path");
        auto [first, is_new] = seen.try_emplace(file.value.path, where);
        if (!is_new)
            errors.push_back({where, in_quotes(file.value.path) + " is there twice", "each file once",
                              "see " + first->second});
        for (const auto& id : file.backups)
            check_backup(id, file, draft, nets, errors);
        // Which prefixes an id is for, the file itself says: router/check.
        for (const auto& id : file.ids)
            check_next_hops(id.next_hops, std::nullopt, file.value.vrf, draft, nets, errors);
    }
}

void check_neighbours(const Draft& draft, const ConnectedNets& nets, Errors& errors) {
    std::map<std::pair<IpAddress, std::string>, std::string> seen;
    for (const PlacedNeighbour& one : draft.neighbours) {
        bool known = check_interface_name(one.value.interface, at(one.where, "interface"), draft, errors);
        if (one.address_broken) continue;
        const IpAddress& address = one.value.address;
        std::string where = at(one.where, "address");
        std::string text = in_quotes(address.to_string());
        auto [first, is_new] = seen.try_emplace({address, one.value.interface}, where);
        if (!is_new)
            errors.push_back({where, text + " is there twice on " + in_quotes(one.value.interface),
                              "each neighbour once", "see " + first->second});
        if (std::string reason = no_host_address(address); !reason.empty()) {
            errors.push_back({where, "neighbour ", "the address of another host", ""});
            errors.back().message.append(text).append(" is ").append(reason);
            continue;
        }
        if (!known || (address.is_v6() && address.is_link_local())) continue;
        const std::string& vrf = draft.interface(one.value.interface)->value.vrf;
        if (const auto* own = nets.with_own_address(address, vrf)) {
            errors.push_back({where, text + " is this router's own address on " + in_quotes(own->interface),
                              "the address of another host", ""});
            continue;
        }
        auto around = nets.containing(address, vrf);
        bool on_it = std::ranges::any_of(
            around, [&](const auto* net) { return net->interface == one.value.interface; });
        if (!on_it && nets.has(one.value.interface, address.family) &&
            !draft.interface(one.value.interface)->addresses_broken)
            errors.push_back({where,
                              "neighbour " + text + " is on no net of " + in_quotes(one.value.interface),
                              nets.choice(address.family, one.value.interface),
                              around.empty() ? "" : "its net is on " + in_quotes(around.front()->interface)});
    }
}

void check_kernel_routes(const Config& settings, Errors& errors) {
    std::map<uint8_t, std::string> seen;
    for (size_t i = 0; i < settings.kernel_routes.protocols.size(); i++) {
        const std::string& name = settings.kernel_routes.protocols[i];
        std::string where = at("/kernel_routes/protocols", i);
        auto number = protocol_number(name);
        if (!number) {
            std::vector<std::string> known = protocol_names();
            std::string expected;
            for (const std::string& one : known)
                expected += one + ", ";
            errors.push_back({where, in_quotes(name) + " is no routing protocol that has a name",
                              expected + "or a number from 0 to 255", did_you_mean(name, known)});
        } else if (auto [first, is_new] = seen.try_emplace(*number, where); !is_new) {
            errors.push_back(
                {where, in_quotes(name) + " is there twice", "each protocol once", "see " + first->second});
        }
    }
}

}  // namespace pktpit::config
