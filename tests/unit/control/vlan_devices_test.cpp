// SPDX-License-Identifier: BSD-3-Clause
// The kernel's devices of VLAN interfaces: made, shared, made again, and never mistaken.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/control/control_rig.h"
#include "tests/unit/control/snapshot.h"

namespace pktpit::router {
namespace {

constexpr uint16_t customer_tag = 0x8100;
constexpr uint16_t service_tag = 0x88a8;

class VlanDevicesOfInterfaces : public testing::Test, protected fake::ControlRig<> {
  protected:
    VlanDevicesOfInterfaces() : ControlRig("vlan_devices", {"eth0", "eth1"}) {
        for (const char* name : {"eth0", "eth1"}) {
            config.interfaces[name].name = name;
            config.interfaces[name].xdp_mode = config::XdpMode::automatic;
        }
    }
    void vlan(const std::string& name, std::vector<uint16_t> tags, uint16_t protocol = customer_tag) {
        config::Interface& one = config.interfaces[name];
        one.name = name;
        one.parent = "eth0";
        one.vlan = std::move(tags);
        one.vlan_protocol = protocol;
        one.addresses = {
            InterfaceAddress::parse("10." + std::to_string(one.vlan.back()) + ".0.1/24").value()};
    }
    tl::expected<config::Errors, Refusal> start() {
        if (auto read = control->read_kernel(); !read) return tl::unexpected(Refusal{{read.error()}, {}});
        return reload(true);
    }
    tl::expected<config::Errors, Refusal> reload(bool first = false) {
        auto done = control->apply(config, first);
        follow();
        return done;
    }
    void follow() {
        for (int turn = 0; turn < 3; turn++) {
            ASSERT_TRUE(control->follow_kernel());
            loop.settle();
        }
    }
    [[nodiscard]] uint32_t index(const std::string& name) {
        const auto* device = host.device(name);
        return device ? device->link.ifindex : 0;
    }
    /// "name on parent": of each VLAN device.
    [[nodiscard]] std::vector<std::string> vlans() {
        std::vector<std::string> all;
        for (const auto& [ifindex, device] : host.devices)
            if (device.link.kind == "vlan")
                all.push_back(device.link.name + " on " + host.devices.at(device.link.parent).link.name);
        std::ranges::sort(all);
        return all;
    }
    [[nodiscard]] std::vector<std::string> drift() {
        std::vector<std::string> all;
        for (const auto& item : control->find_drift())
            all.push_back(item.to_string() + (item.mended_by_reload ? "" : " (not by a reload)"));
        return all;
    }
    [[nodiscard]] bool is_usable(const std::string& name) {
        const auto* device = host.device(name);
        return device && device->link.up &&
               device->addresses.contains(config.interfaces.at(name).addresses.front()) &&
               control->routing().interfaces().by_name(name)->ifindex == device->link.ifindex;
    }

