// SPDX-License-Identifier: BSD-3-Clause
// What an earlier daemon has left in pinned maps, of any bytes: the name of a pin, a FIB image, whose route
// counters are whose, groups of workers. Must hold: nothing is read beyond what is there, and what is taken
// is within the bounds that those who take it count on.
#include <cstdint>
#include <cstring>
#include <set>
#include <string_view>

#include "fib/layout.h"
#include "router/xdp/pinned_values.h"
#include "tests/fuzz/demand.h"

namespace {

using pktpit::fuzz::demand;
using namespace pktpit;
using namespace pktpit::router;

void look_at_image(std::span<const uint8_t> bytes) {
    const auto ports = ports_of_image(std::as_bytes(bytes));
    if (!ports) return;
    demand(bytes.size() >= sizeof(pp_fib_geometry), "an image has a geometry");
    std::set<uint16_t> ids;
    for (const auto& [ifindex, id] : *ports)
        demand(ifindex != 0 && id != 0 && id < PP_MAX_PORTS && ids.insert(id).second,
               "ids are ports', each once");
}

/// Most inputs have no magic number: with one, and this layout.
void look_at_image_of_this_layout(std::span<const uint8_t> bytes) {
    std::vector<uint8_t> image(bytes.begin(), bytes.end());
    pp_fib_geometry geometry{};
    if (image.size() < sizeof geometry) return;
    std::memcpy(&geometry, image.data(), sizeof geometry);
    geometry.magic = PP_FIB_MAGIC;
    geometry.layout_version = PP_FIB_LAYOUT_VERSION;
    std::memcpy(image.data(), &geometry, sizeof geometry);
    look_at_image(image);
}

void look_at_counted_route(std::span<const uint8_t> bytes) {
    pp_counted_route key{};
    if (bytes.size() < sizeof key) return;
    std::memcpy(&key, bytes.data(), sizeof key);
    const auto route = route_of(key);
    if (!route) return;
    demand(route->prefix == Prefix::of(route->prefix.address, route->prefix.length),
           "a prefix has no host bits");
    demand(static_cast<size_t>(route->source) < fib::route_source_count, "a route has a source");
    const pp_counted_route again = key_of(*route);
    demand(std::memcmp(&again, &key, sizeof key) == 0, "what is known can be forgotten");
}

void look_at_group(std::span<const uint8_t> bytes) {
    pp_sum_group group{};
    std::memcpy(&group, bytes.data(), std::min(bytes.size(), sizeof group));
    const SumSlots slots = slots_of(group);
    demand(slots.first <= PP_SUM_SLOTS && slots.count <= PP_SUM_SLOTS - slots.first, "slots are there");
    if (group.slots <= PP_SUM_SLOTS && group.first_slot <= PP_SUM_SLOTS - uint32_t{group.slots})
        demand(slots.first == group.first_slot && slots.count == group.slots,
               "slots that are there are its own");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    const std::span<const uint8_t> bytes(data, size);
    if (const auto version = version_of_pin({reinterpret_cast<const char*>(data), size}))
        demand(*version == no_map_version || (data[0] == 'v' && size > 2), "a version stands in a name");
    look_at_image(bytes);
    look_at_image_of_this_layout(bytes);
    look_at_counted_route(bytes);
    look_at_group(bytes);
    return 0;
}
