// SPDX-License-Identifier: BSD-3-Clause
#include "router/observe/request.h"

#include <gtest/gtest.h>

namespace pktpit::router {
namespace {

using Query = std::multimap<std::string, std::string>;

TEST(ObservationRequests, Everything) {
    const auto capture = parse_observation_request(false, Query{{"point", "drop"},
                                                                {"point", "egress"},
                                                                {"filter", "ip"},
                                                                {"port", "p1"},
                                                                {"count", "5"},
                                                                {"seconds", "2"},
                                                                {"sample", "10"},
                                                                {"snaplen", "96"}});
    ASSERT_TRUE(capture);
    EXPECT_EQ(capture->points, (std::set{CapturePoint::drop, CapturePoint::egress}));
    EXPECT_TRUE(capture->filter);
    EXPECT_EQ(capture->port, "p1");
    EXPECT_EQ(capture->count, 5u);
    EXPECT_EQ(capture->duration, std::chrono::seconds(2));
    EXPECT_EQ(capture->one_in, 10u);
    EXPECT_EQ(capture->snaplen, 96u);
    const auto trace =
        parse_observation_request(true, Query{{"verdict", "ttl_expired"}, {"verdict", "drop"}});
    ASSERT_TRUE(trace);
    EXPECT_TRUE(trace->verdicts.contains(PP_PUNT_TTL_EXPIRED));
    EXPECT_TRUE(trace->verdicts.contains(PP_DROP_BLACKHOLE));
    EXPECT_FALSE(trace->verdicts.contains(PP_FORWARDED));
    EXPECT_FALSE(trace->verdicts.contains(PP_HOST_ARP));
}

TEST(ObservationRequests, DefaultsAreThoseOfDumpcap) {
    const auto capture = parse_observation_request(false, {});
    ASSERT_TRUE(capture);
    EXPECT_EQ(capture->points, (std::set{CapturePoint::ingress, CapturePoint::egress}));
    EXPECT_FALSE(capture->count);
    EXPECT_FALSE(capture->filter);
    EXPECT_EQ(capture->one_in, 1u);
}

TEST(ObservationRequests, RefusalsNameTheParameter) {
    const std::pair<bool, Query> wrong[] = {{true, {{"count", "0"}}},
                                            {true, {{"count", "x"}}},
                                            {true, {{"count", "-1"}}},
                                            {true, {{"sample", "5 "}}},
                                            {true, {{"seconds", ""}}},
                                            {true, {{"verdict", "nonsense"}}},
                                            {true, {{"verdict", "none"}}},
                                            {true, {{"point", "drop"}}},
                                            {false, {{"verdict", "drop"}}},
                                            {false, {{"point", "sideways"}}},
                                            {true, {{"snaplen", "10"}}},
                                            {false, {{"snaplen", "65001"}}},
                                            {false, {{"filter", "ip and"}}},
                                            {true, {{"nonsense", ""}}},
                                            {true, {{"port", "a"}, {"port", "b"}}}};
    for (const auto& [trace, query] : wrong) {
        const auto parsed = parse_observation_request(trace, query);
        ASSERT_FALSE(parsed) << query.begin()->first << "=" << query.begin()->second;
        EXPECT_EQ(parsed.error().where, "?" + query.begin()->first);
    }
}

}  // namespace
}  // namespace pktpit::router
