// SPDX-License-Identifier: BSD-3-Clause
#include "router/fpm/fpm_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <random>

#include "mirror.h"

namespace pktpit::router {
namespace {

constexpr uint32_t main_table = 254;

Prefix prefix(const char* text) {
    return *Prefix::parse(text);
}

RouteEvent route_to(const Prefix& to, uint32_t nexthop_id, uint8_t protocol = RTPROT_BGP) {
    RouteEvent event;
    event.prefix = to;
    event.table = main_table;
    event.protocol = protocol;
    event.type = RTN_UNICAST;
    event.metric = 20;
    event.nexthop_id = nexthop_id;
    return event;
}

RouteEvent removal(const Prefix& of) {
    RouteEvent event = route_to(of, 0);
    event.removed = true;
    return event;
}

NextHopEvent next_hop(uint32_t id, uint32_t ifindex) {
    NextHopEvent event;
    event.id = id;
    event.next_hop.ifindex = ifindex;
    return event;
}

NextHopEvent group(uint32_t id, std::vector<NextHopEvent::Member> members) {
    NextHopEvent event;
    event.id = id;
    event.members = std::move(members);
    return event;
}

bool always() {
    return true;
}

struct FpmTableTest : testing::Test {
    FpmMirror mirror;
    FpmTable table{mirror, main_table};
    KernelRoute lookup(const Prefix& of) { return table.resolve(mirror.routes.at(of).first); }
    std::vector<uint32_t> devices(const Prefix& of) {
        std::vector<uint32_t> found;
        for (const auto& hop : lookup(of).next_hops)
            found.push_back(hop.ifindex);
        return found;
    }
};

const Prefix net = prefix("203.0.113.0/24");
const Prefix net6 = prefix("2001:db8::/32");

TEST_F(FpmTableTest, routes_of_one_next_hop_and_several_mtus_are_several_bodies) {
    table.next_hop(next_hop(1, 11));
    const auto with_mtu = [](const char* to, uint32_t mtu) {
        RouteEvent event = route_to(prefix(to), 1);
        event.mtu = mtu;
        return event;
    };
    table.route(with_mtu("10.1.0.0/16", 1300));
    table.route(with_mtu("10.2.0.0/16", 1300));
    table.route(with_mtu("10.3.0.0/16", 0));
    EXPECT_EQ(mirror.bodies.size(), 2U);
    EXPECT_EQ(lookup(prefix("10.1.0.0/16")).mtu, 1300U);
    EXPECT_EQ(lookup(prefix("10.3.0.0/16")).mtu, 0U);
    const size_t sets = mirror.sets;
    table.route(with_mtu("10.1.0.0/16", 1400));
    EXPECT_EQ(mirror.sets, sets + 1) << "another body";
    EXPECT_EQ(lookup(prefix("10.1.0.0/16")).mtu, 1400U);
    EXPECT_EQ(lookup(prefix("10.2.0.0/16")).mtu, 1300U);
}

TEST_F(FpmTableTest, nets_of_the_kernels_are_taken_where_the_device_is_not_the_routers) {
    const Prefix net = prefix("10.78.0.0/24");
    mirror.foreign = {9};
    for (const uint32_t device : {9U, 3U}) {
        RouteEvent event = route_to(net, 0, RTPROT_KERNEL);
        event.next_hops = {{device, {}, 1, false}};
        table.route(event);
        EXPECT_EQ(mirror.routes.contains(net), device == 9) << device;
    }
    table.next_hop(next_hop(1, 9));
    table.route(route_to(net, 1, RTPROT_KERNEL));
    EXPECT_EQ(devices(net), std::vector<uint32_t>{9});
    table.route(removal(net));
    EXPECT_FALSE(mirror.routes.contains(net));
}

TEST_F(FpmTableTest, a_changed_group_is_told_once_however_many_routes_it_has) {
    table.next_hop(next_hop(1, 11));
    table.next_hop(next_hop(2, 12));
    table.next_hop(group(3, {{1, 1}, {2, 5}}));
    for (uint32_t i = 0; i < 1000; i++)
        table.route(route_to({IpAddress::v4(0x0a000000 | i << 8), 24}, 3));
    EXPECT_EQ(mirror.bodies.size(), 1U);
    EXPECT_EQ(table.routes(Family::ipv4), 1000U);
    EXPECT_THAT(devices(prefix("10.0.7.0/24")), testing::ElementsAre(11, 12));
    EXPECT_EQ(lookup(prefix("10.0.7.0/24")).next_hops[1].weight, 5);
    const size_t sets = mirror.sets;
    table.next_hop(next_hop(2, 22));
    EXPECT_EQ(mirror.changes, 1U);
    EXPECT_THAT(devices(prefix("10.0.7.0/24")), testing::ElementsAre(11, 22));
    table.next_hop(group(3, {{1, 1}}));
    EXPECT_THAT(devices(prefix("10.0.7.0/24")), testing::ElementsAre(11));
    table.next_hop(next_hop(2, 23));
    EXPECT_EQ(mirror.changes, 2U) << "no member any more";
    EXPECT_EQ(mirror.sets, sets);
}

TEST_F(FpmTableTest, a_route_waits_for_its_next_hop) {
    table.route(route_to(net, 9));
    EXPECT_TRUE(lookup(net).next_hops.empty());
    table.next_hop(next_hop(9, 4));
    EXPECT_THAT(devices(net), testing::ElementsAre(4));
    NextHopEvent gone = next_hop(9, 0);
    gone.removed = true;
    table.next_hop(gone);
    EXPECT_TRUE(lookup(net).next_hops.empty());
}

TEST_F(FpmTableTest, a_next_hop_that_discards) {
    NextHopEvent blackhole = next_hop(9, 0);
    blackhole.blackhole = true;
    table.next_hop(blackhole);
    table.route(route_to(net, 9));
    EXPECT_EQ(lookup(net).type, RTN_BLACKHOLE);
    table.next_hop(next_hop(8, 4));
    table.next_hop(group(7, {{9, 1}, {8, 1}}));
    table.route(route_to(net, 7));
    EXPECT_EQ(lookup(net).type, RTN_UNICAST) << "packets have somewhere to go";
}

TEST_F(FpmTableTest, what_the_router_has_of_its_own_is_not_taken_over) {
    table.route(route_to(net, 1));
    table.route(route_to(net, 1, RTPROT_KERNEL));
    EXPECT_EQ(table.routes(), 0U) << "the kernel's route is zebra's best one now";
    table.route(route_to(prefix("ff00::/8"), 1));
    table.route(route_to(prefix("fe80::/64"), 1));
    RouteEvent elsewhere = route_to(net, 1);
    elsewhere.table = 100;
    table.route(elsewhere);
    EXPECT_EQ(table.routes(), 0U);
    EXPECT_EQ(table.ignored(), 4U);
    EXPECT_TRUE(mirror.bodies.empty());
}

TEST_F(FpmTableTest, what_cannot_be_done_is_the_kernels) {
    table.next_hop(next_hop(1, 11));
    table.route(route_to(net, 1));
    EXPECT_FALSE(lookup(net).unsupported);
    RouteEvent tunnel = route_to(net, 1);
    tunnel.unsupported = true;
    table.route(tunnel);
    EXPECT_EQ(table.routes(), 1U);
    EXPECT_TRUE(lookup(net).unsupported);
    EXPECT_TRUE(devices(net).empty());
    RouteEvent thrown = route_to(net6, 1);
    thrown.type = RTN_THROW;
    table.route(thrown);
    EXPECT_TRUE(lookup(net6).unsupported);
    EXPECT_EQ(mirror.bodies.size(), 1U) << "all of them lead to the same";
    table.route(route_to(net, 1));
    EXPECT_THAT(devices(net), testing::ElementsAre(11));
    table.route(removal(net6));
    EXPECT_EQ(table.routes(), 1U);
}

TEST_F(FpmTableTest, numbers_of_next_hops_are_a_connections_own) {
    table.next_hop(next_hop(1, 11));
    table.route(route_to(net, 1));
    table.route(route_to(net6, 1));
    table.begin_epoch();
    EXPECT_EQ(table.stale(), 2U);
    table.next_hop(next_hop(1, 99));  // another zebra's number 1
    EXPECT_EQ(mirror.changes, 0U);
    EXPECT_THAT(devices(net), testing::ElementsAre(11));
    table.route(route_to(net, 1));
    EXPECT_THAT(devices(net), testing::ElementsAre(99));
    EXPECT_EQ(table.stale(), 1U);
    EXPECT_EQ(table.repeated(), 1U);
    EXPECT_TRUE(table.sweep(always));
    EXPECT_EQ(table.stale(), 0U);
    EXPECT_FALSE(mirror.routes.contains(net6));
    EXPECT_TRUE(mirror.routes.contains(net));
}

TEST_F(FpmTableTest, the_same_route_said_again_costs_nothing) {
    RouteEvent event = route_to(net, 0);
    event.next_hops = {{4, IpAddress::v4(0xc0000201), 1}};
    table.route(event);
    table.begin_epoch();
    table.route(event);
    EXPECT_EQ(mirror.sets, 1U);
    EXPECT_EQ(table.stale(), 0U);
}

/// Random changes, epochs and sweeps that are interrupted, against a map of what was said.
TEST(FpmTableProperty, holds_what_was_said) {
    for (unsigned seed = 0; seed < 20; seed++) {
        std::mt19937 generator(seed);
        const auto random = [&] { return static_cast<uint32_t>(generator()); };
        FpmMirror mirror;
        FpmTable table(mirror, main_table);
        struct Said {
            uint32_t id;
            unsigned epoch;
        };
        std::map<Prefix, Said> said;
        unsigned epoch = 0;
        bool sweeping = false;
        const auto any_prefix = [&] {
            const uint32_t number = random() % 700;
            if (random() % 2) return Prefix{IpAddress::v4(0x0a000000 | number << 8), 24};
            IpAddress six = IpAddress::parse("2001:db8::").value();
            six.bytes[5] = static_cast<uint8_t>(number);
            return Prefix{six, 48};
        };
        for (int step = 0; step < 20000; step++) {
            const unsigned what = random() % 1000;
            if (what < 500) {
                const Prefix of = any_prefix();
                const uint32_t id = random() % 3 == 0 ? 0 : 1 + random() % 20;
                RouteEvent event = route_to(of, id);
                if (id == 0) event.next_hops = {{1 + random() % 5, {}, 1}};
                table.route(event);
                said[of] = {id, epoch};
            } else if (what < 800) {
                const Prefix of = any_prefix();
                table.route(removal(of));
                said.erase(of);
            } else if (what < 990) {
                NextHopEvent event = next_hop(1 + random() % 20, 1 + random() % 9);
                event.removed = random() % 4 == 0;
                if (!event.removed && random() % 3 == 0)
                    event.members = {{1 + random() % 20, 1}, {1 + random() % 20, 2}};
                table.next_hop(event);
            } else if (what < 993) {
                // Of a sweep that is broken off, some are gone.
                std::erase_if(said, [&](const auto& entry) {
                    return entry.second.epoch != epoch && !mirror.routes.contains(entry.first);
                });
                table.begin_epoch();
                epoch++;
                sweeping = false;
            } else if (what < 996) {
                sweeping = true;
            } else {
                table.begin_repeat();
                while (!table.repeat([] { return false; })) {
                }
            }
            if (sweeping && table.sweep([] { return false; })) {
                sweeping = false;
                std::erase_if(said, [&](const auto& entry) { return entry.second.epoch != epoch; });
                EXPECT_EQ(table.stale(), 0U);
            }
            if (step % 500 != 0 || sweeping) continue;
            ASSERT_EQ(table.routes(), said.size());
            ASSERT_EQ(mirror.routes.size(), said.size());
            size_t stale = 0;
            for (const auto& [of, one] : said) {
                ASSERT_TRUE(mirror.routes.contains(of));
                stale += one.epoch != epoch;
            }
            EXPECT_EQ(table.stale(), stale);
            EXPECT_EQ(mirror.bodies.size(), table.bodies().size());
        }
    }
}

class Recorder : public FpmUpdates::Receiver {
  public:
    void route(const RouteEvent& event) override {
        said.push_back((event.removed ? "-" : "+") + event.prefix.to_string());
    }
    void next_hop(const NextHopEvent& event) override { said.push_back("hop " + std::to_string(event.id)); }
    std::vector<std::string> said;
};

std::vector<std::byte> route_message(uint16_t type, const char* to) {
    const Prefix of = prefix(to);
    struct {
        nlmsghdr header;
        rtmsg route;
        rtattr attribute;
        uint8_t address[4];
    } bytes{};
    bytes.header.nlmsg_len = sizeof bytes;
    bytes.header.nlmsg_type = type;
    bytes.route.rtm_family = AF_INET;
    bytes.route.rtm_dst_len = of.length;
    bytes.route.rtm_table = main_table;
    bytes.attribute.rta_len = sizeof bytes.attribute + sizeof bytes.address;
    bytes.attribute.rta_type = RTA_DST;
    std::copy_n(of.address.bytes.begin(), 4, bytes.address);
    const auto* begin = reinterpret_cast<const std::byte*>(&bytes);
    return {begin, begin + sizeof bytes};
}

TEST(FpmUpdates, a_removal_and_an_addition_of_one_frame_are_one_replacement) {
    Recorder recorder;
    FpmUpdates updates(recorder);
    const auto frame = [&](std::initializer_list<std::vector<std::byte>> messages) {
        std::vector<std::byte> all;
        for (const auto& message : messages)
            all.insert(all.end(), message.begin(), message.end());
        return updates.handle(all);
    };
    const auto add = [](const char* to) { return route_message(RTM_NEWROUTE, to); };
    const auto remove = [](const char* of) { return route_message(RTM_DELROUTE, of); };
    ASSERT_TRUE(frame({remove("10.0.0.0/8"), add("10.0.0.0/8")}));
    ASSERT_TRUE(frame({remove("10.0.0.0/8"), add("10.1.0.0/16"), remove("10.2.0.0/16")}));
    ASSERT_TRUE(frame({add("10.2.0.0/16")}));
    EXPECT_THAT(recorder.said, testing::ElementsAre("+10.0.0.0/8", "-10.0.0.0/8", "+10.1.0.0/16",
                                                    "-10.2.0.0/16", "+10.2.0.0/16"));
    EXPECT_EQ(updates.counters().routes, 6U);
    EXPECT_EQ(updates.counters().messages, 6U);
}

}  // namespace
}  // namespace pktpit::router
