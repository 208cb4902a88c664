// SPDX-License-Identifier: BSD-3-Clause
// Split and auto ports: what the stage hands over, numbered; when it stands in for a worker that does not
// move, and decides as an inline port does; what is too long for a socket; and what becomes of packets while
// the daemon stands still. The worker is the test.
#include <linux/bpf.h>

#include "router/loop/socket_order.h"
#include "tests/differential/router_stage.h"
#include "tests/until.h"

namespace pktpit::test {
namespace {

namespace forward = router::test;
using router::SocketOrder;

// Jiffies: more than any test takes on a slow machine, and those of the test that waits for it.
constexpr uint32_t heartbeat = 60'000;
constexpr uint32_t short_heartbeat = 5;

struct Variant {
    const char* name;
    bool observed;
    bool is_auto;
    bool vrfs = false;
};

Bytes packet6(size_t payload = 26) {
    return forward::frame(forward::arriving, forward::Ipv6{.destination = "2001:db8:1::9",
                                                           .payload = forward::transport(payload)});
}

class SplitStage : public RouterStage, public testing::WithParamInterface<Variant> {
  protected:
    void prepare() override {
        // Tables are known before the programs are: 1 has the host's addresses, none here, 2 the busiest
        // routes.
        fib::Capacity capacity = forward::small_capacity();
        capacity.tables = 8;
        load(first_port,
             {.observed = GetParam().observed,
              .split_table = GetParam().is_auto ? 2 : 1,
              .cold_table = GetParam().is_auto ? std::optional(1U) : std::nullopt,
              .watch_daemon = true,
              .vrfs = GetParam().vrfs},
             capacity);
        for (const fib::TableId wanted : {1u, 2u, vrf, vrf_host}) {
            const auto made = image->add_table();
            ASSERT_TRUE(made) << made.error().to_string();
            ASSERT_EQ(*made, wanted);
        }
        stage->order().heartbeat = heartbeat;
        worker = SocketOrder::begin(shared());
    }
    static constexpr fib::TableId vrf = 3, vrf_host = 4;
    /// What is the host's in a table.
    void add_own(const char* address, fib::TableId table) {
        const auto adjacency = image->add_adjacency(forward::adjacency_of(PP_ADJ_HOST, 0, {}, {}, 0)).value();
        const std::array members{std::pair{adjacency, uint16_t{1}}};
        ASSERT_TRUE(image->set(Prefix::of(IpAddress::parse(address).value(), 32),
                               image->add_group(members).value(), table));
    }
    pp_socket_order& shared() { return stage->socket_order(1); }
    /// The number that it was handed over with; 0: it was not.
    uint32_t handed_over(const Bytes& frame) {
        const Outcome outcome = stage->run(1, frame);
        if (outcome.action != XDP_REDIRECT || outcome.verdicts_counted != 0) return 0;
        // A test run gives back metadata and frame.
        EXPECT_EQ(outcome.frame.size(), frame.size() + sizeof(pp_order_tag));
        const auto number = SocketOrder::number_of(outcome.frame.data() + sizeof(pp_order_tag));
        EXPECT_TRUE(number);
        EXPECT_EQ(Bytes(outcome.frame.begin() + sizeof(pp_order_tag), outcome.frame.end()), frame);
        EXPECT_EQ(*number, shared().sent);
        return *number;
    }
    void let_time_pass() { shared().since -= heartbeat; }
    /// However slow the machine is: what there has been of long frames lately is lately still.
    void stop_time() {
        shared().long_until += heartbeat;
        for (auto& until : stage->order().long_until)
            if (until != 0) until += heartbeat;
    }
    /// A worker that has taken nothing for too long.
    void stop_worker() {
        ASSERT_NE(handed_over(packet()), 0u);
        let_time_pass();
        expect_decided(packet());
        ASSERT_EQ(shared().standing, 1u);
    }

