// SPDX-License-Identifier: BSD-3-Clause
// Links, addresses, neighbours and requests, on a real kernel.
#include <fstream>

#include "router/kernel/parse.h"
#include "tests/system/network_namespace.h"

namespace pktpit::router {
namespace {

class SystemLinks : public NetworkNamespace {
  protected:
    const AddressEvent* find(const std::string& device, const char* text) {
        const auto found = recorder.addresses.find({ifindex(device), text});
        return found == recorder.addresses.end() ? nullptr : &found->second;
    }
};

TEST_F(SystemLinks, DumpSeesThem) {
    run("ip link set v0 mtu 9000 address 02:00:00:00:00:0a");
    run("ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:02 dev v0");
    run("ip neigh add 2001:db8:a::2 lladdr 02:00:00:00:00:03 nud stale dev v0");
    run("ip neigh add proxy 10.0.0.66 dev v0");
    run("ip addr add 10.9.0.1 peer 10.9.0.2/32 dev w0");
    start();
    EXPECT_EQ(state->links().size(), 5U);
    const LinkEvent* v0 = state->link("v0");
    ASSERT_NE(v0, nullptr);
    EXPECT_EQ(v0->mtu, 9000U);
    EXPECT_EQ(v0->mac.to_string(), "02:00:00:00:00:0a");
    EXPECT_EQ(v0->kind, "veth");
    EXPECT_EQ(v0->parent, ifindex("v1"));
    EXPECT_TRUE(v0->up && v0->admin_up && v0->running && v0->ethernet);
    EXPECT_FALSE(state->link("lo")->ethernet);
    const NeighbourEvent* permanent = state->neighbour(v0->ifindex, address("10.0.0.2"));
    ASSERT_NE(permanent, nullptr);
    EXPECT_EQ(permanent->state, NeighbourState::permanent);
    EXPECT_EQ(permanent->mac.to_string(), "02:00:00:00:00:02");
    const NeighbourEvent* stale = state->neighbour(v0->ifindex, address("2001:db8:a::2"));
    ASSERT_NE(stale, nullptr);
    EXPECT_EQ(stale->state, NeighbourState::stale);
    EXPECT_EQ(state->neighbour(v0->ifindex, address("10.0.0.66")), nullptr)
        << "a proxy entry is no neighbour";
    for (const auto& neighbour : state->neighbours())
        EXPECT_FALSE(neighbour.address.is_multicast());
    ASSERT_NE(find("w0", "10.9.0.1/32"), nullptr);
    EXPECT_EQ(find("w0", "10.9.0.1/32")->net(), prefix("10.9.0.2/32"));
    ASSERT_NE(find("v0", "10.0.0.1/24"), nullptr);
    EXPECT_FALSE(find("v0", "10.0.0.1/24")->peer);
    EXPECT_EQ(kernel->counters().malformed, 0U);
}

TEST_F(SystemLinks, FollowsAddresses) {
    start();
    run("ip addr add 10.0.5.1/24 broadcast 10.0.5.255 dev v0");
    ASSERT_TRUE(wait_until([&] { return find("v0", "10.0.5.1/24") != nullptr; }));
    EXPECT_EQ(find("v0", "10.0.5.1/24")->broadcast, address("10.0.5.255"));
    EXPECT_FALSE(find("v0", "10.0.5.1/24")->ours);
    run("ip addr del 10.0.5.1/24 dev v0");
    ASSERT_TRUE(wait_until([&] { return find("v0", "10.0.5.1/24") == nullptr; }));
    run("ip addr add 2001:db8:5::1/64 dev v0");  // with duplicate address detection
    ASSERT_TRUE(wait_until([&] { return find("v0", "2001:db8:5::1/64") != nullptr; }));
    ASSERT_TRUE(wait_until([&] { return !find("v0", "2001:db8:5::1/64")->tentative; }));
}

TEST_F(SystemLinks, DuplicateAddressStaysTentative) {
    run("ip addr add 2001:db8:5::1/64 dev v1 nodad");
    start();
    run("ip addr add 2001:db8:5::1/64 dev v0");
    catch_up();
    // Not a wait for what does not happen: the kernel tells that detection failed by a second event.
    recorder.take();
    ASSERT_TRUE(wait_until([&] {
        std::ifstream table("/proc/self/net/if_inet6");
        for (std::string line; std::getline(table, line);) {
            // address, ifindex, length, scope, flags (IFA_F_DADFAILED: 08), name
            if (line.find("20010db8000500000000000000000001") == 0 &&
                line.find(" c8 ") != std::string::npos) {
                return true;
            }
        }
        return false;
    }));
    catch_up();
    ASSERT_NE(find("v0", "2001:db8:5::1/64"), nullptr);
    EXPECT_TRUE(find("v0", "2001:db8:5::1/64")->tentative);
}

TEST_F(SystemLinks, FollowsLinks) {
    start();
    run("ip link set v1 down");
    ASSERT_TRUE(wait_until([&] { return !state->link("v0")->up; }));
    EXPECT_TRUE(state->link("v0")->admin_up) << "the carrier went, not the link";
    run("ip link set v0 down");
    ASSERT_TRUE(wait_until([&] { return !state->link("v0")->admin_up; }));
    const uint32_t index = ifindex("v0");
    run("ip link set v0 name renamed");
    ASSERT_TRUE(wait_until([&] { return state->link("renamed") != nullptr; }));
    EXPECT_EQ(ifindex("renamed"), index);
    EXPECT_EQ(state->link("v0"), nullptr);
    run("ip link add br0 type bridge");
    run("ip link set w1 master br0");
    run("ip link set w1 nomaster");  // a removed link, as far as the bridge is concerned
    catch_up();
    EXPECT_NE(state->link("w1"), nullptr);
    recorder.take();
    run("ip link del w0");
    ASSERT_TRUE(wait_until([&] { return state->link("w0") == nullptr; }));
    EXPECT_TRUE(std::none_of(recorder.addresses.begin(), recorder.addresses.end(),
                             [](const auto& of) { return of.first.second == "10.1.0.1/24"; }));
}

TEST_F(SystemLinks, SetsThem) {
    start();
    ASSERT_TRUE(kernel->set_link(ifindex("v0"), true, 1400));
    ASSERT_TRUE(wait_until([&] { return state->link("v0")->mtu == 1400; }));
    ASSERT_TRUE(kernel->set_link(ifindex("v0"), false, std::nullopt));
    ASSERT_TRUE(wait_until([&] { return !state->link("v0")->admin_up; }));
    EXPECT_EQ(state->link("v0")->mtu, 1400U);
    ASSERT_TRUE(kernel->set_link(ifindex("v0"), true, std::nullopt));
    ASSERT_TRUE(wait_until([&] { return state->link("v0")->up; }));
    const auto too_large = kernel->set_link(ifindex("v0"), true, 1000000);
    ASSERT_FALSE(too_large);
    EXPECT_NE(too_large.error().message.find("MTU 1000000"), std::string::npos)
        << too_large.error().to_string();
    EXPECT_NE(too_large.error().message.find("mtu greater than device maximum"), std::string::npos)
        << "the kernel's own words: " << too_large.error().to_string();
    const auto absent = kernel->set_link(4711, true, std::nullopt);
    ASSERT_FALSE(absent);
    EXPECT_EQ(absent.error().hint, "the interface is gone");
}

TEST_F(SystemLinks, AddsAndRemovesAddresses) {
    start();
    const uint32_t v0 = ifindex("v0");
    for (const char* text : {"10.0.7.1/24", "10.0.8.0/31", "2001:db8:7::1/64", "fe80::77/64"}) {
        const auto added = *InterfaceAddress::parse(text);
        ASSERT_TRUE(kernel->add_address(v0, added)) << text;
        ASSERT_TRUE(wait_until([&] { return find("v0", text) != nullptr; })) << text;
        EXPECT_TRUE(find("v0", text)->ours) << "a restart must know its own";
        EXPECT_TRUE(kernel->add_address(v0, added)) << "the same once more: " << text;
    }
    EXPECT_EQ(find("v0", "10.0.7.1/24")->broadcast, address("10.0.7.255"));
    EXPECT_FALSE(find("v0", "10.0.8.0/31")->broadcast);
    EXPECT_TRUE(find("v0", "2001:db8:7::1/64")->tentative) << "RFC 4862 5.4";
    const auto other = kernel->add_address(v0, *InterfaceAddress::parse("2001:db8:7::1/80"));
    ASSERT_FALSE(other);
    EXPECT_NE(other.error().message.find("2001:db8:7::1/64"), std::string::npos) << other.error().to_string();
    // A new subscription sees who set them.
    start();
    EXPECT_TRUE(find("v0", "10.0.7.1/24")->ours);
    EXPECT_FALSE(find("v0", "10.0.0.1/24")->ours);
    for (const char* text : {"10.0.7.1/24", "10.0.8.0/31", "2001:db8:7::1/64", "fe80::77/64"}) {
        ASSERT_TRUE(kernel->remove_address(v0, *InterfaceAddress::parse(text))) << text;
        ASSERT_TRUE(wait_until([&] { return find("v0", text) == nullptr; })) << text;
        EXPECT_TRUE(kernel->remove_address(v0, *InterfaceAddress::parse(text))) << "gone already: " << text;
    }
    EXPECT_FALSE(kernel->add_address(4711, *InterfaceAddress::parse("10.0.7.1/24")));
}

TEST_F(SystemLinks, VlanLinkOrAHint) {
    start();
    const auto added = kernel->add_vlan_link({"v0.7", ifindex("v0"), 7, 0x88a8}, "pktpit test");
    if (!added) {
        EXPECT_FALSE(added.error().hint.empty()) << added.error().to_string();
        EXPECT_NE(added.error().message.find("v0.7"), std::string::npos);
        return;
    }
    ASSERT_TRUE(wait_until([&] { return state->link("v0.7") != nullptr; }));
    EXPECT_EQ(state->link("v0.7")->vlan_id, 7);
    EXPECT_EQ(state->link("v0.7")->vlan_protocol, 0x88a8);
    EXPECT_EQ(state->link("v0.7")->parent, ifindex("v0"));
    EXPECT_EQ(*added, ifindex("v0.7"));
    ASSERT_TRUE(wait_until([&] { return state->link("v0.7")->alias == "pktpit test"; }));
    ASSERT_TRUE(kernel->remove_vlan_link(*added));
    ASSERT_TRUE(wait_until([&] { return state->link("v0.7") == nullptr; }));
    EXPECT_TRUE(kernel->remove_vlan_link(*added)) << "gone already";
}

class SystemNeighbours : public SystemLinks {
  protected:
    void SetUp() override {
        SystemLinks::SetUp();
        // The other end of v0 answers from a namespace of its own.
        peer_ = "pktpit-kernel-" + std::to_string(getpid());
        run("ip netns add " + peer_);
        run("ip link set v1 netns " + peer_);
        run("ip -n " + peer_ + " link set v1 up");
        run("ip -n " + peer_ + " addr add 10.0.0.2/24 dev v1");
        run("ip -n " + peer_ + " addr add 2001:db8:a::2/64 dev v1 nodad");
        for (const char* family : {"ipv4", "ipv6"}) {  // fail and verify soon
            const std::string path = std::string("/proc/sys/net/") + family + "/neigh/v0/";
            run("echo 50 > " + path + "retrans_time_ms");
            run("echo 0 > " + path + "delay_first_probe_time");
        }
    }
    void TearDown() override { run("ip netns del " + peer_); }

