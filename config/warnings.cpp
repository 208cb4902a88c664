// SPDX-License-Identifier: BSD-3-Clause
#include "config/warnings.h"

#include <algorithm>
#include <span>

#include "base/json/pointer.h"
#include "config/words.h"

namespace pktpit::config {
namespace {

class GatewayWarnings {
  public:
    explicit GatewayWarnings(const Config& config) : config_(config) {
        for (const auto& [name, interface] : config.interfaces) {
            unknown_nets_ |= interface.addresses.empty();
            for (const auto& address : interface.addresses)
                ways_.push_back({interface.vrf, address.net()});
        }
        for (const auto& route : config.routes)
            if (route.type == RouteType::unicast &&
                (route.prefix.length > 0 || config.routing.resolve_via_default))
                ways_.push_back({route.vrf, route.prefix});
    }

    /// `own`: the prefix of the route that the gateway is of, `of`: its VRF; it leads nowhere by itself.
    void look_at(const NextHop& hop, const std::string& where, const Prefix* own, const std::string& of) {
        if (!hop.via || hop.interface) return;
        const std::string& vrf = hop.vrf ? *hop.vrf : of;
        const bool inside = own && vrf == of && own->contains(*hop.via);
        const bool reached = std::ranges::any_of(ways_, [&](const auto& entry) {
            const auto& [its_vrf, way] = entry;
            return its_vrf == vrf && way.address.family == hop.via->family && way.contains(*hop.via) &&
                   (!inside || way.length > own->length);
        });
        if (reached) return;
        const std::string gateway = "gateway " + in_quotes(hop.via->to_string());
        if (inside)
            out_.push_back(
                {where,
                 gateway + " lies within the route's own prefix " + own->to_string() +
                     ", and no route of this file is more specific",
                 "", "it stays unresolved until there is one: a route never leads to its own gateway"});
        else
            out_.push_back({where, gateway + " is on no connected net, and no route of this file leads to it",
                            "",
                            unknown_nets_ || config_.kernel_routes.enabled || config_.fpm.enabled ||
                                    !config_.routes_files.empty()
                                ? "it stays unresolved until an address or a route from elsewhere does"
                                : "it stays unresolved until one does"});
    }
    Errors take() { return std::move(out_); }

  private:
    const Config& config_;
    std::vector<std::pair<std::string, Prefix>> ways_;  ///< by VRF
    bool unknown_nets_ = false;                         ///< an interface whose addresses others set
    Errors out_;
};

// A rule all of whose packets an earlier one takes. What several take together is not found.
void look_at_filters(const Config& config, Errors& out) {
    for (const auto& [name, list] : config.filters) {
        const Filter& rules = list;
        for (size_t i = 1; i < rules.size(); i++) {
            const auto before = std::span(rules).first(i);
            const auto first =
                std::ranges::find_if(before, [&](const auto& one) { return one.covers(rules[i]); });
            if (first == before.end()) continue;
            out.push_back({at(at("/filters", name), i),
                           "the rule can never match: rule " + std::to_string(first - before.begin()) + " (" +
                               to_string(*first) + ") takes all of its packets before",
                           "", "put it before that one, or leave it out"});
        }
    }
    for (const auto& [name, rules] : config.filters)
        if (std::ranges::none_of(config.interfaces, [&wanted = name](const auto& one) {
                return one.second.filter_in == wanted || one.second.filter_out == wanted;
            }))
            out.push_back({at("/filters", name), "no interface has this filter", "",
                           R"(name it as the "filter_in" or "filter_out" of one)"});
}

}  // namespace

Errors warnings_of(const Config& config) {
    GatewayWarnings warnings(config);
    for (size_t i = 0; i < config.routes.size(); i++) {
        const StaticRoute& route = config.routes[i];
        const std::string where = at("/routes", i);
        for (size_t hop = 0; hop < route.next_hops.size(); hop++)
            warnings.look_at(route.next_hops[hop],
                             route.next_hops.size() > 1 ? at(at(where, "next_hops"), hop) : where,
                             &route.prefix, route.vrf);
    }
    for (size_t i = 0; i < config.routes_files.size(); i++)
        for (const auto& [id, hops] : config.routes_files[i].next_hops)
            for (const auto& hop : hops)
                warnings.look_at(hop, at(at(at("/routes_files", i), "next_hops"), id), nullptr,
                                 config.routes_files[i].vrf);
    Errors all = warnings.take();
    look_at_filters(config, all);
    if (config.heartbeat.on_daemon_loss == OnDaemonLoss::kernel && config.dataplane != "xdp")
        all.push_back({"/heartbeat/on_daemon_loss",
                       "ports of the " + in_quotes(config.dataplane) +
                           " dataplane have no port stage that could hand packets to the kernel",
                       "\"forward\", or the dataplane \"xdp\"", ""});
    return all;
}

}  // namespace pktpit::config
