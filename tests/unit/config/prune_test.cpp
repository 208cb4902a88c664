// SPDX-License-Identifier: BSD-3-Clause
// Errors of meaning beside those of form: all of both, each at its place, and none that is there only since
// something was left out.
#include <nlohmann/json.hpp>

#include <random>

#include "support.h"

namespace pktpit::config {
namespace {

using test::errors_of;
using test::places;
using testing::UnorderedElementsAre;

TEST(Prune, MeaningIsToldBesideForm) {
    const Errors errors = errors_of(R"({
        "interfaces": {
            "eth0": {"addresses": ["192.0.2.1/24"], "mtu": "large"},
            "eth1": {"addresses": ["198.51.100.1/24"]}
        },
        "routes": [
            {"prefix": 7, "via": "192.0.2.2"},
            {"prefix": "10.1.2.3/8", "via": "192.0.2.2"},
            {"prefix": "10.0.0.0/8", "via": "192.0.2.2", "metrik": 3},
            {"prefix": "172.16.0.0/12", "next_hops": [{"via": "203.0.113.1", "interface": "eht1"}]}
        ],
        "icmp": {"rate": -1},
        "neighbours": [{"address": "192.0.2.9", "mac": "02:00:00:00:00:09", "interface": "eth7"}]})");
    EXPECT_THAT(places(errors),
                UnorderedElementsAre("/interfaces/eth0/mtu", "/routes/0/prefix", "/routes/2/metrik",
                                     "/icmp/rate", "/routes/1/prefix", "/routes/3/next_hops/0/interface",
                                     "/neighbours/0/interface"))
        << test::all_text(errors);
}

TEST(Prune, WhatIsLeftOutMakesNoErrorsElsewhere) {
    // The address that is none would have the net of the gateway.
    EXPECT_THAT(places(errors_of(R"({"interfaces": {"eth0": {"addresses": [3, "198.51.100.1/24"]}},
        "routes": [{"prefix": "10.0.0.0/8", "via": "192.0.2.2", "interface": "eth0"}]})")),
                UnorderedElementsAre("/interfaces/eth0/addresses/0"));
    // A VLAN without its parent would be a port with `vlan`.
    EXPECT_THAT(places(errors_of(R"({"interfaces": {"eth0": {}, "v": {"parent": 7, "vlan": [5]}}})")),
                UnorderedElementsAre("/interfaces/v/parent"));
    // Without the VRF's table there is no VRF.
    EXPECT_THAT(
        places(errors_of(R"({"interfaces": {"eth0": {"vrf": "red"}}, "vrfs": {"red": {"table": "x"}}})")),
        UnorderedElementsAre("/vrfs/red/table"));
    // Not an xdp port, perhaps.
    EXPECT_THAT(places(errors_of(R"({"interfaces": {"eth0": {"pci": "0000:01:00.0"}}, "dataplane": 3})")),
                UnorderedElementsAre("/dataplane"));
    EXPECT_THAT(places(errors_of(R"({"interfaces": []})")), UnorderedElementsAre("/interfaces"));
    EXPECT_THAT(places(errors_of("[]")), UnorderedElementsAre(""));
}

/// Breaking the form of one value of a right configuration yields that error and no other.
TEST(Prune, AnyOneBrokenValueIsTheOnlyError) {
    const auto right = nlohmann::json::parse(R"({
        "interfaces": {
            "eth0": {"addresses": ["192.0.2.1/24", "2001:db8::1/64"], "mtu": 1500},
            "eth1": {"addresses": ["198.51.100.1/24"], "vrf": "red"},
            "v5": {"parent": "eth0", "vlan": [5], "addresses": ["203.0.113.1/24"]}
        },
        "vrfs": {"red": {"table": 100}},
        "routes": [{"prefix": "10.0.0.0/8", "via": "192.0.2.2"},
                   {"prefix": "10.1.0.0/16", "next_hops": [{"via": "203.0.113.9"}, {"interface": "eth0"}]},
                   {"prefix": "10.2.0.0/16", "via": "198.51.100.7", "vrf": "red"},
                   {"prefix": "10.3.0.0/16", "type": "blackhole"}],
        "neighbours": [{"address": "192.0.2.9", "mac": "02:00:00:00:00:09", "interface": "eth0"},
                       {"address": "198.51.100.7", "mac": "02:00:00:00:00:0a", "interface": "eth1"}],
        "kernel_routes": {"enabled": true, "protocols": ["bird"]}, "icmp": {"rate": 5}})");
    ASSERT_TRUE(parse(right.dump(), "")) << "it is right";
    const auto flat = right.flatten();
    for (const auto& [pointer, value] : flat.items()) {
        auto broken = right;
        broken[nlohmann::json::json_pointer(pointer)] = nlohmann::json{{"no", "such"}};
        const Errors errors = errors_of(broken.dump());
        EXPECT_FALSE(errors.empty()) << pointer;
        for (const Error& error : errors)
            EXPECT_TRUE(error.where == pointer || error.where.starts_with(pointer + "/"))
                << pointer << " is broken, told was " << error.to_string();
    }
}

}  // namespace
}  // namespace pktpit::config