    config::Config config;
};

using Lines = std::vector<std::string>;

TEST_F(VlanDevicesOfInterfaces, two_tags_take_two_devices) {
    vlan("customer", {1000, 20}, service_tag);
    ASSERT_TRUE(start());
    EXPECT_EQ(vlans(), (Lines{"customer on ppa1000.eth0", "ppa1000.eth0 on eth0"}));
    EXPECT_TRUE(is_usable("customer"));
    const LinkEvent& inner = host.device("customer")->link;
    const LinkEvent& outer = host.device("ppa1000.eth0")->link;
    EXPECT_EQ(inner.vlan_id, 20);
    EXPECT_EQ(inner.vlan_protocol, customer_tag);
    EXPECT_EQ(outer.vlan_id, 1000);
    EXPECT_EQ(outer.vlan_protocol, service_tag);
    EXPECT_TRUE(outer.up);
    EXPECT_EQ(outer.alias, "pktpit default");
    EXPECT_EQ(host.sysctls.at("ipv6/conf/ppa1000.eth0/disable_ipv6"), "1");
    EXPECT_EQ(drift(), Lines{});
}

TEST_F(VlanDevicesOfInterfaces, an_outer_device_is_shared_and_goes_with_its_last_interface) {
    ASSERT_TRUE(start());
    vlan("a", {1000, 20});
    vlan("b", {1000, 21});
    ASSERT_TRUE(reload());
    EXPECT_EQ(vlans(), (Lines{"a on ppq1000.eth0", "b on ppq1000.eth0", "ppq1000.eth0 on eth0"}));
    config.interfaces.erase("a");
    ASSERT_TRUE(reload());
    EXPECT_EQ(vlans(), (Lines{"b on ppq1000.eth0", "ppq1000.eth0 on eth0"}));
    EXPECT_TRUE(is_usable("b"));
    config.interfaces.erase("b");
    ASSERT_TRUE(reload());
    EXPECT_EQ(vlans(), Lines{});
}

TEST_F(VlanDevicesOfInterfaces, a_configured_outer_vlan_carries_the_inner_one) {
    vlan("inner", {100, 7});
    vlan("z", {100});
    ASSERT_TRUE(start());
    EXPECT_EQ(vlans(), (Lines{"inner on z", "z on eth0"}));
    EXPECT_TRUE(is_usable("inner"));
    EXPECT_TRUE(is_usable("z"));
    // As long as it carries one it stays, without its addresses.
    config.interfaces.erase("z");
    ASSERT_TRUE(reload());
    EXPECT_EQ(vlans(), (Lines{"inner on z", "z on eth0"}));
    EXPECT_TRUE(host.device("z")->addresses.empty());
    config.interfaces.erase("inner");
    ASSERT_TRUE(reload());
    EXPECT_EQ(vlans(), Lines{});
}

TEST_F(VlanDevicesOfInterfaces, an_outer_vlan_that_is_configured_later_takes_the_place_of_the_router_s_own) {
    vlan("inner", {100, 7});
    ASSERT_TRUE(start());
    vlan("z", {100});
    ASSERT_TRUE(reload());
    EXPECT_EQ(vlans(), (Lines{"inner on z", "z on eth0"}));
    EXPECT_TRUE(is_usable("inner"));
    EXPECT_TRUE(is_usable("z"));
    EXPECT_EQ(drift(), Lines{});
}

TEST_F(VlanDevicesOfInterfaces, devices_that_were_there_are_used_and_stay) {
    const uint32_t outer = host.add_vlan_device({"s", index("eth0"), 1000, service_tag});
    host.add_vlan_device({"customer", outer, 20, customer_tag});
    host.add_vlan_device({"office", index("eth0"), 100, customer_tag});
    vlan("customer", {1000, 20}, service_tag);
    vlan("office", {100});
    ASSERT_TRUE(start());
    const Lines found{"customer on s", "office on eth0", "s on eth0"};
    EXPECT_EQ(vlans(), found);
    EXPECT_TRUE(is_usable("customer"));
    EXPECT_TRUE(host.device("s")->link.up) << "without it the inner one does not come up";
    config.interfaces.erase("customer");
    config.interfaces.erase("office");
    ASSERT_TRUE(reload());
    EXPECT_EQ(vlans(), found);
}

TEST_F(VlanDevicesOfInterfaces, what_has_the_name_and_is_something_else_is_refused) {
    const struct {
        VlanPlace device;
        const char* words;
    } others[] = {{{"office", index("eth0"), 200, customer_tag}, "VLAN 200 on eth0 (802.1Q)"},
                  {{"office", index("eth0"), 100, service_tag}, "VLAN 100 on eth0 (802.1ad)"},
                  {{"office", index("eth1"), 100, customer_tag}, "VLAN 100 on eth1 (802.1Q)"}};
    vlan("office", {100});
    for (const auto& [device, words] : others) {
        host.add_vlan_device(device);
        const auto before = fake::snapshot_of(host);
        const auto refused = start();
        ASSERT_FALSE(refused) << words;
        const std::string said = refused.error().errors.front().to_string();
        EXPECT_NE(said.find(words), std::string::npos) << said;
        EXPECT_NE(said.find("VLAN 100 on eth0 (802.1Q)"), std::string::npos) << said;
        EXPECT_NE(said.find("ip link del office"), std::string::npos) << said;
        EXPECT_EQ(fake::difference(before, fake::snapshot_of(host)), "");
        host.remove_device("office");
    }
    LinkEvent dummy;
    dummy.name = "office";
    dummy.kind = "dummy";
    host.add_device(dummy);
    ASSERT_FALSE(start());
}

TEST_F(VlanDevicesOfInterfaces, one_in_its_place_by_another_name_is_warned_of) {
    host.add_vlan_device({"eth0.100", index("eth0"), 100, customer_tag});
    vlan("office", {100});
    const auto done = start();
    ASSERT_TRUE(done);
    ASSERT_EQ(done->size(), 1U);
    EXPECT_NE(done->front().to_string().find("is the device \"eth0.100\" already"), std::string::npos)
        << done->front().to_string();
    EXPECT_EQ(vlans(), Lines{"eth0.100 on eth0"});
}

TEST_F(VlanDevicesOfInterfaces, a_kernel_without_them_says_so_once_and_is_no_drift) {
    host.vlan_devices = false;
    vlan("office", {100});
    vlan("customer", {1000, 20}, service_tag);
    const auto done = start();
    ASSERT_TRUE(done);
    EXPECT_EQ(done->size(), 2U);
    EXPECT_EQ(drift(), Lines{});
    const auto again = reload();
    ASSERT_TRUE(again);
    EXPECT_TRUE(again->empty());
    // The module has come.
    host.vlan_devices = true;
    ASSERT_TRUE(reload());
    EXPECT_TRUE(is_usable("office"));
    EXPECT_TRUE(is_usable("customer"));
}

TEST_F(VlanDevicesOfInterfaces, they_come_again_with_their_ports_device) {
    vlan("office", {100});
    vlan("customer", {1000, 20}, service_tag);
    ASSERT_TRUE(start());
    host.remove_device("eth0");
    follow();
    EXPECT_EQ(vlans(), Lines{});
    EXPECT_EQ(drift(), Lines{"eth0: device there: absent (not by a reload)"});
    host.add_device("eth0");
    follow();
    EXPECT_EQ(vlans(), (Lines{"customer on ppa1000.eth0", "office on eth0", "ppa1000.eth0 on eth0"}));
    EXPECT_TRUE(is_usable("office"));
    EXPECT_TRUE(is_usable("customer"));
    EXPECT_EQ(drift(), Lines{});
}

TEST_F(VlanDevicesOfInterfaces, one_that_somebody_has_removed_is_drift_until_a_reload) {
    vlan("office", {100});
    vlan("customer", {1000, 20}, service_tag);
    ASSERT_TRUE(start());
    host.remove_device("office");
    host.remove_device("ppa1000.eth0");
    follow();
    EXPECT_EQ(drift(), (Lines{"customer: device VLAN 1000.20 on eth0 (802.1ad): absent",
                              "office: device VLAN 100 on eth0 (802.1Q): absent"}));
    ASSERT_TRUE(reload());
    EXPECT_TRUE(is_usable("office"));
    EXPECT_TRUE(is_usable("customer"));
    EXPECT_EQ(drift(), Lines{});
}

TEST_F(VlanDevicesOfInterfaces, another_one_in_its_place_is_drift_that_a_reload_refuses) {
    vlan("office", {100});
    ASSERT_TRUE(start());
    host.remove_device("office");
    host.add_vlan_device({"office", index("eth0"), 200, customer_tag});
    follow();
    EXPECT_EQ(drift(),
              Lines{"office: device VLAN 100 on eth0 (802.1Q): VLAN 200 on eth0 (802.1Q) (not by a reload)"});
    EXPECT_TRUE(host.device("office")->addresses.empty());
    EXPECT_FALSE(reload());
    host.remove_device("office");
    follow();
    ASSERT_TRUE(reload());
    EXPECT_TRUE(is_usable("office"));
}

TEST_F(VlanDevicesOfInterfaces, another_vlan_id_is_another_device) {
    vlan("a", {100});
    vlan("b", {200});
    vlan("c", {300, 7});
    ASSERT_TRUE(start());
    vlan("a", {200});
    vlan("b", {100});
    vlan("c", {300, 8});
    ASSERT_TRUE(reload());
    EXPECT_EQ(host.device("a")->link.vlan_id, 200);
    EXPECT_EQ(host.device("b")->link.vlan_id, 100);
    EXPECT_EQ(host.device("c")->link.vlan_id, 8);
    for (const char* name : {"a", "b", "c"})
        EXPECT_TRUE(is_usable(name)) << name;
    EXPECT_EQ(drift(), Lines{});
}

// As kill -9 leaves them.
TEST_F(VlanDevicesOfInterfaces, the_next_daemon_takes_over_what_an_earlier_one_has_made) {
    host.add_vlan_device({"office", index("eth0"), 100, customer_tag}, "pktpit default");
    const uint32_t outer =
        host.add_vlan_device({"ppa1000.eth0", index("eth0"), 1000, service_tag}, "pktpit default");
    host.add_vlan_device({"customer", outer, 20, customer_tag}, "pktpit default");
    host.add_vlan_device({"other", index("eth1"), 5, customer_tag}, "pktpit other");
    vlan("office", {200});
    ASSERT_TRUE(start());
    EXPECT_EQ(vlans(), (Lines{"office on eth0", "other on eth1"}));
    EXPECT_EQ(host.device("office")->link.vlan_id, 200);
    EXPECT_TRUE(is_usable("office"));
}

}  // namespace
}  // namespace pktpit::router
