// SPDX-License-Identifier: BSD-3-Clause
#include "config/route_json.h"

#include <nlohmann/json.hpp>

#include <array>
#include <limits>
#include <string_view>
#include <utility>

namespace pktpit::config {
namespace {

using nlohmann::json;

constexpr std::pair<std::string_view, RouteType> route_types[] = {
    {"unicast", RouteType::unicast},
    {"blackhole", RouteType::blackhole},
    {"unreachable", RouteType::unreachable},
    {"prohibit", RouteType::prohibit},
};
constexpr size_t max_next_hops = 256;

/// Echoes what was found, but not all of a hostile megabyte of it.
std::string shown(const json& value) {
    std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
    constexpr size_t longest = 60;
    if (text.size() <= longest) return text;
    size_t end = longest;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
        end--;  // whole characters only
    return text.substr(0, end) + "…";
}

class RouteParser {
  public:
    tl::expected<StaticRoute, Errors> parse(const json& value) {
        StaticRoute route;
        if (!value.is_object()) {
            complain("", shown(value),
                     "an object such as {\"prefix\": \"10.0.0.0/8\", \"via\": \"192.0.2.1\"}");
            return tl::unexpected(errors_);
        }
        static constexpr std::array<std::string_view, 12> known = {
            "prefix",     "type",   "via",      "interface", "weight", "next_hops",
            "preference", "metric", "counters", "backup",    "mtu",    "vrf"};
        check_members(value, "", known);
        if (!value.contains("prefix")) {
            complain("", "no member \"prefix\"", "a prefix such as \"192.0.2.0/24\"");
        } else {
            take(value, "/prefix", "a prefix such as \"192.0.2.0/24\", with no bit set behind its length",
                 route.prefix);
        }
        if (value.contains("type")) route.type = parse_type(value["type"]);
        route.preference = static_cast<uint8_t>(number(value, "", "preference", 1, 255, route.preference));
        route.metric = static_cast<uint32_t>(
            number(value, "", "metric", 0, std::numeric_limits<uint32_t>::max(), route.metric));
        if (value.contains("counters")) {
            if (value["counters"].is_boolean())
                route.counters = value["counters"].get<bool>();
            else
                complain("/counters", shown(value["counters"]), "true or false");
        }
        if (value.contains("vrf")) route.vrf = vrf_name(value["vrf"], "/vrf").value_or("");
        parse_mtu(value, route);
        parse_next_hops(value, route);
        parse_backup(value, route);
        if (errors_.empty()) check_family(route);
        if (!errors_.empty()) return tl::unexpected(std::move(errors_));
        return route;
    }

  private:
    void complain(std::string where, std::string message, std::string expected, std::string hint = {}) {
        errors_.push_back({std::move(where), std::move(message), std::move(expected), std::move(hint)});
    }

    void check_members(const json& object, const std::string& where,
                       std::span<const std::string_view> known) {
        for (const auto& [name, value] : object.items()) {
            if (std::find(known.begin(), known.end(), name) != known.end()) continue;
            std::string names;
            for (const auto member : known)
                names += (names.empty() ? "" : ", ") + std::string(member);
            complain(where, "unknown member " + shown(name), "one of " + names);
        }
    }

    /// The member at `where` (below `object`), parsed by T::parse() into `into`.
    template <class T, class Into>
    void take_as(const json& object, const std::string& where, const char* expected, Into& into) {
        const json& value = object[where.substr(where.rfind('/') + 1)];
        if (!value.is_string()) return complain(where, shown(value), expected);
        const auto parsed = T::parse(value.get_ref<const std::string&>());
        if (!parsed) {
            return complain(where, shown(value) + ": " + parsed.error().message, expected,
                            parsed.error().hint);
        }
        into = *parsed;
    }
    void take(const json& object, const std::string& where, const char* expected, Prefix& into) {
        take_as<Prefix>(object, where, expected, into);
    }
    void take(const json& object, const std::string& where, const char* expected,
              std::optional<IpAddress>& into) {
        take_as<IpAddress>(object, where, expected, into);
    }

    /// Empty: the default one. What is no name of a VRF is none of the configuration's either, and told so
    /// there.
    std::optional<std::string> vrf_name(const json& value, const std::string& where) {
        constexpr size_t longest = 15;  // as the schema has it
        if (!value.is_string() || value.get_ref<const std::string&>().empty() ||
            value.get_ref<const std::string&>().size() > longest) {
            complain(where, shown(value), "the name of a VRF, 1 to 15 bytes, or \"default\"",
                     "pktpit show vrfs");
            return std::nullopt;
        }
        auto name = value.get<std::string>();
        return name == "default" ? "" : name;
    }

    uint64_t number(const json& object, const std::string& where, const char* name, uint64_t lowest,
                    uint64_t highest, uint64_t otherwise) {
        if (!object.contains(name)) return otherwise;
        const json& value = object[name];
        if (value.is_number_unsigned()) {
            const auto found = value.get<uint64_t>();
            if (found >= lowest && found <= highest) return found;
        }
        complain(where + "/" + name, shown(value),
                 "a whole number from " + std::to_string(lowest) + " to " + std::to_string(highest));
        return otherwise;
    }