    SocketOrder worker;
};

TEST_P(SplitStage, HandsOverNumberedWhatHasNoRouteHere) {
    EXPECT_EQ(handed_over(packet()), 1u);
    EXPECT_EQ(handed_over(packet6()), 2u);
    EXPECT_EQ(handed_over(packet("10.99.99.99")), 3u) << "no route is the worker's to say";
    EXPECT_EQ(stage->counters(1).rx_packets, 0u) << "counted by the worker";
}

TEST_P(SplitStage, PassesToTheKernelWhatOnlyThatCanForward) {
    const Bytes kernels = packet("10.16.0.9");
    EXPECT_EQ(handed_over(kernels), 1u) << "nobody has said that there are such routes";
    image->set_kernel_routes(true);
    expect_decided(kernels, PP_HOST_KERNEL_ROUTE);
    expect_decided(forward::frame(forward::arriving, forward::Ipv6{.destination = "2001:db8:10::9"}),
                   PP_HOST_KERNEL_ROUTE);
    EXPECT_EQ(handed_over(packet()), 2u) << "all others go to the worker as ever";
    EXPECT_EQ(handed_over(packet6()), 3u);
    EXPECT_EQ(handed_over(packet("10.99.99.99")), 4u);
    image->set_kernel_routes(false);
    EXPECT_EQ(handed_over(kernels), 5u);
}

TEST_P(SplitStage, WaitsForAWorkerThatTakesFramesHoweverMany) {
    for (int i = 0; i < 20; i++) {
        const uint32_t number = handed_over(packet());
        ASSERT_NE(number, 0u);
        ASSERT_NE(handed_over(packet()), 0u);
        worker.took(number);  // one is always left
        let_time_pass();
    }
    EXPECT_EQ(shared().times, 0u);
}

TEST_P(SplitStage, WaitsForNoFrameThatIsNotThere) {
    worker.took(handed_over(packet()));
    let_time_pass();
    EXPECT_NE(handed_over(packet()), 0u);
    EXPECT_EQ(shared().standing, 0u);
    worker.expect_nothing();  // the kernel had no room for it
    let_time_pass();
    EXPECT_NE(handed_over(packet()), 0u);
    EXPECT_EQ(shared().times, 0u);
}

TEST_P(SplitStage, WithoutAHeartbeatAWorkerIsWaitedFor) {
    stage->order().heartbeat = 0;
    ASSERT_NE(handed_over(packet()), 0u);
    shared().since -= 1'000'000;
    EXPECT_NE(handed_over(packet()), 0u);
}

TEST_P(SplitStage, TimePassesByItself) {
    stage->order().heartbeat = short_heartbeat;
    ASSERT_NE(handed_over(packet()), 0u);
    EXPECT_TRUE(until([&] {
        (void)stage->run(1, packet());
        return shared().standing == 1;
    }));
}

TEST_P(SplitStage, StandingInDecidesAsAnInlinePortDoes) {
    stop_worker();
    EXPECT_EQ(shared().void_to, 1u);
    EXPECT_EQ(shared().times, 1u);
    for (const forward::Vector& vector : forward::all_vectors()) {
        if (vector.port != 1) continue;
        SCOPED_TRACE(vector.name);
        expect_vector(vector);
    }
    EXPECT_EQ(shared().sent, 1u) << "nothing is handed over meanwhile";
    EXPECT_GT(shared().packets, 1u);
}

TEST_P(SplitStage, AWorkerThatGoesOnGetsFramesAgainOnceNothingVoidIsLeft) {
    stop_worker();
    EXPECT_TRUE(worker.overtaken());
    ASSERT_TRUE(worker.look());
    EXPECT_FALSE(worker.overtaken()) << "it knows";
    EXPECT_TRUE(worker.is_void(1));
    worker.took(1);
    expect_decided(packet());
    worker.found_empty();
    EXPECT_EQ(handed_over(packet()), 2u);
    EXPECT_EQ(shared().standing, 0u);
    ASSERT_TRUE(worker.look()) << "something void may still come";
    EXPECT_FALSE(worker.is_void(2));
    EXPECT_FALSE(worker.look());
    let_time_pass();
    expect_decided(packet());  // it stands again
    EXPECT_EQ(shared().times, 2u);
}

TEST_P(SplitStage, LongFramesAreDecidedHereAndShortOnesToTheSameDestinationFollow) {
    set_mtu(9000);
    EXPECT_NE(handed_over(packet("10.1.0.9", 3000)), 0u);
    EXPECT_NE(handed_over(packet("10.1.0.9", PP_SPLIT_BYTES - 34)), 0u) << "just short enough";
    EXPECT_NE(handed_over(packet("10.2.0.9")), 0u);
    expect_decided(packet("10.1.0.9", PP_SPLIT_BYTES - 33));
    expect_decided(packet("10.1.0.9", 8000));
    stop_time();
    expect_decided(packet("10.1.0.9"));
    EXPECT_NE(handed_over(packet("10.2.0.9")), 0u) << "another destination";
    expect_decided(packet6(8000));
    stop_time();
    expect_decided(packet6());
    for (auto& until : stage->order().long_until)
        until = 0;
    EXPECT_NE(handed_over(packet("10.1.0.9")), 0u) << "long ago";
}

TEST_P(SplitStage, LongFramesHaveTheirOwnVerdict) {
    expect_decided(packet("10.1.0.9", 8000), PP_PUNT_TOO_BIG);
    expect_decided(packet("10.99.99.99", 8000), PP_PUNT_NO_ROUTE);
    // A short packet with a long trailer.
    expect_decided(packet_of_length(100, 1), PP_PUNT_TTL_EXPIRED);
}

TEST_P(SplitStage, PacketsAreTheKernelsOnceTheDaemonHasStoodLongEnough) {
    pp_order& order = stage->order();
    order.hold = heartbeat;
    order.beat = 7;
    EXPECT_NE(handed_over(packet()), 0u);
    order.beat_since -= heartbeat;
    const Bytes in = packet();
    const Outcome passed = stage->run(1, in);
    EXPECT_EQ(passed.action, XDP_PASS);
    EXPECT_EQ(passed.verdict, PP_HOST_DAEMON_LOST);
    EXPECT_EQ(passed.frame, in);
    order.beat++;
    EXPECT_NE(handed_over(packet()), 0u) << "it is back";
    EXPECT_NE(handed_over(packet()), 0u) << "to stay";
    order.beat_since -= heartbeat;
    order.hold = 0;
    EXPECT_NE(handed_over(packet()), 0u) << "the configuration wants it no more";
}

class AutoStage : public SplitStage {};

// Its route has come to be among the busiest while packets to the destination are still with the worker.
TEST_P(AutoStage, ADestinationKeepsItsOrder) {
    const auto route = Prefix::parse("10.1.0.0/16").value();
    stage->order().guarding = 1;
    EXPECT_EQ(handed_over(packet()), 1u);
    ASSERT_TRUE(image->set(route, image->find(route).value(), 2));
    EXPECT_EQ(handed_over(packet()), 2u) << "behind the first one";
    expect_decided(packet("10.1.0.10"));
    shared().done = 1;
    EXPECT_EQ(handed_over(packet()), 3u) << "the second one has not left yet";
    shared().done = 2;
    EXPECT_EQ(handed_over(packet()), 4u) << "nor has the third one";
    shared().done = 4;
    expect_decided(packet());
    shared().done = 3;
    EXPECT_EQ(handed_over(packet()), 5u);
    stage->order().guarding = 0;
    expect_decided(packet());
}

class SplitStageOfVrfs : public SplitStage {};

TEST_P(SplitStageOfVrfs, WhatIsInAVrfIsLookedUpInItsTables) {
    add_own("10.77.0.1", 1);
    add_own("10.77.0.1", PP_FIB_DEFAULT_TABLE);
    add_own("10.88.0.1", vrf_host);
    add_own("10.88.0.1", vrf);
    expect_decided(packet("10.77.0.1"), PP_HOST_LOCAL);
    EXPECT_NE(handed_over(packet("10.88.0.1")), 0u);
    image->set_interface(1, {vrf, vrf_host});
    auto port = forward::port_of(forward::port1, 1, true);
    port.table = vrf;
    image->set_port(1, port);
    expect_decided(packet("10.88.0.1"), PP_HOST_LOCAL);
    EXPECT_NE(handed_over(packet("10.77.0.1")), 0u);
    EXPECT_NE(handed_over(packet()), 0u) << "no route is the worker's to say";
    // Standing in: by all routes of the VRF.
    let_time_pass();
    expect_decided(packet(), PP_PUNT_NO_ROUTE);
    expect_decided(packet("10.77.0.1"), PP_PUNT_NO_ROUTE);
    const auto elsewhere = image->find(Prefix::parse("10.2.0.0/16").value());
    ASSERT_TRUE(image->set(Prefix::parse("10.1.0.0/16").value(), elsewhere.value(), vrf));
    expect_decided(packet());
    EXPECT_EQ(compare(*stage, 1, packet()).decision.egress_port, 3);
}

constexpr Variant split_vrfs{"split_vrfs", false, false, true}, auto_vrfs{"auto_vrfs", false, true, true};
constexpr Variant plain_auto{"auto", false, true}, auto_observed{"auto_observed", true, true};
constexpr auto name_of_variant = [](const auto& variant) { return std::string(variant.param.name); };
INSTANTIATE_TEST_SUITE_P(Variants, SplitStage,
                         testing::Values(Variant{"split", false, false},
                                         Variant{"split_observed", true, false}, plain_auto, auto_observed,
                                         split_vrfs, auto_vrfs),
                         name_of_variant);
INSTANTIATE_TEST_SUITE_P(Variants, AutoStage, testing::Values(plain_auto, auto_observed, auto_vrfs),
                         name_of_variant);
INSTANTIATE_TEST_SUITE_P(Variants, SplitStageOfVrfs, testing::Values(split_vrfs, auto_vrfs), name_of_variant);

class InlineStage : public RouterStage, public testing::WithParamInterface<bool> {
    void prepare() override { load(first_port, {.observed = GetParam(), .watch_daemon = true}); }
};

TEST_P(InlineStage, PacketsAreTheKernelsOnceTheDaemonHasStoodLongEnough) {
    stage->order().hold = heartbeat;
    stage->order().beat = 1;
    EXPECT_EQ(compare(*stage, 1, packet()).difference, "");
    stage->order().beat_since -= heartbeat;
    EXPECT_EQ(stage->run(1, packet()).verdict, PP_HOST_DAEMON_LOST);
    EXPECT_EQ(stage->run(1, packet("10.99.99.99")).action, XDP_PASS) << "it may have a route";
    stage->order().beat++;
    for (int i = 0; i < 2; i++)
        EXPECT_EQ(compare(*stage, 1, packet()).outcome.verdict, PP_FORWARDED);
}

INSTANTIATE_TEST_SUITE_P(PlainAndObserved, InlineStage, testing::Bool());

}  // namespace
}  // namespace pktpit::test
