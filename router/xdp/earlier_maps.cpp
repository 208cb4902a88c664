// SPDX-License-Identifier: BSD-3-Clause
#include "router/xdp/earlier_maps.h"

#include <bpf/bpf.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/abi.h"
#include "router/xdp/pinned_values.h"

namespace pktpit::router {
namespace {

static_assert(PP_ABI_VERSION != no_map_version);

std::string pin_name(std::string_view map) {
    return "v" + std::to_string(PP_ABI_VERSION) + "_" + std::string(map);
}

std::string words(const std::set<uint32_t>& versions) {
    std::string text;
    for (const uint32_t version : versions)
        text += (text.empty() ? "" : ", ") +
                (version == no_map_version ? "no version" : "version " + std::to_string(version));
    return text;
}

struct MapShape {
    uint32_t type;
    size_t key_size;
    size_t value_size;
    uint32_t max_entries;
};

// As bpf/maps.h declares them.
constexpr MapShape counters_shape{BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(uint32_t), sizeof(pp_port_counters),
                                  PP_MAX_PORTS};
constexpr MapShape route_counters_shape{BPF_MAP_TYPE_PERCPU_ARRAY, sizeof(uint32_t),
                                        sizeof(pp_route_counters), PP_ROUTE_COUNTERS};
constexpr MapShape counted_routes_shape{BPF_MAP_TYPE_HASH, sizeof(pp_counted_route), sizeof(uint32_t),
                                        PP_ROUTE_COUNTERS};

bool has_shape(const Fd& map, const MapShape& shape) {
    bpf_map_info info{};
    uint32_t length = sizeof info;
    return map && bpf_obj_get_info_by_fd(map.get(), &info, &length) == 0 && info.type == shape.type &&
           info.key_size == shape.key_size && info.value_size == shape.value_size &&
           info.max_entries == shape.max_entries;
}

uint32_t id_of(const Fd& map) {
    bpf_map_info info{};
    uint32_t length = sizeof info;
    return bpf_obj_get_info_by_fd(map.get(), &info, &length) == 0 ? info.id : 0;
}

bool is_same_map(const Fd& one, const Fd& other) {
    return id_of(one) != 0 && id_of(one) == id_of(other);
}

}  // namespace

std::optional<std::map<uint32_t, uint16_t>> ports_of_image(const Fd& image) {
    if (!image) return std::nullopt;
    const auto mapped = MappedImage::map(image.get(), false);
    if (!mapped) return std::nullopt;
    return ports_of_image(mapped->memory());
}

EarlierMaps adopt_maps(const PinDirectory& pins) {
    std::set<uint32_t> versions;
    for (const std::string& name : pins.names())
        if (const auto version = version_of_pin(name)) versions.insert(*version);
    if (versions.empty()) return {};
    if (versions != std::set<uint32_t>{PP_ABI_VERSION}) {
        spdlog::warn("{}: pinned maps of {} found, version {} expected: none is adopted, counters begin anew",
                     pins.path(), words(versions), PP_ABI_VERSION);
        return {};
    }
    EarlierMaps earlier;
    EarlierCounts& counts = earlier.counts;
    counts.counters = pins.get(pin_name(PP_MAP_COUNTERS));
    counts.route_counters = pins.get(pin_name(PP_MAP_ROUTE_COUNTERS));
    counts.counted_routes = pins.get(pin_name(PP_MAP_COUNTED_ROUTES));
    auto ports = ports_of_image(pins.get(pin_name(PP_MAP_FIB_IMAGE)));
    // A half is worth nothing: counters are kept by port ids, route counters mean nothing without the map
    // that says whose they are.
    if (!has_shape(counts.counters, counters_shape) ||
        !has_shape(counts.route_counters, route_counters_shape) ||
        !has_shape(counts.counted_routes, counted_routes_shape) || !ports) {
        spdlog::warn(
            "{}: pinned maps of version {} found, but not all of them, or of another shape or FIB "
            "layout than {}: none is adopted, counters begin anew",
            pins.path(), PP_ABI_VERSION, PP_FIB_LAYOUT_VERSION);
        return {};
    }
    earlier.ports = std::move(*ports);
    return earlier;
}

Result<void> pin_maps(const PinDirectory& pins, const PortMaps& maps) {
    std::vector<std::pair<std::string, Fd>> former;
    Result<void> done;
    for (const auto& [name, map] : {std::pair{PP_MAP_COUNTERS, &maps.counters},
                                    {PP_MAP_ROUTE_COUNTERS, &maps.route_counters},
                                    {PP_MAP_COUNTED_ROUTES, &maps.counted_routes},
                                    {PP_MAP_FIB_IMAGE, &maps.fib_image}}) {
        const std::string pin = pin_name(name);
        Fd before = pins.get(pin);
        if (before && is_same_map(before, *map)) continue;
        done = pins.put(pin, map->get());
        if (!done) break;
        former.emplace_back(pin, std::move(before));
    }
    if (!done) {
        for (const auto& [pin, map] : former)
            if (!map)
                pins.remove(pin);
            else if (const auto back = pins.put(pin, map.get()); !back)
                spdlog::error("{}", back.error().to_string());
        return done;
    }
    for (const std::string& name : pins.names())
        if (const auto version = version_of_pin(name); version && *version != PP_ABI_VERSION)
            pins.remove(name);
    return {};
}

}  // namespace pktpit::router
