// SPDX-License-Identifier: BSD-3-Clause
// What stands behind `table replay` and `--check`: percentiles, counts, and that a wrong image is noticed.
#include "router/cli/replay.h"

#include <gtest/gtest.h>

namespace pktpit::router::cli::test {
namespace {

Prefix net(std::string_view text) {
    return Prefix::parse(text).value();
}

TEST(Latencies, NearestRank) {
    Latencies none;
    EXPECT_EQ(none.per_mille(500), 0u);
    Latencies latencies;
    for (int i = 1000; i >= 1; i--)
        latencies.add(std::chrono::nanoseconds(i));
    EXPECT_EQ(latencies.per_mille(500), 500u);
    EXPECT_EQ(latencies.per_mille(990), 990u);
    EXPECT_EQ(latencies.per_mille(999), 999u);
    EXPECT_EQ(latencies.max(), 1000u);
    latencies.add(std::chrono::seconds(100));  // more than 32 bits hold
    EXPECT_EQ(latencies.max(), UINT32_MAX);
    Latencies one;
    one.add(std::chrono::nanoseconds(7));
    EXPECT_EQ(one.per_mille(1), 7u);
    EXPECT_EQ(one.max(), 7u);
}

const std::vector<Route> few_routes = {
    {net("10.0.0.0/8"), 0}, {net("10.1.0.0/16"), 1}, {net("2001:db8::/32"), 0}};

NaiveTable naive_of(const std::vector<Route>& routes) {
    return replay_naively(routes, {});
}
TableImage image_of(const std::vector<Route>& routes) {
    return TableImage::fitting(2, [&](TableImage& image) { return image.add(routes); }).value();
}

TEST(Check, AnImageThatIsRight) {
    const CheckResult result = compare(image_of(few_routes), naive_of(few_routes));
    EXPECT_TRUE(result.good()) << result.first;
    EXPECT_EQ(result.prefixes, 3u);
    EXPECT_EQ(result.addresses, 12u);
}

TEST(Check, EveryWayToBeWrongIsNoticed) {
    auto missing = few_routes;
    missing.pop_back();
    auto surplus = few_routes;
    surplus.push_back({net("11.0.0.0/8"), 0});
    auto other_hop = few_routes;
    other_hop[1].next_hop = 0;
    auto other_length = few_routes;
    other_length[1].prefix = net("10.1.0.0/17");
    for (const auto& routes : {missing, surplus, other_hop, other_length}) {
        const CheckResult result = compare(image_of(routes), naive_of(few_routes));
        EXPECT_FALSE(result.good());
        EXPECT_FALSE(result.first.empty());
    }
    EXPECT_NE(compare(image_of(missing), naive_of(few_routes)).first.find("prefixes, not 1"),
              std::string::npos);
    EXPECT_NE(
        compare(image_of(other_hop), naive_of(few_routes)).first.find("10.1.0.0/16 has another next hop"),
        std::string::npos);
}

TEST(NaiveTable, LongestMatchAndItsNeighbourhood) {
    NaiveTable naive = naive_of(few_routes);
    EXPECT_EQ(naive.match(IpAddress::parse("10.1.255.255").value())->prefix, net("10.1.0.0/16"));
    EXPECT_EQ(naive.match(IpAddress::parse("10.2.0.0").value())->prefix, net("10.0.0.0/8"));
    EXPECT_FALSE(naive.match(IpAddress::parse("9.255.255.255").value()));
    EXPECT_EQ(naive.match(IpAddress::parse("2001:db8::").value())->prefix, net("2001:db8::/32"));
    EXPECT_TRUE(naive.erase(net("10.1.0.0/16")));
    EXPECT_FALSE(naive.erase(net("10.1.0.0/16")));
    EXPECT_EQ(naive.match(IpAddress::parse("10.1.0.0").value())->prefix, net("10.0.0.0/8"));
    EXPECT_EQ(naive.size(Family::ipv4), 1u);
    EXPECT_EQ(naive.size(Family::ipv6), 1u);
}

// An image too small for what the updates bring is made larger, and they are applied from the start again.
TEST(Replay, GrowsTheImageAndCountsOnce) {
    std::vector<RouteUpdate> updates;
    for (uint32_t i = 0; i < 6'000; i++) {  // far from each other and long: each needs nodes of its own
        uint8_t bytes[16] = {0x20, static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i)};
        updates.push_back({Prefix::of(IpAddress::v6(bytes), 128), i % 2});
    }
    updates.push_back({net("10.0.0.0/8"), RouteUpdate::withdrawn});
    updates.push_back({net("10.0.0.0/8"), RouteUpdate::withdrawn});
    updates.push_back({net("2000::/128"), 0});
    updates.push_back({net("2000::/128"), 1});
    auto played = replay(few_routes, updates, 2);
    ASSERT_TRUE(played) << played.error().to_string();
    ReplayCounts expected;
    expected.added = 6'000;
    expected.withdrawn = 1;
    expected.absent = 1;
    expected.unchanged = 1;
    expected.replaced = 1;
    EXPECT_EQ(played->counts, expected);
    EXPECT_EQ(played->latencies.count(), played->counts.changes());
    EXPECT_EQ(played->routes.size(), 6'002u);
    EXPECT_TRUE(compare(played->image, replay_naively(few_routes, updates)).good());
    EXPECT_GT(played->image.fib().usage().node_bytes_capacity, fib::Capacity{}.node_bytes);
}

}  // namespace
}  // namespace pktpit::router::cli::test
