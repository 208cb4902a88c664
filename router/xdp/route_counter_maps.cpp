// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/route_counter_maps.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cerrno>

#include "base/errno_text.h"
#include "bpf/abi.h"
#include "router/xdp/pinned_values.h"

namespace pktpit::router {
namespace {

std::vector<pp_route_counters> one_for_each_cpu() {
    static_assert(sizeof(pp_route_counters) % 8 == 0, "per-CPU values are laid out in units of 8 bytes");
    static const auto cpus = static_cast<size_t>(libbpf_num_possible_cpus());
    return std::vector<pp_route_counters>(cpus);
}

}  // namespace

RouteCount RouteCounterMaps::read(uint16_t counter) const {
    auto values = one_for_each_cpu();
    const uint32_t key = counter;
    const pp_route_counters split = worker_.route(counter);
    RouteCount sum{split.packets, split.bytes};
    if (bpf_map_lookup_elem(route_counters_, &key, values.data()) != 0) return sum;
    for (const auto& value : values) {
        sum.packets += value.packets;
        sum.bytes += value.bytes;
    }
    return sum;
}

void RouteCounterMaps::clear(uint16_t counter) {
    worker_.clear_route(counter);
    const auto zero = one_for_each_cpu();
    const uint32_t key = counter;
    bpf_map_update_elem(route_counters_, &key, zero.data(), BPF_ANY);
}

std::vector<std::pair<CountedRoute, uint16_t>> RouteCounterMaps::known() const {
    std::vector<std::pair<CountedRoute, uint16_t>> routes;
    pp_counted_route key{};
    const pp_counted_route* before = nullptr;
    while (bpf_map_get_next_key(counted_routes_, before, &key) == 0) {
        uint32_t counter = 0;
        if (bpf_map_lookup_elem(counted_routes_, &key, &counter) == 0 && counter > 0 &&
            counter < PP_ROUTE_COUNTERS)
            if (const auto route = route_of(key)) routes.emplace_back(*route, static_cast<uint16_t>(counter));
        before = &key;
    }
    return routes;
}

Result<void> RouteCounterMaps::remember(const CountedRoute& route, uint16_t counter) {
    const pp_counted_route key = key_of(route);
    const uint32_t value = counter;
    if (bpf_map_update_elem(counted_routes_, &key, &value, BPF_ANY) != 0)
        return fail(route.prefix.to_string(), "cannot note its counter: " + errno_text(errno),
                    "memory for a BPF map entry");
    return {};
}

void RouteCounterMaps::forget(const CountedRoute& route) {
    const pp_counted_route key = key_of(route);
    bpf_map_delete_elem(counted_routes_, &key);
}

}  // namespace pktpit::router
