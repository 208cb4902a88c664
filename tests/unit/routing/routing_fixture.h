// SPDX-License-Identifier: BSD-3-Clause
/// A routing core over an image in memory, for the tests of this folder.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "router/routing/routing.h"
#include "tests/unit/fib/test_image.h"

namespace pktpit::router {

using fib::RouteSource;

// Two ports with a net each, one of them with a VLAN; the image is looked at as a port stage does.
class RoutingTest : public testing::Test {
  protected:
    RoutingTest() {
        for (auto [name, port] : {std::pair{"lan", 1}, {"wan", 2}}) {
            const auto id = routing.add_interface(name, static_cast<PortId>(port), {}, 0x8100).value();
            routing.set_link(id, link(static_cast<uint32_t>(port) + 10));
        }
        routing.add_address(lan, address("192.0.2.1/24"), {});
        routing.add_address(lan, address("2001:db8::1/64"), {});
        routing.add_address(wan, address("198.51.100.1/24"), {});
    }

    static LinkState link(uint32_t ifindex, bool up = true) {
        return {ifindex, up, MacAddress{{2, 0, 0, 0, 0, static_cast<uint8_t>(ifindex)}}, 1500};
    }
    static InterfaceAddress address(const char* text) { return InterfaceAddress::parse(text).value(); }
    static IpAddress ip(const char* text) { return IpAddress::parse(text).value(); }
    static Prefix prefix(const char* text) { return Prefix::parse(text).value(); }
    static Neighbour reachable(uint8_t last) {
        return {MacAddress{{2, 1, 0, 0, 0, last}}, NeighbourState::reachable, false};
    }

    /// What a packet to the address would meet.
    pp_fib_adjacency at(const char* destination, uint32_t hash = 0) const {
        return *pp_fib_adjacency_at(memory.base(), &memory.geometry(),
                                    memory.member(image.lookup(ip(destination)), hash));
    }
    /// The last byte of every MAC address that flows to the destination leave with.
    std::set<int> last_mac_bytes(const char* destination) const {
        std::set<int> seen;
        for (uint32_t i = 0; i < 4096; i++)
            seen.insert(at(destination, i << 20).dst_mac[5]);
        return seen;
    }
    Result<void> set_route(const Prefix& to, const NextHopSetSpec& spec,
                           RouteSource source = RouteSource::config, uint8_t preference = 10,
                           VrfId vrf = default_vrf) {
        auto set = routing.acquire_next_hops(spec);
        if (!set) return tl::unexpected(set.error());
        auto result = routing.set_route({to, source, preference, 0, *set}, vrf);
        routing.release_next_hops(*set);
        return result;
    }
    Result<void> add(const char* text, std::vector<NextHopSpec> hops,
                     RouteSource source = RouteSource::config, uint8_t preference = 10) {
        return set_route(prefix(text), {PP_ADJ_FORWARD, std::move(hops)}, source, preference);
    }
    /// All that failures and changes have left to be done, in pieces.
    void settle_in_pieces_of(size_t piece) {
        while (!routing.settle(piece)) {
        }
    }
    /// Nothing is left of what came after `before`.
    void expect_usage(const fib::FibImage::Usage& before) const {
        const auto now = image.usage();
        EXPECT_EQ(now.groups, before.groups);
        EXPECT_EQ(now.adjacencies, before.adjacencies);
        EXPECT_EQ(now.prefixes4, before.prefixes4);
        EXPECT_EQ(now.prefixes6, before.prefixes6);
    }
    Result<void> add_special(const char* text, pp_adjacency_kind kind) {
        return set_route(prefix(text), {kind, {}});
    }

    static constexpr InterfaceId lan = 1, wan = 2;
    pktpit::test::TestImage memory{pktpit::test::TestImage::small(
        {.groups = 256, .adjacencies = 256, .tables = 16, .roots = 0, .node_bytes = 64 << 10})};
    fib::FibImage& image = *memory;
    std::vector<std::string> asked;
    std::vector<Error> refused;
    Routing routing{image,
                    [this](InterfaceId interface, const IpAddress& address) {
                        asked.push_back(std::to_string(interface) + " " + address.to_string());
                    },
                    [this](const Error& error) { refused.push_back(error); }};
};

}  // namespace pktpit::router
