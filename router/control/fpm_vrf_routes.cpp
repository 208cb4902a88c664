// SPDX-License-Identifier: BSD-3-Clause
#include "router/control/fpm_vrf_routes.h"

#include <linux/rtnetlink.h>
#include <spdlog/spdlog.h>

#include "config/config.h"

namespace pktpit::router {
namespace {

constexpr auto fpm_source = fib::RouteSource::fpm;

/// Below one times it ids of next-hop groups are the kernel's, from there on a VRF's each.
constexpr uint64_t set_ids_of_a_vrf = uint64_t{1} << 32;

}  // namespace

void FpmShortfalls::refuse(const std::string& what, const Error& error) {
    if (refused_++ % 1000 == 0)
        spdlog::error("FPM: {}: not taken over ({} so far): {}", what, refused_, error.to_string());
}

void FpmShortfalls::leave_to_kernel(const Prefix& prefix, const char* why) {
    left_to_kernel_++;
    if (!told_.insert(why).second) return;
    spdlog::warn(
        "FPM: route {} {}. Packets of such routes are handed to Linux, which needs the route and its "
        "forwarding switched on",
        prefix.to_string(), why);
}

FpmVrfRoutes::FpmVrfRoutes(Routing& routing, FpmShortfalls& shortfalls, VrfId vrf, uint32_t kernel_table)
    : routing_(routing),
      shortfalls_(shortfalls),
      vrf_(vrf),
      preference_(config::Fpm{}.preference),
      table_(*this, kernel_table) {}

FpmVrfRoutes::~FpmVrfRoutes() {
    for (const auto& [body, set] : sets_)
        routing_.release_next_hops(set);
}

// Where a body's routes lead: to the kernel, if some of it encapsulates, or all of it leaves by devices that
// are none of the router's.
NextHopSetSpec FpmVrfRoutes::spec_of(FpmBodyId body) const {
    const KernelRoute route = table_.resolve(body);
    NextHopSetSpec spec;
    spec.resilient = (uint64_t{vrf_} + 1) * set_ids_of_a_vrf + body;
    spec.mtu = route.mtu;  // whatever becomes of it: both say which set it is
    switch (route.type) {
        case RTN_BLACKHOLE:
            spec.kind = PP_ADJ_BLACKHOLE;
            return spec;
        case RTN_UNREACHABLE:
            spec.kind = PP_ADJ_UNREACHABLE;
            return spec;
        case RTN_PROHIBIT:
            spec.kind = PP_ADJ_PROHIBIT;
            return spec;
        default:
            break;
    }
    for (const auto& hop : route.next_hops) {
        if (hop.ifindex == 0 && hop.gateway)
            spec.next_hops.push_back({.via = hop.gateway, .interface = 0, .weight = hop.weight, .vrf = vrf_});
        else if (const L3Interface* interface = routing_.interfaces().by_ifindex(hop.ifindex))
            spec.next_hops.push_back({hop.gateway, interface->id, hop.weight});
    }
    if (route.unsupported || (spec.next_hops.empty() && !route.next_hops.empty())) {
        spec.kind = PP_ADJ_KERNEL;
        spec.next_hops.clear();
    }
    return spec;
}

void FpmVrfRoutes::body_made(FpmBodyId body) {
    const auto set = routing_.acquire_next_hops(spec_of(body));
    if (!set) return shortfalls_.refuse("next hops", set.error());
    sets_.emplace(body, *set);
}

// The set changes in place, for all of its routes at once. One for which there was no room before is given
// its routes when they are repeated.
void FpmVrfRoutes::body_changed(FpmBodyId body) {
    const auto known = sets_.find(body);
    if (known == sets_.end()) return;
    const auto set = routing_.acquire_next_hops(spec_of(body));
    if (!set) return shortfalls_.refuse("next hops", set.error());
    routing_.release_next_hops(*set);
}

void FpmVrfRoutes::body_gone(FpmBodyId body) {
    const auto known = sets_.find(body);
    if (known == sets_.end()) return;
    routing_.release_next_hops(known->second);
    sets_.erase(known);
}

void FpmVrfRoutes::route_set(const Prefix& prefix, FpmBodyId body, uint32_t metric) {
    const auto set = sets_.find(body);
    if (set == sets_.end()) return route_removed(prefix);
    if (auto done = routing_.set_route({prefix, fpm_source, preference_, metric, set->second}, vrf_); !done)
        shortfalls_.refuse("route " + prefix.to_string(), done.error());
}

void FpmVrfRoutes::route_removed(const Prefix& prefix) {
    (void)routing_.erase_route(prefix, fpm_source, vrf_);
}

void FpmVrfRoutes::route_is_kernels(const Prefix& prefix, const char* why) {
    shortfalls_.leave_to_kernel(prefix, why);
}

void FpmVrfRoutes::refresh() {
    for (const FpmBodyId body : table_.bodies())
        body_changed(body);
}

}  // namespace pktpit::router
