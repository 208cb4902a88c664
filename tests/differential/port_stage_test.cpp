// SPDX-License-Identifier: BSD-3-Clause
// What the eBPF port stage does with the vectors, with frames in fragments, and where it has no twin:
// counters of the egress port, a missing devmap entry, no daemon to punt to.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <iostream>

#include "tests/differential/router_stage.h"

namespace pktpit::test {
namespace {

namespace forward = router::test;

class PortStage : public RouterStage {
    void prepare() override { load(test_ingress); }
};

TEST_F(PortStage, EveryVectorGetsItsVerdictAndItsBytes) {
    for (const forward::Vector& vector : forward::all_vectors()) {
        SCOPED_TRACE(vector.name);
        expect_vector(vector);
    }
}

// Frames longer than a page arrive in fragments; the first holds the headers.
TEST_F(PortStage, FramesInFragmentsAreForwardedWholeWithTheirTags) {
    for (const uint32_t mtu : {9000u, 65535u}) {
        set_mtu(mtu);
        for (const size_t payload : {3400, 3500, 4000, 8960, 20000, 60000}) {
            if (payload > mtu) continue;
            SCOPED_TRACE(payload);
            for (const char* destination : {"10.1.0.9", "10.2.0.9", "10.3.0.9"}) {
                SCOPED_TRACE(destination);
                expect_decided(packet(destination, payload));
            }
            expect_decided(forward::frame(
                forward::tagged(forward::arriving, {{0x8100, 300}, {0x8100, 20}}),
                forward::Ipv6{.destination = "2001:db8:1::9", .payload = forward::transport(payload)}));
        }
    }
}

TEST_F(PortStage, FramesInFragmentsArePuntedWhole) {
    for (const size_t payload : {3490, 5000, 9000, 40000, 60000}) {
        SCOPED_TRACE(payload);
        expect_decided(packet("10.1.0.9", payload), PP_PUNT_TOO_BIG);
    }
}

TEST_F(PortStage, LengthsAreCheckedAgainstTheFragmentsToo) {
    expect_decided(packet_of_length(6020), PP_PUNT_TOO_BIG);
    expect_decided(packet_of_length(6021), PP_DROP_IPV4_LENGTH);
    // A short packet with a long trailer: counted with all its bytes when it goes nowhere.
    expect_decided(packet_of_length(100, 1), PP_PUNT_TTL_EXPIRED);
}

TEST_F(PortStage, TransmissionCountsAtTheEgressPortWithItsTags) {
    const Bytes in = packet("10.3.0.9");
    const pp_port_counters before = stage->counters(3);
    stage->run(1, in);
    const pp_port_counters after = stage->counters(3);
    EXPECT_EQ(after.tx_packets - before.tx_packets, 1u);
    EXPECT_EQ(after.tx_bytes - before.tx_bytes, in.size() + 8);
    EXPECT_EQ(after.rx_packets, before.rx_packets);
    EXPECT_EQ(stage->counters(1).tx_packets, 0u);
}

TEST_F(PortStage, ACountedRouteCountsWhatItForwardsAndNothingElse) {
    const std::array<forward::Tag, 2> tags{{{0x8100, 7}, {0x8100, 8}}};
    const auto adjacency = image->add_adjacency(
        forward::adjacency_of(PP_ADJ_FORWARD, 3, {2, 0, 0, 0, 0, 3}, forward::next_hop2, 3, 1500, tags));
    const std::pair<fib::AdjacencyId, uint16_t> members[] = {{adjacency.value(), 1}, {adjacency.value(), 2}};
    const uint16_t last = PP_ROUTE_COUNTERS - 1;
    const auto one = image->add_group(std::span(members).first(1), 1);
    const auto several = image->add_group(members, last);
    ASSERT_TRUE(image->set(Prefix::parse("10.77.0.0/16").value(), one.value()));
    ASSERT_TRUE(image->set(Prefix::parse("10.78.0.0/16").value(), several.value()));
    const auto to = [](const char* destination, uint8_t ttl = 64) {
        return forward::frame(forward::arriving, forward::Ipv4{.destination = destination, .ttl = ttl});
    };
    const Bytes in = to("10.77.0.1");
    for (int i = 0; i < 3; i++)
        EXPECT_EQ(stage->run(1, in).verdict, PP_FORWARDED);
    EXPECT_EQ(stage->route_counters(1).packets, 3u);
    EXPECT_EQ(stage->route_counters(1).bytes, 3 * (in.size() + 8)) << "as it leaves, tags and all";
    EXPECT_EQ(stage->run(1, to("10.78.0.1")).verdict, PP_FORWARDED) << "of several members";
    EXPECT_EQ(stage->route_counters(last).packets, 1u);
    EXPECT_EQ(stage->run(1, to("10.77.0.1", 1)).verdict, PP_PUNT_TTL_EXPIRED);
    EXPECT_EQ(stage->run(1, to("10.3.0.9")).verdict, PP_FORWARDED);
    EXPECT_EQ(stage->route_counters(1).packets, 3u) << "neither what is not forwarded, nor by another route";
    ASSERT_TRUE(image->replace_group(one.value(), members));
    EXPECT_EQ(stage->run(1, in).verdict, PP_FORWARDED);
    EXPECT_EQ(stage->route_counters(1).packets, 4u) << "other members, the same counter";
}

TEST_F(PortStage, APortThatIsUpInTheImageButNotInTheDevmapDrops) {
    image->set_port(9, forward::port_of({2, 0, 0, 0, 0, 9}, 9, true));
    const auto adjacency = image->add_adjacency(
        forward::adjacency_of(PP_ADJ_FORWARD, 9, {2, 0, 0, 0, 0, 9}, forward::next_hop2, 9));
    const std::pair<fib::AdjacencyId, uint16_t> member{adjacency.value(), 1};
    const auto group = image->add_group({&member, 1});
    ASSERT_TRUE(image->set(Prefix::parse("10.77.0.0/16").value(), group.value()));
    const Outcome outcome = stage->run(1, packet("10.77.0.1"));
    EXPECT_EQ(outcome.verdict, PP_DROP_NO_EGRESS);
    EXPECT_EQ(outcome.verdicts_counted, 1);
    EXPECT_EQ(outcome.action, XDP_DROP);
    EXPECT_EQ(stage->counters(9).tx_packets, 0u);
}

TEST_F(PortStage, WithoutADaemonPuntsAreDroppedUnderTheirName) {
    stage->close_punt_rings();
    for (const char* destination : {"10.200.0.1", "10.6.0.1"}) {
        const Bytes in = packet(destination);
        const Outcome outcome = stage->run(1, in);
        EXPECT_EQ(outcome.verdict, PP_DROP_PUNT_FULL);
        EXPECT_EQ(outcome.verdicts_counted, 1);
        EXPECT_EQ(outcome.action, XDP_DROP);
        EXPECT_EQ(outcome.frame, in);
    }
    EXPECT_EQ(stage->run(1, packet()).verdict, PP_FORWARDED);
}

// The default capacity, as the daemon loads it.
using PortStageLoads = RouterStage;

TEST_F(PortStageLoads, WithTheDefaultCapacity) {
    load(test_ingress, {}, {});
    std::cout << stage->geometry().image_bytes << " bytes of image; " << stage->program_facts(1) << "\n";
    for (const forward::Vector& vector : forward::all_vectors())
        EXPECT_EQ(compare(*stage, vector.port, vector.in).difference, "") << vector.name;
}

}  // namespace
}  // namespace pktpit::test
