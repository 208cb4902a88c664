// SPDX-License-Identifier: BSD-3-Clause
// Reverse-path checks: which sources pass, by what the route to them is (RFC 3704).
#include <gtest/gtest.h>

#include <memory>

#include "tests/unit/forward/heap_image.h"
#include "tests/unit/forward/plain_rig.h"

namespace pktpit::router::test {
namespace {

constexpr Ethernet to_port1{port1, peer};
constexpr Ethernet to_port2{port2, next_hop2};

/// The test router, whose interfaces 1, 2 and 11 have checks.
class Rpf : public testing::Test {
  protected:
    Rpf() {
        fill_test_router(image_.image(), image_.base());
        published_ = guard_.get();
    }
    void check(uint8_t mode) {
        for (const unsigned interface : {1, 2, 11})
            guard_->interfaces[interface].rpf = mode;
    }
    ImageView view() {
        ImageView view = image_.view();
        view.guard = &published_;
        return view;
    }
    pp_verdict verdict(uint16_t port, const Buffer& in) {
        const Decision decision = forward_frame(view(), port, in);
        // A worker's way: what is checked is not plain.
        for (const auto variant : cpu_variants()) {
            PlainRig rig(view(), variant);
            const PlainFrame one = plain_frame(port, in);
            EXPECT_EQ(rig.difference({&one, 1}), "");
            EXPECT_TRUE(rig.plain == 0 || guard_->interfaces[port].rpf == PP_RPF_OFF);
        }
        return decision.verdict;
    }
    pp_verdict of4(std::string_view source, std::string_view destination = "10.1.0.9", uint16_t port = 1) {
        const Ipv4 fields{.source = source, .destination = destination};
        return verdict(port, frame(port == 1 ? to_port1 : to_port2, fields));
    }
    pp_verdict of6(std::string_view source, std::string_view destination = "2001:db8:1::9",
                   uint16_t port = 1) {
        const Ipv6 fields{.source = source, .destination = destination};
        return verdict(port, frame(port == 1 ? to_port1 : to_port2, fields));
    }
    void route(const char* prefix, std::initializer_list<uint16_t> interfaces) {
        std::vector<std::pair<fib::AdjacencyId, uint16_t>> members;
        for (const uint16_t interface : interfaces)
            members.emplace_back(
                image_.image()
                    .add_adjacency(adjacency_of(PP_ADJ_FORWARD, interface, port1, next_hop2, interface))
                    .value(),
                uint16_t{1});
        ASSERT_TRUE(
            image_.image().set(Prefix::parse(prefix).value(), image_.image().add_group(members).value()));
    }