    RouteType parse_type(const json& value) {
        for (const auto& [name, type] : route_types) {
            if (value == name) return type;
        }
        complain("/type", shown(value), "unicast, blackhole, unreachable or prohibit");
        return RouteType::unicast;
    }

    /// `of_list`: what is said is the next hop's alone, and not the route's.
    NextHop parse_next_hop(const json& object, const std::string& where, bool of_list) {
        NextHop hop;
        if (object.contains("via")) take(object, where + "/via", "an IPv4 or IPv6 address", hop.via);
        if (object.contains("interface")) {
            const json& name = object["interface"];
            // IFNAMSIZ, less the terminator.
            if (!name.is_string() || name.get_ref<const std::string&>().empty() ||
                name.get_ref<const std::string&>().size() > 15) {
                complain(where + "/interface", shown(name), "the name of an interface, 1 to 15 bytes");
            } else {
                hop.interface = name.get<std::string>();
            }
        }
        if (of_list && object.contains("vrf")) {
            if (hop.interface)
                complain(where + "/vrf", "next hop with both \"interface\" and \"vrf\"", "one of the two",
                         "an interface is in one VRF anyway");
            else
                hop.vrf = vrf_name(object["vrf"], where + "/vrf");
        }
        hop.weight = static_cast<uint16_t>(number(object, where, "weight", 1, 65535, hop.weight));
        if (!object.contains("via") && !object.contains("interface")) {
            complain(where, "next hop without \"via\" and \"interface\"", "one of them, or both");
        }
        return hop;
    }

    void parse_mtu(const json& value, StaticRoute& route) {
        if (!value.contains("mtu")) return;
        if (route.type != RouteType::unicast)
            return complain("/mtu", "an MTU in a route of type " + shown(value["type"]), "none");
        route.mtu = static_cast<uint32_t>(
            number(value, "", "mtu", least_route_mtu(route.prefix), largest_route_mtu, 0));
    }

    void parse_next_hops(const json& value, StaticRoute& route) {
        const bool own = value.contains("via") || value.contains("interface") || value.contains("weight");
        const bool list = value.contains("next_hops");
        if (route.type != RouteType::unicast) {
            if (own || list) complain("", "a next hop in a route of type " + shown(value["type"]), "none");
            return;
        }
        if (own && list) {
            return complain("", "next hops in \"next_hops\" and in the route itself", "one of the two");
        }
        if (!own && !list) {
            return complain("", "no next hop",
                            "\"via\", \"interface\" or \"next_hops\", or another \"type\"");
        }
        if (own) {
            route.next_hops.push_back(parse_next_hop(value, "", false));
            return;
        }
        parse_list(value["next_hops"], "/next_hops", route.next_hops);
    }

    void parse_list(const json& hops, const std::string& list, std::vector<NextHop>& into) {
        if (!hops.is_array() || hops.empty() || hops.size() > max_next_hops) {
            return complain(list, hops.is_array() ? std::to_string(hops.size()) + " next hops" : shown(hops),
                            "an array of 1 to " + std::to_string(max_next_hops) + " next hops");
        }
        static constexpr std::array<std::string_view, 4> known = {"via", "interface", "weight", "vrf"};
        for (size_t i = 0; i < hops.size(); i++) {
            const std::string where = list + "/" + std::to_string(i);
            if (!hops[i].is_object()) {
                complain(where, shown(hops[i]), "an object with \"via\", \"interface\" or both");
                continue;
            }
            check_members(hops[i], where, known);
            into.push_back(parse_next_hop(hops[i], where, true));
        }
    }

    // As in a file: an array, one next hop, or the address of one.
    void parse_backup(const json& value, StaticRoute& route) {
        if (!value.contains("backup")) return;
        if (route.type != RouteType::unicast)
            return complain("/backup", "a backup in a route of type " + shown(value["type"]), "none");
        const json& backup = value["backup"];
        if (backup.is_string())
            parse_list(json::array({{{"via", backup}}}), "/backup", route.backup);
        else if (backup.is_object())
            parse_list(json::array({backup}), "/backup", route.backup);
        else
            parse_list(backup, "/backup", route.backup);
        for (size_t i = 0; i < route.backup.size(); i++)
            for (const NextHop& hop : route.next_hops)
                if (hop.via == route.backup[i].via && hop.interface == route.backup[i].interface)
                    complain("/backup/" + std::to_string(i), "a backup that is a next hop, too",
                             "another way than those it stands in for");
    }

    void check_family(const StaticRoute& route) {
        auto hops = route.next_hops;
        hops.insert(hops.end(), route.backup.begin(), route.backup.end());
        for (const auto& hop : hops) {
            if (!hop.via || hop.via->is_v6() || route.prefix.address.is_v4()) continue;
            complain("/prefix", "gateway " + hop.via->to_string() + " for prefix " + route.prefix.to_string(),
                     "an IPv6 gateway", "IPv4 prefixes may have gateways of both families (RFC 8950)");
        }
    }

    Errors errors_;
};

}  // namespace

tl::expected<StaticRoute, Errors> parse_route(const json& value) {
    return RouteParser().parse(value);
}

}  // namespace pktpit::config
