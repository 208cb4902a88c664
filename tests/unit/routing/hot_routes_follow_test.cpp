// SPDX-License-Identifier: BSD-3-Clause
// The routing core tells the table of auto ports before it changes the full one.
#include <random>

#include "tests/unit/routing/routing_fixture.h"

namespace pktpit::router {
namespace {

class HotRoutesFollow : public RoutingTest {
  protected:
    HotRoutesFollow() {
        hot.set_budget(1000);
        routing.set_hot_routes(hot);
    }
    /// What the ports' table says of an address, it says as the full one does.
    void expect_agreement() {
        std::mt19937 random(1);
        size_t known = 0;
        for (int i = 0; i < 2000; i++) {
            const IpAddress any = IpAddress::v4(0xcb007100 + static_cast<uint32_t>(random() % 1024));
            const auto here = image.lookup(any, table);
            known += here != 0;
            if (here != 0) {
                EXPECT_EQ(here, image.lookup(any)) << any.to_string();
            }
        }
        EXPECT_GT(known, 0U);
    }
    void make_hot() {
        for (uint32_t i = 0; i < 1024; i += 3)
            hot.install(IpAddress::v4(0xcb007100 + i));
    }

    fib::TableId table = image.add_table().value();
    HotRoutes hot{image, table};
};

TEST_F(HotRoutesFollow, AddedChangedWithdrawnAndUnusable) {
    ASSERT_TRUE(add("203.0.112.0/20", {{ip("192.0.2.7"), lan, 1}}));
    make_hot();
    EXPECT_EQ(hot.size(), 1U);
    expect_agreement();
    ASSERT_TRUE(add("203.0.113.64/26", {{ip("198.51.100.7"), wan, 1}}));
    EXPECT_EQ(image.lookup(ip("203.0.113.70"), table), 0U);
    expect_agreement();
    make_hot();
    expect_agreement();
    ASSERT_TRUE(add("203.0.113.64/26", {{ip("198.51.100.8"), wan, 1}}));
    expect_agreement();
    make_hot();
    ASSERT_TRUE(routing.erase_route(prefix("203.0.113.64/26"), RouteSource::config));
    expect_agreement();
    make_hot();
    EXPECT_GT(hot.counts().invalidated, 2U);
    // All routes over the port leave the choice.
    routing.set_link(lan, link(11, false));
    EXPECT_EQ(hot.size(), 0U);
    routing.set_link(lan, link(11, true));
    make_hot();
    expect_agreement();
}

TEST_F(HotRoutesFollow, ANewMacAddressConcernsNoBlock) {
    ASSERT_TRUE(add("203.0.112.0/20", {{ip("192.0.2.7"), lan, 1}}));
    make_hot();
    const size_t before = hot.size();
    routing.set_neighbour(lan, ip("192.0.2.7"), reachable(9));
    EXPECT_EQ(hot.size(), before);
    expect_agreement();
}

TEST_F(HotRoutesFollow, ABlockNeverCoversAnAddressOfTheHost) {
    ASSERT_TRUE(add("203.0.112.0/20", {{ip("192.0.2.7"), lan, 1}}));
    make_hot();
    routing.add_host_prefix(prefix("203.0.113.5/32"));
    EXPECT_EQ(image.lookup(ip("203.0.113.5"), table), 0U);
    expect_agreement();
}

}  // namespace
}  // namespace pktpit::router
