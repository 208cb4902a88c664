// SPDX-License-Identifier: BSD-3-Clause
#include "bench/report/profile.h"

#include <gtest/gtest.h>

namespace pktpit::bench::report {
namespace {

double share(const Profile& profile, const std::string& part) {
    for (const ProfileStep& step : profile.steps)
        if (step.name.find(part) != std::string::npos) return step.share;
    return 0;
}

TEST(Profile, SortsStacksBySteps) {
    const Profile profile = sort_stacks(
        "    ffff81 veth_xmit\n    ffff82 __dev_direct_xmit\n    ffff83 xsk_sendmsg\n     55aa "
        "pktpit::router::SocketIo::submit\n\n"
        "     55ab pktpit::router::parse_link_layer\n     55ac pktpit::router::Forwarder::forward\n     55ad "
        "pktpit::router::Worker::run\n\n"
        "     55ae pktpit::router::Worker::run\n\n"
        "    ffff84 memcpy\n    ffff85 veth_poll\n    ffff86 net_rx_action\n    ffff83 xsk_sendmsg\n");
    EXPECT_EQ(profile.samples, 4u);
    EXPECT_DOUBLE_EQ(share(profile, "handing the frame"), 0.25);
    EXPECT_DOUBLE_EQ(share(profile, "parse, look up"), 0.25);
    EXPECT_DOUBLE_EQ(share(profile, "own loop"), 0.25);
    // What a softirq does in the middle of a doorbell is not the doorbell's.
    EXPECT_DOUBLE_EQ(share(profile, "softirqs"), 0.25);
    EXPECT_DOUBLE_EQ(share(profile, "rest of a doorbell"), 0);
}

TEST(Profile, SharesComeToOneAndTheInnermostFunctionIsNamed) {
    const Profile profile = sort_stacks(" 1 a\n 2 b\n\n 1 a\n\n 3 [unknown]\n\n");
    double sum = 0;
    for (const ProfileStep& step : profile.steps)
        sum += step.share;
    EXPECT_DOUBLE_EQ(sum, 1);
    ASSERT_EQ(profile.steps.size(), 1u);
    EXPECT_EQ(profile.steps[0].functions[0].first, "a");
}

TEST(Profile, OfNothingIsEmpty) {
    EXPECT_EQ(sort_stacks("").samples, 0u);
    EXPECT_TRUE(sort_stacks("\n\n").steps.empty());
}

}  // namespace
}  // namespace pktpit::bench::report