    NeighbourState state_of(const char* text) {
        const NeighbourEvent* neighbour = state->neighbour(ifindex("v0"), address(text));
        return neighbour ? neighbour->state : NeighbourState::none;
    }

    std::string peer_;
};

TEST_F(SystemNeighbours, ProbeResolves) {
    start();
    const uint32_t v0 = ifindex("v0");
    // Without a packet to take a source from, ndisc_solicit() asks from the link-local address, or not at
    // all.
    ASSERT_TRUE(wait_until([&] {
        return std::any_of(recorder.addresses.begin(), recorder.addresses.end(), [&](const auto& of) {
            return of.second.ifindex == v0 && of.second.address.address.is_link_local() &&
                   !of.second.tentative;
        });
    }));
    for (const char* text : {"10.0.0.2", "2001:db8:a::2"}) {
        ASSERT_TRUE(kernel->probe_neighbour(v0, address(text)));
        ASSERT_TRUE(wait_until([&] { return state_of(text) == NeighbourState::reachable; })) << text;
        EXPECT_FALSE(state->neighbour(v0, address(text))->mac.is_zero());
        EXPECT_TRUE(kernel->probe_neighbour(v0, address(text)));
    }
}

TEST_F(SystemNeighbours, ProbeFailsAndSaysSoEachTime) {
    start();
    const uint32_t v0 = ifindex("v0");
    for (const char* text : {"10.0.0.3", "2001:db8:a::3"}) {
        for (int attempt = 0; attempt < 2; ++attempt) {
            recorder.take();
            ASSERT_TRUE(kernel->probe_neighbour(v0, address(text)));
            ASSERT_TRUE(wait_until([&] {
                return std::count(recorder.log.begin(), recorder.log.end(),
                                  std::string("neighbour ") + text) > 0;
            })) << text
                << ", attempt " << attempt;
            EXPECT_EQ(state_of(text), NeighbourState::failed);
        }
    }
}

TEST_F(SystemNeighbours, ProbeVerifiesAStaleOne) {
    run("ip neigh add 10.0.0.2 lladdr 02:00:00:00:00:99 nud stale dev v0");
    start();
    EXPECT_EQ(state_of("10.0.0.2"), NeighbourState::stale);
    ASSERT_TRUE(kernel->probe_neighbour(ifindex("v0"), address("10.0.0.2")));
    ASSERT_TRUE(wait_until([&] { return state_of("10.0.0.2") != NeighbourState::stale; }));
}

TEST_F(SystemNeighbours, StaticOnesAreSetKeptAndRemoved) {
    start();
    const uint32_t v0 = ifindex("v0");
    const MacAddress mac = *MacAddress::parse("02:00:00:00:00:44");
    for (const char* text : {"10.0.0.44", "2001:db8:a::44"}) {
        ASSERT_TRUE(kernel->set_neighbour(v0, address(text), mac));
        ASSERT_TRUE(wait_until([&] { return state_of(text) == NeighbourState::permanent; }));
        EXPECT_EQ(state->neighbour(v0, address(text))->mac, mac);
        ASSERT_TRUE(kernel->probe_neighbour(v0, address(text)));
        catch_up();
        EXPECT_EQ(state_of(text), NeighbourState::permanent) << "NTF_USE alone would make it incomplete";
        ASSERT_TRUE(kernel->remove_neighbour(v0, address(text)));
        ASSERT_TRUE(wait_until([&] { return state->neighbour(v0, address(text)) == nullptr; }));
        EXPECT_TRUE(kernel->remove_neighbour(v0, address(text))) << "gone already";
    }
    EXPECT_FALSE(kernel->set_neighbour(4711, address("10.0.0.44"), mac));
}

}  // namespace
}  // namespace pktpit::router
