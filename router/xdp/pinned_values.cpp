// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/pinned_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>

#include "fib/layout.h"

namespace pktpit::router {
namespace {

constexpr std::array<std::string_view, 4> pinned_maps = {PP_MAP_COUNTERS, PP_MAP_ROUTE_COUNTERS,
                                                         PP_MAP_COUNTED_ROUTES, PP_MAP_FIB_IMAGE};

}  // namespace

std::optional<uint32_t> version_of_pin(std::string_view name) {
    if (std::ranges::find(pinned_maps, name) != pinned_maps.end()) return no_map_version;
    const char* end = name.data() + name.size();
    uint32_t version = no_map_version;
    if (!name.starts_with('v')) return std::nullopt;
    const auto [stop, error] = std::from_chars(name.data() + 1, end, version);
    if (error != std::errc{} || stop == end || *stop != '_') return std::nullopt;
    return version;
}

std::optional<std::map<uint32_t, uint16_t>> ports_of_image(std::span<const std::byte> image) {
    pp_fib_geometry geometry{};
    if (image.size() < sizeof geometry) return std::nullopt;
    std::memcpy(&geometry, image.data(), sizeof geometry);
    const uint64_t end = geometry.port_offset + uint64_t{geometry.port_count} * sizeof(pp_fib_port);
    if (geometry.magic != PP_FIB_MAGIC || geometry.layout_version != PP_FIB_LAYOUT_VERSION ||
        end > image.size())
        return std::nullopt;
    std::map<uint32_t, uint16_t> ports;
    for (uint32_t id = 1; id < geometry.port_count && id < PP_MAX_PORTS; id++) {
        pp_fib_port port{};
        std::memcpy(&port, image.data() + geometry.port_offset + id * sizeof port, sizeof port);
        if (port.ifindex != 0) ports.emplace(port.ifindex, static_cast<uint16_t>(id));
    }
    return ports;
}

pp_counted_route key_of(const CountedRoute& route) {
    pp_counted_route key{};
    key.family = static_cast<uint8_t>(route.prefix.address.family);
    key.length = route.prefix.length;
    key.source = static_cast<uint8_t>(route.source);
    key.table = route.table;
    std::copy(route.prefix.address.bytes.begin(), route.prefix.address.bytes.end(), key.address);
    return key;
}

std::optional<CountedRoute> route_of(const pp_counted_route& key) {
    if (key.source >= fib::route_source_count) return std::nullopt;
    IpAddress address;
    address.family = key.family == 4 ? Family::ipv4 : Family::ipv6;
    if (key.length > address.bits()) return std::nullopt;
    std::copy_n(key.address, address.bits() / 8, address.bytes.begin());
    CountedRoute route;
    route.prefix = Prefix::of(address, key.length);
    route.source = static_cast<fib::RouteSource>(key.source);
    route.table = key.table;
    // A key that this daemon would not write is none that it could forget again.
    const pp_counted_route written = key_of(route);
    if (std::memcmp(&written, &key, sizeof key) != 0) return std::nullopt;
    return route;
}

SumSlots slots_of(const pp_sum_group& group) {
    const uint32_t count = std::min<uint32_t>(group.slots, PP_SUM_SLOTS);
    return {std::min<uint32_t>(group.first_slot, PP_SUM_SLOTS - count), count};
}

}  // namespace pktpit::router
