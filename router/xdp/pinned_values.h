// SPDX-License-Identifier: BSD-3-Clause
/// What the maps hold that an earlier daemon has left pinned: their bytes read without trusting them, since
/// that daemon may have been of another build, or have been killed while it wrote. Called by whoever adopts
/// maps (earlier_maps.h, route_counter_maps.h, sums.h); any thread. Never asks the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string_view>

#include "bpf/abi.h"
#include "bpf/aggregation_abi.h"
#include "router/routing/route_counters.h"

namespace pktpit::router {

/// Pins that carry no version.
inline constexpr uint32_t no_map_version = 0;

/// The version that a map's pin is of ("v2_counters"); nothing: it is none of a map. Maps that other versions
/// have besides count, too.
std::optional<uint32_t> version_of_pin(std::string_view name);

/// Ids of the ports in a FIB image, by ifindex; nothing: it is none of this layout.
std::optional<std::map<uint32_t, uint16_t>> ports_of_image(std::span<const std::byte> image);

/// Whose a route counter is, as the map has it.
pp_counted_route key_of(const CountedRoute& route);
/// Nothing: no route has this key.
std::optional<CountedRoute> route_of(const pp_counted_route& key);

/// The slots of a group: within all that there are, whatever it says.
struct SumSlots {
    uint32_t first = 0;
    uint32_t count = 0;
};
SumSlots slots_of(const pp_sum_group& group);

}  // namespace pktpit::router
