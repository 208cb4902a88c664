// SPDX-License-Identifier: BSD-3-Clause
// Packets that leave by the interface that they came in by: forwarded as ever, and copied to the daemon each
// time that it asks.
#include <linux/bpf.h>

#include "tests/differential/router_stage.h"

namespace pktpit::test {
namespace {

namespace forward = router::test;

class ReturningStage : public RouterStage, public testing::WithParamInterface<bool> {
  protected:
    void prepare() override {
        load(test_ingress, {.observed = GetParam()});
        back("10.91.0.0/16", "2001:db8:91::/48", 1, {});
        back("10.92.0.0/16", "2001:db8:92::/48", 11, std::array{forward::Tag{0x8100, 10}});
        back("10.93.0.0/16", "2001:db8:93::/48", 12,
             std::array{forward::Tag{0x8100, 300}, forward::Tag{0x8100, 20}});
    }
    /// Routes that lead back to port 1.
    void back(const char* four, const char* six, uint16_t interface, std::span<const forward::Tag> tags) {
        const auto adjacency =
            image
                ->add_adjacency(forward::adjacency_of(PP_ADJ_FORWARD, 1, forward::port1, forward::next_hop2,
                                                      interface, 1500, tags))
                .value();
        const std::array members{std::pair{adjacency, uint16_t{1}}};
        const auto group = image->add_group(members).value();
        for (const char* prefix : {four, six})
            ASSERT_TRUE(image->set(Prefix::parse(prefix).value(), group));
    }
    void ask() { stage->order().copy_returning[1] = 1; }
    [[nodiscard]] bool is_asked() const { return stage->order().copy_returning[1] != 0; }
    static Bytes tagged(const char* destination, const std::vector<forward::Tag>& tags) {
        forward::Ethernet ethernet = forward::arriving;
        ethernet.tags = tags;
        return forward::frame(ethernet,
                              forward::Ipv4{.destination = destination, .payload = forward::transport(100)});
    }
    /// Is the frame forwarded, and a copy of it made?
    bool is_copied(const Bytes& frame) {
        const Outcome outcome = expect_decided(frame);
        EXPECT_EQ(outcome.action, XDP_REDIRECT);
        if (outcome.punts.empty()) return false;
        EXPECT_EQ(outcome.punts.size(), 1U);
        const Punt& punt = outcome.punts.front();
        EXPECT_EQ(punt.header.copy, 1);
        EXPECT_EQ(punt.header.port, 1);
        EXPECT_EQ(punt.header.frame_length, frame.size());
        EXPECT_EQ(punt.frame.size(), frame.size());
        EXPECT_TRUE(std::equal(frame.begin(), frame.begin() + 14, punt.frame.begin())) << "not rewritten";
        EXPECT_TRUE(std::equal(frame.end() - 20, frame.end(), punt.frame.end() - 20));
        return true;
    }
};

TEST_P(ReturningStage, one_is_copied_each_time_that_the_daemon_asks) {
    EXPECT_FALSE(is_copied(packet("10.91.0.1"))) << "it has not asked";
    for (int i = 0; i < 3; i++) {
        ask();
        EXPECT_TRUE(is_copied(packet("10.91.0.1", 26 + 200 * i)));
        EXPECT_FALSE(is_asked());
        EXPECT_FALSE(is_copied(packet("10.91.0.1")));
    }
}

TEST_P(ReturningStage, ipv6_alike) {
    ask();
    EXPECT_TRUE(
        is_copied(forward::frame(forward::arriving, forward::Ipv6{.destination = "2001:db8:91::1",
                                                                  .payload = forward::transport(100)})));
}

TEST_P(ReturningStage, what_leaves_by_another_port_is_not) {
    ask();
    EXPECT_FALSE(is_copied(packet("10.1.0.1")));
    EXPECT_TRUE(is_asked()) << "the next one may";
}

TEST_P(ReturningStage, vlans_of_a_port_are_interfaces_of_their_own) {
    const forward::Tag ten{0x8100, 10}, outer{0x8100, 300}, inner{0x8100, 20};
    ask();
    EXPECT_FALSE(is_copied(packet("10.92.0.1")));
    EXPECT_FALSE(is_copied(packet("10.93.0.1")));
    EXPECT_FALSE(is_copied(tagged("10.91.0.1", {ten})));
    EXPECT_FALSE(is_copied(tagged("10.93.0.1", {ten})));
    EXPECT_FALSE(is_copied(tagged("10.92.0.1", {outer, inner})));
    EXPECT_TRUE(is_asked());
    EXPECT_TRUE(is_copied(tagged("10.92.0.1", {ten})));
    ask();
    EXPECT_TRUE(is_copied(tagged("10.92.0.1", {{0x8100, 0xa00a}}))) << "whatever its priority is";
    ask();
    EXPECT_TRUE(is_copied(tagged("10.93.0.1", {outer, inner})));
}

TEST_P(ReturningStage, without_a_daemon_nothing_is_lost) {
    stage->close_punt_rings();
    ask();
    EXPECT_FALSE(is_copied(packet("10.91.0.1")));
    EXPECT_FALSE(is_copied(packet("10.91.0.1")));
}

INSTANTIATE_TEST_SUITE_P(programs, ReturningStage, testing::Bool(),
                         [](const auto& param) { return param.param ? "observed" : "plain"; });

}  // namespace
}  // namespace pktpit::test
