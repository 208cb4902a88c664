// SPDX-License-Identifier: BSD-3-Clause
/// A routing core with an interface `lan`, over an image and counters in memory, where nothing may be
/// refused.
#pragma once

#include <gtest/gtest.h>

#include "config/config.h"
#include "router/routing/routing.h"
#include "tests/unit/fib/test_image.h"
#include "tests/unit/routing/memory_counters.h"

namespace pktpit::router::fake {

inline config::StaticRoute route_to(const std::string& prefix, const char* gateway, uint32_t metric = 0) {
    config::StaticRoute route;
    route.prefix = pktpit::test::prefix(prefix);
    route.next_hops = {{pktpit::test::address(gateway), {}, 1}};
    route.metric = metric;
    return route;
}

struct RoutingCore {
    explicit RoutingCore(const pktpit::test::SmallCapacity& capacity)
        : memory(pktpit::test::TestImage::small(capacity)) {
        lan = add_interface("lan", 1);
    }
    /// On a device and a port of that number, with 192.0.2.1/24.
    InterfaceId add_interface(const char* name, uint8_t number, VrfId vrf = default_vrf) {
        const auto id = routing.add_interface(name, number, {}, 0x8100).value();
        if (vrf != default_vrf) routing.set_interface_vrf(id, vrf);
        set_link(id, number, true);
        routing.add_address(id, InterfaceAddress::parse("192.0.2.1/24").value(), {});
        return id;
    }
    void set_link(InterfaceId id, uint8_t number, bool up) {
        routing.set_link(id, {10U + number, up, MacAddress{{2, 0, 0, 0, 0, number}}, 1500});
    }

    pktpit::test::TestImage memory;
    fib::FibImage& image = *memory;
    MemoryCounters store;
    RouteCounters counters{store};
    Routing routing{image, [](InterfaceId, const IpAddress&) {},
                    [](const Error& error) { FAIL() << error.to_string(); }};
    InterfaceId lan = 0;
};

}  // namespace pktpit::router::fake