    HeapImage image_;
    std::unique_ptr<pp_guard> guard_ = std::make_unique<pp_guard>();
    PublishedGuard published_{nullptr};
};

TEST_F(Rpf, OffAsksNothing) {
    EXPECT_EQ(of4("10.99.0.7"), PP_FORWARDED);
    EXPECT_EQ(of6("2001:db8:99::7"), PP_FORWARDED);
}

TEST_F(Rpf, LooseWantsARouteThatDoesNotDrop) {
    check(PP_RPF_LOOSE);
    EXPECT_EQ(of4("10.99.0.7"), PP_DROP_RPF);
    EXPECT_EQ(of6("2001:db8:99::7"), PP_DROP_RPF);
    struct Case {
        const char* ipv4;
        const char* ipv6;
        bool passes;
    };
    for (const auto& [ipv4, ipv6, passes] : {Case{"10.2.0.7", "2001:db8:2::7", true},  // by another interface
                                             Case{"10.6.0.7", "2001:db8:6::7", true},  // neighbour not known
                                             Case{"10.7.0.7", "2001:db8:7::7", true},  // glean
                                             Case{"10.14.0.7", "2001:db8:e::7", true},   // several next hops
                                             Case{"10.16.0.7", "2001:db8:10::7", true},  // the kernel's
                                             Case{"10.8.0.7", "2001:db8:8::7", false},   // blackhole
                                             Case{"10.9.0.7", "2001:db8:9::7", false},   // unreachable
                                             Case{"10.10.0.7", "2001:db8:a::7", false},  // prohibit
                                             Case{"10.15.0.7", "2001:db8:f::7", false}}) {
        EXPECT_EQ(of4(ipv4), passes ? PP_FORWARDED : PP_DROP_RPF) << ipv4;
        EXPECT_EQ(of6(ipv6), passes ? PP_FORWARDED : PP_DROP_RPF) << ipv6;
    }
}

TEST_F(Rpf, StrictWantsItToLeadBack) {
    check(PP_RPF_STRICT);
    EXPECT_EQ(of4("10.1.0.7"), PP_DROP_RPF);  // leads out of port 2
    EXPECT_EQ(of4("10.1.0.7", "192.0.2.9", 2), PP_PUNT_NO_NEIGHBOUR);
    EXPECT_EQ(of6("2001:db8:1::7", "2001:db8:2::9", 2), PP_FORWARDED);
    EXPECT_EQ(of4("192.0.2.9"), PP_FORWARDED);  // a host of the link, whose MAC address nobody knows
    EXPECT_EQ(of4("10.16.0.7"), PP_DROP_RPF);   // the kernel's, by none of these interfaces
    EXPECT_EQ(of4("10.8.0.7"), PP_DROP_RPF);
    EXPECT_EQ(of4("10.99.0.7"), PP_DROP_RPF);
    // A VLAN is an interface of its own, whatever its port is.
    Ethernet in_vlan{port1, peer, {{0x8100, 10}}};
    EXPECT_EQ(verdict(1, frame(in_vlan, Ipv4{.source = "192.0.2.9"})), PP_DROP_RPF);
    route("10.99.0.0/16", {11});
    EXPECT_EQ(verdict(1, frame(in_vlan, Ipv4{.source = "10.99.0.7"})), PP_FORWARDED);
    EXPECT_EQ(of4("10.99.0.7"), PP_DROP_RPF);
}

TEST_F(Rpf, AnyMemberOfAGroupWillDo) {
    check(PP_RPF_STRICT);
    route("10.99.0.0/16", {2, 31, 1});
    route("2001:db8:99::/48", {2, 31, 32, 1, 4});
    EXPECT_EQ(of4("10.99.0.7"), PP_FORWARDED);
    EXPECT_EQ(of6("2001:db8:99::7"), PP_FORWARDED);
    route("10.98.0.0/16", {2, 31, 32});
    EXPECT_EQ(of4("10.98.0.7"), PP_DROP_RPF);
}

TEST_F(Rpf, ADefaultRouteIsARoute) {
    check(PP_RPF_LOOSE);
    route("0.0.0.0/0", {2});
    route("::/0", {2});
    EXPECT_EQ(of4("203.0.113.7"), PP_FORWARDED);
    EXPECT_EQ(of6("2001:db9::7"), PP_FORWARDED);
    check(PP_RPF_STRICT);
    EXPECT_EQ(of4("203.0.113.7"), PP_DROP_RPF);
    EXPECT_EQ(of6("2001:db9::7"), PP_DROP_RPF);
    EXPECT_EQ(of6("2001:db9::7", "2001:db8:2::9", 2), PP_FORWARDED);
}

TEST_F(Rpf, ThisHostIsReachedByWhoHasNoAddressYet) {
    check(PP_RPF_STRICT);
    EXPECT_EQ(of4("0.0.0.0", "192.0.2.1"), PP_HOST_LOCAL);
    EXPECT_EQ(of4("0.0.0.0", "255.255.255.255"), PP_HOST_BROADCAST);
    EXPECT_EQ(of4("169.254.9.9", "192.0.2.1"), PP_HOST_LOCAL);
    EXPECT_EQ(of4("10.99.0.7", "224.0.0.5"), PP_HOST_MULTICAST);
    EXPECT_EQ(of6("fe80::7", "2001:db8:ff::1"), PP_HOST_LOCAL);
    EXPECT_EQ(of6("::", "2001:db8:ff::1"), PP_HOST_LOCAL);
    EXPECT_EQ(of6("::", "ff02::1:ff00:1"), PP_HOST_MULTICAST);
    EXPECT_EQ(of6("fe80::7", "fe80::1"), PP_HOST_LINK_LOCAL);
    // But not by whoever lies about it.
    EXPECT_EQ(of4("10.99.0.7", "192.0.2.1"), PP_DROP_RPF);
    EXPECT_EQ(of4("192.0.2.9", "192.0.2.1"), PP_HOST_LOCAL);
    EXPECT_EQ(of6("2001:db8:99::7", "2001:db8:ff::1"), PP_DROP_RPF);
    EXPECT_EQ(of4("192.0.3.1", "192.0.2.1"), PP_DROP_RPF);  // an address of this router
    // What may never be forwarded has its own reason.
    EXPECT_EQ(of4("0.0.0.0"), PP_DROP_MARTIAN_SOURCE);
    EXPECT_EQ(of6("fe80::7"), PP_PUNT_BEYOND_SCOPE);
    EXPECT_EQ(of4("192.0.2.1"), PP_DROP_OWN_SOURCE);
}

}  // namespace
}  // namespace pktpit::router::test
